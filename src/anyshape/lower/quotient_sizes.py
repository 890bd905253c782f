"""Sizes that a kernel knows as quotients of a graph's sizes only.

A convolutional network halves its images again and again: one level has `(n + 3)//4` rows, the next
one `(n + 7)//8`. A kernel that meets `n` nowhere else takes the quotient for a size of its own, so
that levels share kernels, and proofs have no divisions to look into. Quotients of that quotient are
counted from it: `(n + 7)//8` is `(m + 1)//2` for `m = (n + 3)//4`.

Which sizes there may be is rounded as in `base_sizes.py`. Symbols with a divisor, and those of
which more is stated than a range and facts about the quotients, stay as they are: kernels may
depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

from anyshape.ir.node import Region
from anyshape.ir.substitute import map_region
from anyshape.lower.base_sizes import Bases, largest_number, rounded
from anyshape.lower.region_dims import dims_of, late_symbols, mapped_predicate
from anyshape.sym import Answer, Axis, Dim, Facts, Predicate, Prover, Symbol
from anyshape.sym.factor import Factor, FloorDiv
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.terms import factors_of

Quotient = tuple[int, int]
"""`(symbol + offset) // divisor`."""


def with_quotient_sizes(region: Region, facts: Facts) -> tuple[Region, Facts, Bases]:
    """The region and what is known around it, with a symbol for each quotient that is a size."""
    bases = _bases(region)
    if not bases:
        return region, facts, {}
    about = facts.within(region.symbols)
    stated = tuple(fact.predicate for fact in (*about.facts, *region.facts.facts))
    axes = tuple(about.axis(symbol) for symbol in bases)  # a symbol that is no axis has one too
    ranges = _ranges((*about.axes, *axes), stated)
    bases = {s: base for s, base in bases.items() if _is_enough(s, base, ranges, stated)}
    if not bases:
        return region, facts, {}
    symbols = {symbol: Symbol(f"?quotient{n:04}") for n, symbol in enumerate(bases)}
    change = _change(bases, symbols)
    counted = map_region(region, change)
    numbers = largest_number(counted)
    counted_axes = (_axis(ranges[s], symbols[s], base, numbers) for s, base in bases.items())
    others = (axis for axis in about.axes if axis.symbol not in bases)
    left = (
        replace(fact, predicate=mapped_predicate(fact.predicate, change))
        for fact in about.facts
        if _is_left(fact.predicate, bases, ranges)
    )
    values = {symbols[s]: (Dim.of(s) + base[0]) // base[1] for s, base in bases.items()}
    return counted, Facts((*counted_axes, *others), tuple(left)), values


def _bases(region: Region) -> dict[Symbol, Quotient]:
    """By symbol, the quotient that all others are quotients of, if it occurs in nothing else."""
    met: dict[Symbol, dict[Quotient, None]] = {}
    plain = set(late_symbols(region))
    for dim in dims_of(region):
        for symbol, quotient in _occurrences(dim):
            if quotient is None:
                plain.add(symbol)
            else:
                met.setdefault(symbol, {})[quotient] = None
    found: dict[Symbol, Quotient] = {}
    for symbol, quotients in met.items():
        base = min(quotients, key=lambda quotient: quotient[1])
        if symbol not in plain and all(_is_counted_from(base, other) for other in quotients):
            found[symbol] = base
    return found


def _occurrences(dim: Dim) -> Iterator[tuple[Symbol, Quotient | None]]:
    """Symbols of a dim, each with the quotient that it occurs in, or None where it is in none."""
    for factor in factors_of(dim.terms):
        match factor, _quotient(factor):
            case Symbol(), _:
                yield factor, None
            case FloorDiv(), (symbol, quotient):
                yield symbol, quotient
            case _:
                for arg in factor.args:
                    yield from _occurrences(arg)


def _quotient(factor: Factor) -> tuple[Symbol, Quotient] | None:
    if not isinstance(factor, FloorDiv) or len(factor.symbols) != 1:
        return None
    (symbol,) = factor.symbols
    offset, divisor = (factor.num - Dim.of(symbol)).constant, factor.den.constant
    if offset is None or divisor is None or divisor < 1:
        return None
    return symbol, (offset, divisor)


def _is_counted_from(base: Quotient, other: Quotient) -> bool:
    """Whether a quotient is one of the base: `(s + c) // (k*m) == ((s + c0)//k + j) // m`."""
    (offset, divisor), (other_offset, other_divisor) = base, other
    return other_divisor % divisor == 0 and (other_offset - offset) % divisor == 0


@lru_cache(maxsize=256)  # the kernels of a graph ask about the same facts
def _ranges(axes: tuple[Axis, ...], stated: tuple[Predicate, ...]) -> dict[Symbol, Axis]:
    """Axes without divisors and gaps, as narrow as what is stated makes them."""
    prover, narrowed = Prover(axes, stated), dict[Symbol, Axis]()
    for axis in axes:
        low, high = prover.bounds(Dim.of(axis.symbol))
        if axis.multiple_of == 1 and len(axis.ranges) == 1:
            narrowed[axis.symbol] = Axis(axis.name, min=max(low or 0, axis.min), max=high)
    return narrowed


def _is_enough(
    symbol: Symbol, base: Quotient, ranges: dict[Symbol, Axis], stated: tuple[Predicate, ...]
) -> bool:
    """Whether the quotient says all that kernels need to know of a symbol."""
    if symbol not in ranges or ranges[symbol].min + base[0] < 0:
        return False
    about = (predicate for predicate in stated if symbol in predicate.symbols)
    return all(
        _is_of_quotients(symbol, base, predicate) or _is_of_ranges(predicate, ranges)
        for predicate in about
    )


def _is_of_quotients(symbol: Symbol, base: Quotient, predicate: Predicate) -> bool:
    met = (found for side in predicate.sides for found in _occurrences(side))
    quotients = [quotient for name, quotient in met if name is symbol]
    return all(quotient and _is_counted_from(base, quotient) for quotient in quotients)


def _is_left(
    predicate: Predicate, bases: dict[Symbol, Quotient], ranges: dict[Symbol, Axis]
) -> bool:
    """Whether a fact says something of quotients that their ranges do not say."""
    replaced = predicate.symbols & bases.keys()
    if replaced == predicate.symbols and _is_of_ranges(predicate, ranges):
        return False
    return all(_is_of_quotients(symbol, bases[symbol], predicate) for symbol in replaced)


def _is_of_ranges(predicate: Predicate, ranges: dict[Symbol, Axis]) -> bool:
    """Whether a fact says no more than ranges do."""
    axes = tuple(ranges[symbol] for symbol in predicate.symbols if symbol in ranges)
    return _follows(predicate, axes)


@lru_cache(maxsize=256)
def _follows(predicate: Predicate, axes: tuple[Axis, ...]) -> bool:
    return Prover(axes).proves(predicate) is Answer.TRUE


def _change(bases: dict[Symbol, Quotient], symbols: dict[Symbol, Symbol]) -> Callable[[Dim], Dim]:
    def replaced(factor: Factor) -> Dim:
        if isinstance(factor, Symbol):
            return Dim.of(factor)
        found = _quotient(factor)
        if found is None or found[0] not in bases:
            return with_args(factor, [change(arg) for arg in factor.args])
        symbol, (offset, divisor) = found
        base_offset, base_divisor = bases[symbol]
        more = (offset - base_offset) // base_divisor
        return (Dim.of(symbols[symbol]) + more) // (divisor // base_divisor)

    @cache
    def change(dim: Dim) -> Dim:
        return dim if dim.symbols.isdisjoint(bases) else map_factors(dim, replaced)

    return change


def _axis(axis: Axis, symbol: Symbol, base: Quotient, numbers: int) -> Axis:
    """The range of the quotient: its ends are those of the symbol."""
    offset, divisor = base
    ((low, high),) = axis.ranges
    ends = (low + offset) // divisor, None if high is None else (high + offset) // divisor
    return Axis(symbol.name, ranges=[rounded(ends, numbers)])
