"""What the factors that are no symbols say about their arguments.

A definition is a list of dims that are >= 0 and a list of alternatives (`Split`), of which at least
one case holds. The factor itself stands for its value, so no names have to be invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from anyshape.sym.decide.interval import Interval
from anyshape.sym.dim import Dim
from anyshape.sym.factor import Bcast, CompoundFactor, Factor, FloorDiv, Max, Min, Mod
from anyshape.sym.predicate import Equal, LessEqual, Predicate
from anyshape.sym.symbol import Symbol


@dataclass(frozen=True, slots=True)
class Split:
    """Alternatives: all predicates of at least one case hold."""

    cases: tuple[tuple[Predicate, ...], ...]

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset[Symbol]().union(*(p.symbols for case in self.cases for p in case))


@dataclass(slots=True)
class Definition:
    """Consequences of a factor having its value."""

    nonnegative: list[Dim] = field(default_factory=list[Dim])
    splits: list[Split] = field(default_factory=list[Split])


def definition(factor: CompoundFactor, interval: Callable[[Dim], Interval]) -> Definition:
    """What holds wherever `factor` has a value; `interval` is asked for the sign of divisors."""
    value = Dim.of_factor(factor)
    one_of = Split(tuple((Equal(value, arg),) for arg in factor.args))
    match factor:
        case FloorDiv():
            return Definition(_remainder_rows(factor, value, interval(factor.den)))
        case Mod():
            raise AssertionError("remainders are rewritten as quotients before")
        case Min():
            return Definition([arg - value for arg in factor.args], [one_of])
        case Max():
            return Definition([value - arg for arg in factor.args], [one_of])
        case Bcast():
            one = Dim.of(1)
            fits = [Split(((Equal(arg, one),), (Equal(arg, value),))) for arg in factor.args]
            return Definition([], [one_of, *fits])


def _remainder_rows(factor: FloorDiv, value: Dim, divisor: Interval) -> list[Dim]:
    remainder = factor.num - factor.den * value
    if divisor.lo >= 0:  # at least 1, since the quotient exists
        return [remainder, factor.den - 1 - remainder]
    if divisor.hi <= 0:
        return [-remainder, remainder - factor.den - 1]
    return []


def compounds(dim: Dim) -> Iterator[CompoundFactor]:
    """Every factor of `dim` that is no symbol, also those inside others; each of them once."""
    seen: set[Factor] = set()
    waiting = _factors_backwards(dim)
    while waiting:
        factor = waiting.pop()
        if factor not in seen and not isinstance(factor, Symbol):
            seen.add(factor)
            yield factor
            for arg in reversed(factor.args):
                waiting += _factors_backwards(arg)


def _factors_backwards(dim: Dim) -> list[Factor]:
    return [factor for monomial, _ in reversed(dim.terms) for factor, _ in reversed(monomial)]


def one_of_ranges(dim: Dim, ranges: tuple[tuple[int, int | None], ...]) -> Split:
    """`dim` lies in one of several closed ranges."""
    cases: list[tuple[Predicate, ...]] = []
    for lo, hi in ranges:
        low = LessEqual(Dim.of(lo), dim)
        cases.append((low,) if hi is None else (low, LessEqual(dim, Dim.of(hi))))
    return Split(tuple(cases))
