"""The definition of a shape program: plain integers, none of which may leave 64 bits.

Sums are made from left to right, and so are products, a term's coefficient last; a long sum is made
of those that words hold. Where one of these steps does not fit, the sizes are refused, even if the
result would fit again. Estimates refuse nothing: such a step is the largest number. Divisions round
down, and by zero they give zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import starmap
from typing import Final, assert_never

from anyshape.level2.formulas import SharedFormulas
from anyshape.level2.long_sums import HeldSums, Sums, is_long, taken_apart
from anyshape.level2.program import WordProgram
from anyshape.level2.words import Cheapest, Estimate, Formula, OfCheapest
from anyshape.sym import (
    Broadcastable,
    Dim,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
    Symbol,
)
from anyshape.sym.bindings import BindingPlan, FromInput
from anyshape.sym.factor import Bcast, Factor, FloorDiv, Max, Min, Mod

LARGEST: Final = (1 << 63) - 1
HOLDS: Final = -1
"""What both functions answer if every check holds."""


class _TooLargeError(Exception):
    """A number that does not fit 64 bits."""


def bind(plan: BindingPlan, sizes: Sequence[int], symbols: list[int]) -> int:
    """Solves the symbols of inputs of these sizes, one after the other; the answer is that of all
    checks."""
    checks = (2 * len(plan.steps), sum(len(dims) for _, dims in plan.inputs))
    count = sum(checks) + len(plan.axes) + len(plan.facts)
    try:
        found = list(_checks(plan, sizes, symbols))
    except _TooLargeError:
        return count
    return found.index(False) if False in found else HOLDS


def shape(program: WordProgram, symbols: Sequence[int], words: list[int]) -> int:
    """Computes all words."""
    try:
        _compute(program, symbols, words)
    except _TooLargeError:
        return 0  # there are no checks
    return HOLDS


# --- bind -----------------------------------------------------------------------------------------


def _checks(plan: BindingPlan, sizes: Sequence[int], symbols: list[int]) -> Iterator[bool]:
    """What holds, in the order of checks."""
    known: dict[Symbol, int] = {}
    numbers = _Numbers(known)
    first = _first_sizes(plan)
    for index, step in enumerate(plan.steps):
        start = sizes[first[step.input] + step.position] if isinstance(step, FromInput) else 0
        rest = _fitting(start - numbers.dim(step.affine.rest))
        size, left = divmod(rest, step.affine.coefficient)
        known[step.affine.symbol] = symbols[index] = _fitting(size)
        yield left == 0
        yield size >= 0
    dims = (dim for _, dims in plan.inputs for dim in dims)
    for size, dim in zip(sizes, dims, strict=True):
        yield size == numbers.dim(dim)
    for axis in plan.axes:
        yield axis.contains(numbers.dim(Dim.of(axis.symbol)))
    for fact in plan.facts:
        yield _holds(fact.predicate, numbers)


def _first_sizes(plan: BindingPlan) -> list[int]:
    """Where the sizes of each input begin among those of all."""
    ranks = [len(dims) for _, dims in plan.inputs]
    return [sum(ranks[:number]) for number in range(len(ranks))]


def _holds(predicate: Predicate, numbers: _Numbers) -> bool:
    left, right = map(numbers.dim, predicate.sides)
    match predicate:
        case Equal():
            return left == right
        case NotEqual():
            return left != right
        case LessEqual():
            return left <= right
        case Less():
            return left < right
        case Divisible():
            return left == 0 if right == 0 else left % right == 0
        case Broadcastable():
            return left == right or 1 in (left, right)
        case _:
            assert_never(predicate)


# --- shape ----------------------------------------------------------------------------------------


def _compute(program: WordProgram, symbols: Sequence[int], words: list[int]) -> None:
    held = HeldSums(program.meaning)
    known = dict(zip(program.symbols, symbols, strict=True))
    exact, estimates = _both(known, held, words)
    for number, word in program.alone:
        words[word] = _number(number, exact, estimates)
        held.add(number, word)
    for form in program.shared:
        _compute_uses(form, symbols if form.source == "symbols" else words, words)


def _compute_uses(form: SharedFormulas, given: Sequence[int], words: list[int]) -> None:
    for use in form.uses:
        known = dict(zip(form.sizes, (given[index] for index in use.given), strict=True))
        exact, estimates = _both(known, HeldSums(), words)
        for formula, word in zip(form.formulas, use.words, strict=True):
            words[word] = _number(formula, exact, estimates)


def _number(number: Formula, exact: _Numbers, estimates: _Numbers) -> int:
    match number:
        case Dim():
            return exact.dim(number)
        case Estimate(dim):
            return estimates.dim(dim)
        case Cheapest(costs):
            found = [estimates.dim(cost) for cost in costs]
            return found.index(min(found))
        case OfCheapest(costs, values):
            found = [_number(value, exact, estimates) for value in values]
            return found[_number(Cheapest(costs), exact, estimates)]
        case _:
            assert_never(number)


# --- numbers --------------------------------------------------------------------------------------


def _fitting(value: int) -> int:
    if not -LARGEST - 1 <= value <= LARGEST:
        raise _TooLargeError
    return value


def _at_most_largest(value: int) -> int:
    return value if -LARGEST - 1 <= value <= LARGEST else LARGEST


def _both(
    known: Mapping[Symbol, int], held: HeldSums, words: Sequence[int]
) -> tuple[_Numbers, _Numbers]:
    """Exact numbers, and estimates."""
    exact = _Numbers(known, held.exact, held.meaning, words)
    return exact, _Numbers(known, held.estimates, held.meaning, words, _at_most_largest)


class _Numbers:
    """The values of dims, each computed once. Those that `sums` holds are words."""

    def __init__(
        self,
        symbols: Mapping[Symbol, int],
        sums: Sums | None = None,
        meaning: Mapping[Symbol, Dim] | None = None,
        words: Sequence[int] = (),
        fit: Callable[[int], int] = _fitting,
    ) -> None:
        self._symbols = symbols
        self._sums = sums or Sums()
        self._meaning = meaning or {}
        self._words = words
        self._fit = fit
        self._known: dict[Dim, int] = {}

    def dim(self, dim: Dim) -> int:
        if dim not in self._known:
            word = self._sums.words.get(dim)
            self._known[dim] = self._sum(dim) if word is None else self._words[word]
        return self._known[dim]

    def _sum(self, dim: Dim) -> int:
        if is_long(dim):
            return self._long_sum(dim)
        terms = [self._term(monomial, c) for monomial, c in dim.terms]
        return reduce(self._add, terms) if terms else 0

    def _long_sum(self, dim: Dim) -> int:
        whole, factor, number = taken_apart(dim)
        if whole is dim:
            return reduce(self._add, starmap(self._times, self._sums.parts(dim)))
        return self._add(self._times(whole, factor), number)

    def _times(self, dim: Dim, factor: int) -> int:
        return self._multiply(self.dim(dim), factor)

    def _term(self, monomial: Sequence[tuple[Factor, int]], coefficient: int) -> int:
        factors = [self._factor(factor) for factor, power in monomial for _ in range(power)]
        return reduce(self._multiply, [*factors, coefficient])

    def _factor(self, factor: Factor) -> int:
        word = self._sums.words.get(Dim.of_factor(factor))
        if word is not None:
            return self._words[word]
        if isinstance(factor, Symbol):
            known = self._meaning.get(factor)
            return self._symbols[factor] if known is None else self.dim(known)
        args = [self.dim(arg) for arg in factor.args]
        match factor:
            case FloorDiv():
                return self._fit(args[0] // args[1]) if args[1] else 0
            case Mod():
                return args[0] % args[1] if args[1] else 0
            case Min():
                return min(args)
            case Max():
                return max(args)
            case Bcast():
                return reduce(lambda left, right: right if left == 1 else left, args)
            case _:
                assert_never(factor)

    def _add(self, left: int, right: int) -> int:
        return self._fit(left + right)

    def _multiply(self, left: int, right: int) -> int:
        return self._fit(left * right)
