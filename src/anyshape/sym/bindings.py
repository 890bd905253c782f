"""From the shapes of one call to a binding, by a plan made once.

Level 1 decides how each symbol gets its size: from a bare axis, from a dim that is affine in it
(`2*n + 1`), or from an equality among the facts. Level 2 only follows the plan: integers in,
integers out, and every dim, axis and fact checked. The plan is data, so that it can be printed and
compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.errors import (
    AxisConflictError,
    AxisMultipleError,
    AxisRangeError,
    DimError,
    DimMismatchError,
    FactViolationError,
    RankMismatchError,
    SizeSource,
    UnboundAxisError,
    UnsolvableSizeError,
)
from anyshape.sym.axis import Axis
from anyshape.sym.axis_rule import axis_rule
from anyshape.sym.dim import Dim
from anyshape.sym.facts import Fact, Facts
from anyshape.sym.predicate import Equal
from anyshape.sym.symbol import Symbol

Binding = dict[Symbol, int]
Pattern = tuple[str, tuple[Dim, ...]]
"""What messages call an input, and the dims it was declared with."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`coefficient * symbol + rest`, where `rest` has other symbols only."""

    symbol: Symbol
    coefficient: int
    rest: Dim

    def solve(self, size: int, known: Mapping[Symbol, int]) -> int | None:
        """The size of the symbol that makes the whole `size`; None if there is none."""
        quotient, remainder = divmod(size - self.rest.evaluate(known), self.coefficient)
        return None if remainder or quotient < 0 else quotient


@dataclass(frozen=True, slots=True)
class FromInput:
    """The symbol follows from the size of one axis of one input."""

    input: int
    position: int
    dim: Dim
    affine: Affine


@dataclass(frozen=True, slots=True)
class FromFact:
    """The symbol follows from an equality: `affine` has to be zero."""

    fact: Fact
    affine: Affine


Step = FromInput | FromFact


@dataclass(frozen=True, slots=True)
class BindingPlan:
    """How to solve and check the symbols of a graph's inputs."""

    inputs: tuple[Pattern, ...]
    steps: tuple[Step, ...]
    axes: tuple[Axis, ...]
    facts: tuple[Fact, ...]  # those that the inputs decide; the others wait for late symbols

    @staticmethod
    def make(inputs: Sequence[Pattern], facts: Facts, late: frozenset[Symbol]) -> BindingPlan:
        """Refuses symbols that nothing gives a size."""
        steps = _solve_order(inputs, facts, late)
        known = {step.affine.symbol for step in steps}
        wanted = {s for _, shape in inputs for dim in shape for s in dim.symbols}
        wanted |= {s for fact in facts.facts for s in fact.predicate.symbols} - late
        for symbol in sorted(wanted - known, key=str):
            raise _unbound(symbol, inputs, facts, known)
        early = tuple(fact for fact in facts.facts if not fact.predicate.symbols & late)
        axes = tuple(facts.axis(step.affine.symbol) for step in steps)
        return BindingPlan(tuple(inputs), tuple(steps), axes, early)

    def solve(self, shapes: Sequence[tuple[int, ...]]) -> Binding:
        """The binding of one call, or an error that names inputs, axes and sizes."""
        self._check_ranks(shapes)
        binding = self.binding(shapes)
        self._check_dims(shapes, binding)
        self.check(binding, shapes)
        return binding

    def binding(self, shapes: Sequence[tuple[int, ...]]) -> Binding:
        """The binding of shapes whose ranks, dims and facts are checked elsewhere."""
        binding: Binding = {}
        for step in self.steps:
            binding[step.affine.symbol] = self._step(step, shapes, binding)
        return binding

    def check(self, binding: Binding, shapes: Sequence[tuple[int, ...]] = ()) -> None:
        """Every axis and fact at a binding; `shapes`, if it came from inputs, are for messages."""
        for axis in self.axes:
            self._check_axis(axis, shapes, binding)
        for fact in self.facts:
            self._check_fact(fact, shapes, binding)

    def allows(self, binding: Binding) -> bool:
        """Whether `check` would accept a binding; no reason is looked for."""
        return all(axis.contains(binding[axis.symbol]) for axis in self.axes) and all(
            _holds(fact, binding) for fact in self.facts
        )

    # --- solving ------------------------------------------------------------------------------

    def _check_ranks(self, shapes: Sequence[tuple[int, ...]]) -> None:
        for (name, dims), shape in zip(self.inputs, shapes, strict=True):
            if len(dims) != len(shape):
                declared = "[" + ", ".join(map(str, dims)) + "]"
                raise RankMismatchError(name, len(dims), len(shape), declared, str(list(shape)))

    def _step(self, step: Step, shapes: Sequence[tuple[int, ...]], binding: Binding) -> int:
        if isinstance(step, FromInput):
            size = shapes[step.input][step.position]
            found = step.affine.solve(size, binding)
            if found is None:
                name = self.inputs[step.input][0]
                raise UnsolvableSizeError(name, step.position, str(step.dim), size)
            return found
        found = step.affine.solve(0, binding)
        if found is None:
            raise self._violation(step.fact, shapes, binding)
        return found

    # --- checking -----------------------------------------------------------------------------

    def _check_dims(self, shapes: Sequence[tuple[int, ...]], binding: Binding) -> None:
        for index, (name, dims) in enumerate(self.inputs):
            for position, dim in enumerate(dims):
                expected, found = self._size(dim, name, position, binding), shapes[index][position]
                if expected != found:
                    raise self._mismatch(name, position, dim, expected, found, shapes, binding)

    @staticmethod
    def _size(dim: Dim, name: str, position: int, binding: Binding) -> int:
        try:
            return dim.evaluate(binding)
        except DimError as error:
            sizes = f"{_sizes(dim.symbols, binding)}; {name}, axis {position}"
            raise DimError(error.expression, f"{error.problem} ({sizes})", error.fix) from None

    def _mismatch(
        self,
        name: str,
        position: int,
        dim: Dim,
        expected: int,
        found: int,
        shapes: Sequence[tuple[int, ...]],
        binding: Binding,
    ) -> AxisConflictError | DimMismatchError:
        first = self._source(dim.symbol, shapes) if dim.symbol is not None else None
        if first is not None:
            second = SizeSource(name, position, found, str(dim))
            return AxisConflictError(str(dim), first, second)
        origins = self._origins(dim.symbols, shapes)
        derivation = f"{_sizes(dim.symbols, binding)}: {'; '.join(origins)}" if origins else ""
        return DimMismatchError(name, position, str(dim), expected, found, derivation)

    def _check_axis(self, axis: Axis, shapes: Sequence[tuple[int, ...]], binding: Binding) -> None:
        size, name = binding[axis.symbol], str(axis.symbol)
        if not axis.in_range(size):
            source = "; ".join(self._origins({axis.symbol}, shapes))
            raise AxisRangeError(name, size, axis.ranges_text, source)
        if size % axis.multiple_of:
            source = "; ".join(self._origins({axis.symbol}, shapes))
            raise AxisMultipleError(name, size, axis.multiple_of, source)

    def _check_fact(self, fact: Fact, shapes: Sequence[tuple[int, ...]], binding: Binding) -> None:
        if not _holds(fact, binding):
            raise self._violation(fact, shapes, binding)

    def _violation(
        self, fact: Fact, shapes: Sequence[tuple[int, ...]], binding: Binding
    ) -> FactViolationError:
        symbols = fact.predicate.symbols & binding.keys()
        origins = self._origins(symbols, shapes)
        rule = axis_rule(fact.predicate, binding)
        return FactViolationError(str(fact), fact.source, _sizes(symbols, binding), origins, rule)

    # --- explaining ---------------------------------------------------------------------------

    def _source(self, symbol: Symbol, shapes: Sequence[tuple[int, ...]]) -> SizeSource | None:
        """The input that gave a symbol its size."""
        for step in self.steps if shapes else ():
            if isinstance(step, FromInput) and step.affine.symbol is symbol:
                size = shapes[step.input][step.position]
                return SizeSource(self.inputs[step.input][0], step.position, size, str(step.dim))
        return None

    def _origins(
        self, symbols: set[Symbol] | frozenset[Symbol], shapes: Sequence[tuple[int, ...]]
    ) -> list[str]:
        found = ((symbol, self._source(symbol, shapes)) for symbol in sorted(symbols, key=str))
        return [source.describe(str(symbol)) for symbol, source in found if source is not None]


