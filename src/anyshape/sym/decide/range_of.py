"""The interval of a dim, from the ranges of its symbols."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.sym.decide.interval import (
    Interval,
    floor_div,
    greatest,
    hull,
    least,
    plus,
    power,
    times,
)
from anyshape.sym.dim import Dim
from anyshape.sym.factor import Bcast, CompoundFactor, Factor, FloorDiv, Max, Min, Mod
from anyshape.sym.symbol import Symbol

SymbolRange = Callable[[Symbol], Interval]
Known = dict[CompoundFactor, Interval]


def range_of(dim: Dim, symbol_range: SymbolRange, known: Known | None = None) -> Interval:
    """An interval that contains every value of `dim`; those of its factors become `known`."""
    known = {} if known is None else known
    total = Interval(0, 0)
    for monomial, coefficient in dim.terms:
        term = Interval(coefficient, coefficient)
        for factor, exponent in monomial:
            term = times(term, power(_factor_range(factor, symbol_range, known), exponent))
        total = plus(total, term)
    return total


def _factor_range(factor: Factor, symbol_range: SymbolRange, known: Known) -> Interval:
    if isinstance(factor, Symbol):
        return symbol_range(factor)
    if factor not in known:
        known[factor] = _compound_range(factor, symbol_range, known)
    return known[factor]


def _compound_range(factor: CompoundFactor, symbol_range: SymbolRange, known: Known) -> Interval:
    parts = [range_of(arg, symbol_range, known) for arg in factor.args]
    match factor:
        case FloorDiv():
            return floor_div(*parts)
        case Mod():
            return _remainder(*parts)
        case Min():
            return least(parts)
        case Max():
            return greatest(parts)
        case Bcast():  # the result is one of the arguments
            return hull(parts)


def _remainder(num: Interval, den: Interval) -> Interval:
    if den.lo < 0:
        return Interval(min(den.lo + 1, 0), max(den.hi - 1, 0))
    return Interval(0, max(min(den.hi - 1, num.hi), 0) if num.lo >= 0 else max(den.hi - 1, 0))
