"""Captures a module: exports it, and imports what torch recorded with the names of its axes.

One export is the rule. Another one follows only where the first leaves something open: a question
that excludes size 1 may make no difference, or the model insists on a size of the example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.base.errors import AnyshapeError, AxisDeclarationError
from anyshape.base.location import Location
from anyshape.frontend.imported.program import ImportedProgram
from anyshape.frontend.torch_export.examples import example_sizes, own_sizes
from anyshape.frontend.torch_export.export_errors import location_of_error, raised_by_op
from anyshape.frontend.torch_export.exporter import Export, Exporter, Sizes
from anyshape.frontend.torch_export.guard_probe import (
    Suspect,
    adds_no_guard,
    guards_against_one,
    without_guard,
    zero_is_as_one,
)
from anyshape.frontend.torch_export.guards import Guard
from anyshape.frontend.torch_export.importer import import_exported
from anyshape.frontend.torch_export.naming import (
    FixedAxis,
    Naming,
    naming_of,
    numbers_for_torch,
    with_fixed,
)
from anyshape.frontend.torch_export.shared_tensors import SharedTensors
from anyshape.sym import Fact, Origin, Symbol


@dataclass(frozen=True)
class Capture:
    """A model at one example: what torch recorded of it, and the program that it became."""

    export: Export
    naming: Naming
    guards: list[Guard]
    program: ImportedProgram

    def takes(self, sizes: Sizes) -> bool:
        """Whether a call with these sizes is one of those that the program is for."""
        return not self.broken_at(sizes)

    def broken_at(self, sizes: Sizes) -> list[Fact]:
        """The facts of the program that these sizes break."""
        facts = self.program.graph.facts.facts
        known = (fact for fact in facts if fact.predicate.symbols <= sizes.keys())
        return [fact for fact in known if not fact.holds(sizes)]


class Capturer:
    """Captures what an exporter exports. What the model's code chooses by is a case of `several`,
    or the only one."""

    def __init__(
        self, exporter: Exporter, tensors: SharedTensors, *, several: bool = False
    ) -> None:
        self.exporter = exporter
        self.name = exporter.name
        self.named = exporter.named
        self.tensors = tensors
        self.several = several
        self.refused_at: Location | None = None
        self._any_size_works = False

    def captures(self) -> list[Capture]:
        """The program for any size, with what its model's code asked of sizes. The user's example
        is among the sizes that the first one takes; a second one may have come on the way."""
        own = own_sizes(self.exporter.example, self.named)
        first = example_sizes(self.named, own)
        captured: list[Capture] = []
        try:
            captured = [self.capture(first)]
            if first == own or captured[0].takes(own):
                return captured
        except AxisDeclarationError:
            second = example_sizes(self.named, {}, avoid=first)
            other = self._if_possible(second, own)
            if other is None:
                raise
            return [other]
        except AnyshapeError:
            raise
        except Exception as error:
            if first == own:
                raise
            self.refused_at = location_of_error(error)
        return [self.capture_or_numbers(own), *captured]

    def _if_possible(self, sizes: Sizes, own: Sizes) -> Capture | None:
        """The program at other sizes, if they lead to one that takes the user's."""
        try:
            capture = self.capture(sizes)
        except Exception:
            return None
        return capture if capture.takes(own) else None

    def capture_or_numbers(self, sizes: Sizes) -> Capture:
        """torch itself fails with symbols for some sizes of 0, where it does not with numbers."""
        try:
            return self.capture(sizes)
        except Exception as error:
            fixed = tuple(FixedAxis(symbol, size) for symbol, size in sizes.items() if size < 2)
            if not fixed or not raised_by_op(error):
                raise
        return self.capture(sizes, fixed)

    def capture(self, sizes: Sizes, fixed: tuple[FixedAxis, ...] = ()) -> Capture:
        """The program at these sizes; `fixed` axes are numbers in it. In a case of several, an axis
        is fixed that the case gives one size, or that torch takes for any size when it is not."""
        export = self.exporter.at(sizes, fixed)
        numbers = self._numbers_of_case(export, fixed)
        if numbers:
            return self.capture(sizes, (*fixed, *numbers))
        fixed_at = export.questions.fixed_at
        naming = naming_of(
            export.program, self.named, {}, fixed_at,
            torch_ranges=False, refused_at=self.refused_at, fixed=fixed,
        )  # fmt: skip
        guards = self._without_indifferent(export, naming, sizes, fixed)
        capture = Capture(export, naming, guards, self._imported(export, naming, guards))
        contradicted = self._contradicted(capture, sizes, fixed) if self.several else ()
        if contradicted:
            return self.capture(sizes, (*fixed, *contradicted))
        self._any_size_works = True
        return capture

    def _imported(self, export: Export, naming: Naming, guards: Sequence[Guard]) -> ImportedProgram:
        several = self.several
        return import_exported(
            export.program, self.name, naming, guards, self.tensors, one_of_several=several
        )

    def again(self, capture: Capture) -> ImportedProgram:
        """Its program with the state that all captures of the model have."""
        if set(capture.program.state) == self.tensors.state:
            return capture.program
        return self._imported(capture.export, capture.naming, capture.guards)

    def _numbers_of_case(self, export: Export, fixed: Sequence[FixedAxis]) -> list[FixedAxis]:
        """The axes that a truth of the model's code made numbers; if the model has been captured
        for any size before, also those that an op did."""
        if not self.several:
            return []
        asked = export.questions
        numbers = numbers_for_torch(export.program, with_fixed(self.named, fixed))
        return [
            FixedAxis(each.axis, each.size, asked.fixed_in(each.symbol))
            for each in numbers
            if each.symbol in asked.chosen or self._any_size_works
        ]

    def _contradicted(
        self, capture: Capture, sizes: Sizes, fixed: Sequence[FixedAxis]
    ) -> list[FixedAxis]:
        """The axes of which torch recorded something else than what happens at their size."""
        known = {axis.symbol for axis in fixed}
        broken = [fact for fact in capture.broken_at(sizes) if fact.origin is Origin.MODEL]
        symbols = {symbol for fact in broken for symbol in fact.predicate.symbols}
        return [FixedAxis(each, sizes[each]) for each in sorted(symbols - known, key=str)]

    def _without_indifferent(
        self, export: Export, naming: Naming, sizes: Sizes, fixed: tuple[FixedAxis, ...]
    ) -> list[Guard]:
        recorded = export.questions.guards
        guards = recorded
        for suspect, symbol in self._suspects(naming, recorded):
            other = self._as_at_one(suspect, sizes, fixed)
            if other is None or not adds_no_guard(recorded, other.questions.guards):
                continue
            pair = export.program, other.program
            if self._same_at(*pair, naming.at_size(symbol, 1)):
                zero = zero_is_as_one(other.questions.guards, suspect.symbol)
                zero = zero and self._same_at(*pair, naming.at_size(symbol, 0))
                guards = without_guard(guards, suspect, zero=zero)
        return guards

    def _as_at_one(
        self, suspect: Suspect, sizes: Sizes, fixed: tuple[FixedAxis, ...]
    ) -> Export | None:
        """The model with the answers for size 1; None if it does not go on with them."""
        try:
            return self.exporter.at(sizes, fixed, as_at_one=suspect.symbol.name)
        except Exception:
            return None

    def _suspects(self, naming: Naming, guards: Sequence[Guard]) -> list[tuple[Suspect, Symbol]]:
        """The guards that exclude size 1 of axes that may be 1."""
        allowed = {axis.symbol for axis in self.named.axes if axis.contains(1)}
        pairs = [(each, naming.dims.get(each.symbol.name)) for each in guards_against_one(guards)]
        named = [(each, dim.symbol) for each, dim in pairs if dim is not None]
        return [
            (each, symbol) for each, symbol in named if symbol is not None and symbol in allowed
        ]

    def imported_as(self, shapes: Any, names: Mapping[str, str]) -> ImportedProgram:
        """The program for the shapes that the user describes as torch.export does."""
        export = self.exporter.as_described(shapes)
        program, questions = export.program, export.questions
        naming = naming_of(program, self.named, names, questions.fixed_at, torch_ranges=True)
        return import_exported(program, self.name, naming, questions.guards, self.tensors)

    def _same_at(self, program: Any, other: Any, naming: Naming) -> bool:
        """Whether two programs are one graph with these names, where an axis is a number."""
        pair = (program, other)
        try:
            one, two = (
                import_exported(each, "both", naming, (), SharedTensors(given=True))
                for each in pair
            )
        except AnyshapeError:  # one of them does not allow that size
            return False
        return one.graph == two.graph
