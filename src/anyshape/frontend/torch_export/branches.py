"""Captures a model for each case of sizes that its code tells apart.

A capture is right for the sizes that give the same answers to what the model's code asked. Each
answer that the axes' declarations leave open divides the sizes: for those with another answer the
model is captured again, until no sizes are found that are of no case, or there are too many cases.
A model whose answers are all settled is captured once.

Where the model raises, that is its answer: the case is refused by calls, in the model's words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from anyshape.base.errors import AnyshapeError, BranchLimitError
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported.case_search import Sizes, cases_left, uncovered_sizes
from anyshape.frontend.imported.cases import RefusedCase, case_of, is_in
from anyshape.frontend.imported.program import ImportedProgram
from anyshape.frontend.torch_export.capturer import Capture, Capturer
from anyshape.frontend.torch_export.examples import example_sizes, own_sizes, tells_axes_apart
from anyshape.frontend.torch_export.export_errors import location_of_error, raised_by_op
from anyshape.frontend.torch_export.guard_facts import GuardFacts
from anyshape.ir.build import Builder
from anyshape.sym import Axis, Dim, Equal, Fact, FactScope, Origin

Case = tuple[Fact, ...]

_MOST_FAILURES = 4
"""How many captures may fail: what is left then is refused by calls."""


class BranchExplorer:
    """The cases of one model, as far as they are known."""

    def __init__(self, capturer: Capturer, limit: int) -> None:
        self.capturer = capturer
        self.limit = limit
        self.axes: Sequence[Axis] = capturer.named.axes
        self.own = own_sizes(capturer.exporter.example, capturer.named)
        self.usual = example_sizes(capturer.named, self.own)
        self.captures: list[Capture] = []
        self.refused: list[RefusedCase] = []
        self.unexplored: deque[Case] = deque()  # each with a last condition that may not hold
        self.failures = 0

    def explore(self) -> None:
        """Captures the model until its cases are known."""
        for capture in self.capturer.captures()[: self.limit]:
            self._add(capture)
        while self.limit > 1 and self.unexplored and self.failures < _MOST_FAILURES:
            sizes = self._uncovered(self.unexplored[0])
            if sizes is None:
                self.unexplored.popleft()
            elif len(self.captures) == self.limit or self._are_too_many():
                raise self._too_many()
            else:
                self._capture(sizes, self.unexplored[0])

    def programs(self) -> tuple[ImportedProgram, ...]:
        """One for each case that can be computed; the first takes the user's example."""
        return tuple(map(self.capturer.again, self.captures))

    # --- cases --------------------------------------------------------------------------------

    @property
    def known(self) -> list[Case]:
        cases = [case_of(capture.program.graph.facts) for capture in self.captures]
        return [*cases, *(refused.conditions for refused in self.refused)]

    def _uncovered(self, left: Case) -> Sizes | None:
        return uncovered_sizes(self.capturer.named.facts, self.usual, left, self.known)

    def _are_too_many(self) -> bool:
        """Whether more cases are left than captures may be made, without making them."""
        left = self.limit - len(self.captures) + _MOST_FAILURES - self.failures
        known = self.known
        if sum(map(len, known)) <= left:
            return False
        return cases_left(self.capturer.named.facts, self.usual, known, left + 1) > left

    def _add(self, capture: Capture) -> None:
        self.captures.append(capture)
        self._explore_around(case_of(capture.program.graph.facts))

    def _explore_around(self, case: Case) -> None:
        self.unexplored.extend(case[: number + 1] for number in range(len(case)))

    def _capture(self, sizes: Sizes, left: Case) -> None:
        """At sizes that are found where a case is left."""
        exactly = _exactly(sizes, left)
        try:
            capture = self.capturer.capture_or_numbers(sizes)
        except Exception as error:
            self._refuse(self._failed(error, sizes, exactly))
            return
        if is_in(case_of(capture.program.graph.facts), sizes):
            self._add(capture)
        else:
            self._refuse(RefusedCase(exactly, "it was captured for other sizes", None))

    def _refuse(self, case: RefusedCase) -> None:
        self.failures += 1
        self.refused.append(case)
        self._explore_around(case.conditions)

    # --- what has no program ------------------------------------------------------------------

    def _failed(self, error: Exception, sizes: Sizes, exactly: Case) -> RefusedCase:
        """The sizes that give the same answers up to where the model raised. What an op raises
        depends on more than these: nothing is known of other sizes, until it does so again, in
        words without names of sizes, which are the same for any numbers."""
        words, location = _words(error), location_of_error(error)
        again = any((each.problem, each.location) == (words, location) for each in self.refused)
        again = again and self.capturer.exporter.asked.sizes.keys().isdisjoint(_NAME.findall(words))
        known = again or not raised_by_op(error)
        return RefusedCase(self._answers(sizes) or exactly if known else exactly, words, location)

    def _answers(self, sizes: Sizes) -> Case:
        """What the last export asked before it failed, in terms of axes; nothing if that cannot be
        told."""
        exporter = self.capturer.exporter
        asked = exporter.asked
        if not tells_axes_apart(exporter.named, sizes):
            return ()
        named = {dim.evaluate(sizes): dim for i in exporter.named.inputs for dim in i.dims.values()}
        dims = {name: named[size] for name, size in asked.sizes.items() if size in named}
        scope = FactScope()
        for axis in self.axes:
            scope.declare(axis)
        for fact in self.capturer.named.where:
            scope.assume_fact(fact)
        locations = [guard.location for guard in asked.guards]
        tracer = Tracer(exporter.name, Builder(scope), Tensor, locate=lambda: locations[0])
        facts = GuardFacts(tracer, dims, asked.sizes, (), one_of_several=True)
        try:
            for guard in asked.guards:
                facts.require(guard)
                locations.pop(0)
        except AnyshapeError:
            return ()
        case = scope.freeze().facts
        return case if is_in(case, sizes) else ()

    def _too_many(self) -> BranchLimitError:
        conditions = dict.fromkeys(f"{f} ({f.where})" for case in self.known for f in case)
        return BranchLimitError(self.capturer.name, self.limit, list(conditions), self._settling())

    def _settling(self) -> dict[str, str]:
        """For each axis that conditions mention, the sizes around the example's that the cases
        known so far take."""
        symbols = {s for case in self.known for fact in case for s in fact.predicate.symbols}
        return {a.name: self._covered(a) for a in self.axes if a.symbol in symbols}

    def _covered(self, axis: Axis) -> str:
        """All sizes next to each other, or in the least steps that do not end where those do."""
        own = self.own[axis.symbol]
        steps = [1, *(step for step in range(2, min(own, _FARTHEST) + 1) if own % step == 0)]
        ranges = {step: self._multiples(axis, step) for step in steps}
        step = next((step for step in steps if _is_endless(*ranges[step])), 1)
        low, high = ranges[step]
        multiple = f", multiple_of={step}" if step > 1 else ""
        most = "" if _is_endless(low, high) else f", max={high}"
        return f"Axis('{axis.name}', min={low}{most}{multiple})"

    def _multiples(self, axis: Axis, step: int) -> tuple[int, int]:
        """The least and the greatest size around the example's that cases take, in steps."""
        low = high = self.own[axis.symbol]
        while self._is_covered(axis, low - step):
            low -= step
        while not _is_endless(low, high) and self._is_covered(axis, high + step):
            high += step
        return low, high

    def _is_covered(self, axis: Axis, size: int) -> bool:
        sizes = {**self.own, axis.symbol: size}
        return axis.in_range(size) and any(is_in(case, sizes) for case in self.known)


_FARTHEST = 4096


def _is_endless(low: int, high: int) -> bool:
    return high >= low + _FARTHEST


_NAME = re.compile(r"\w+")


def _exactly(sizes: Sizes, left: Case) -> Case:
    """These sizes, as far as conditions ask for them."""
    asked = {symbol for fact in left for symbol in fact.predicate.symbols}
    pairs = ((Dim.of(symbol), Dim.of(size)) for symbol, size in sizes.items() if symbol in asked)
    return tuple(Fact(Equal(*pair), Origin.MODEL) for pair in pairs)


def _words(error: Exception) -> str:
    if isinstance(error, AnyshapeError):
        return str(error).splitlines()[0]
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