def _holds(fact: Fact, binding: Binding) -> bool:
    try:
        return fact.predicate.holds(binding)
    except DimError:  # a division by zero: nothing that the fact says is so
        return False


def _sizes(symbols: set[Symbol] | frozenset[Symbol], binding: Binding) -> str:
    return ", ".join(f"{symbol}={binding[symbol]}" for symbol in sorted(symbols, key=str))


def _unbound(
    symbol: Symbol, inputs: Sequence[Pattern], facts: Facts, known: set[Symbol]
) -> UnboundAxisError:
    uses = [f"{name} has dim '{d}'" for name, dims in inputs for d in dims if symbol in d.symbols]
    uses += [f"'{fact}' uses it" for fact in facts.facts if symbol in fact.predicate.symbols]
    return UnboundAxisError(str(symbol), ", ".join(uses), sorted(map(str, known)))


# --- making the plan ------------------------------------------------------------------------------


def _solve_order(inputs: Sequence[Pattern], facts: Facts, late: frozenset[Symbol]) -> list[Step]:
    """Bare axes first, since they make the best messages; then whatever has become solvable."""
    places = [
        (index, position, dim)
        for index, (_, dims) in enumerate(inputs)
        for position, dim in enumerate(dims)
    ]
    places.sort(key=lambda place: place[2].symbol is None)
    equalities = [fact for fact in facts.facts if isinstance(fact.predicate, Equal)]
    steps: list[Step] = []
    known: set[Symbol] = set(late)
    progress = True
    while progress:
        progress = False
        for index, position, dim in places:
            affine = _affine_in_unknown(dim, known)
            if affine is not None:
                steps.append(FromInput(index, position, dim, affine))
                known.add(affine.symbol)
                progress = True
        for fact in equalities:
            left, right = fact.predicate.sides
            affine = _affine_in_unknown(left - right, known)
            if affine is not None and not affine.rest.symbols & late:
                steps.append(FromFact(fact, affine))
                known.add(affine.symbol)
                progress = True
    return steps


def _affine_in_unknown(dim: Dim, known: set[Symbol]) -> Affine | None:
    """`dim` as affine in its only unknown symbol, if it has just one and is so."""
    unknown = dim.symbols - known
    if len(unknown) != 1:
        return None
    (symbol,) = unknown
    coefficient = dim.coefficient(((symbol, 1),))
    rest = dim - coefficient * Dim.of(symbol)
    if coefficient == 0 or symbol in rest.symbols:
        return None
    return Affine(symbol, coefficient, rest)
