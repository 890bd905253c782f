"""Sizes that a kernel counts from its own first one.

Each layer of an unpadded convolution is two elements shorter than the one before: its operand has
`n - 2`, `n - 4`, … elements. Counted from the operand's size, all of them are one kernel. What is
known of that size differs from layer to layer, and is rounded: a least size of 1,998 and one of
1,996 are both at least 1,024. Sizes that are no larger than the numbers of the kernel itself are
exact, since it may depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from anyshape.ir.node import Region
from anyshape.ir.substitute import map_region, substitute_region
from anyshape.ir.types import TensorType
from anyshape.sym import Axis, Dim, Divisible, Fact, Facts, Origin, Symbol
from anyshape.sym.axis import Range
from anyshape.sym.factor import CompoundFactor
from anyshape.sym.terms import factors_of

Bases = dict[Symbol, Dim]
"""Symbols of a region, and the dims of the graph that they stand for."""


def with_base_sizes(region: Region, facts: Facts) -> tuple[Region, Facts, Bases]:
    """The region and what is known around it, with a symbol for each size that is counted from."""
    offsets = _offsets(region)
    if not offsets:
        return region, facts, {}
    symbols = {symbol: Symbol(f"?base{n:04}") for n, symbol in enumerate(offsets)}
    values = {symbol: Dim.of(symbols[symbol]) - offset for symbol, offset in offsets.items()}
    counted = substitute_region(region, values)
    numbers = largest_number(counted)
    about = facts.within(region.symbols)
    axes = (_counted_axis(about.axis(s), symbols[s], k, numbers) for s, k in offsets.items())
    others = (axis for axis in about.axes if axis.symbol not in offsets)
    known = (fact.substitute(values) for fact in about.facts)
    multiples = (_multiple(about.axis(s), values[s]) for s in offsets)
    facts = Facts((*axes, *others), (*known, *(fact for fact in multiples if fact)))
    return counted, facts, {symbols[s]: Dim.of(s) + k for s, k in offsets.items()}


def _offsets(region: Region) -> dict[Symbol, int]:
    """By symbol, what is added to it in the size of the first operand that has it, if something is
    added to it in those of all."""
    added: dict[Symbol, list[int]] = {}
    for type_ in region.params:
        for dim in type_.shape if isinstance(type_, TensorType) else ():
            if len(dim.symbols) == 1:
                (symbol,) = dim.symbols
                offset = (dim - Dim.of(symbol)).constant
                if offset is not None:
                    added.setdefault(symbol, []).append(offset)
    return {symbol: offsets[0] for symbol, offsets in added.items() if 0 not in offsets}


def _counted_axis(axis: Axis, symbol: Symbol, offset: int, numbers: int) -> Axis:
    """The range of a size that is a symbol and an offset."""
    ranges = [
        (max(lo + offset, 0), None if hi is None else hi + offset)
        for lo, hi in axis.ranges
        if hi is None or hi + offset >= 0
    ]
    lo, hi = ranges[0][0], ranges[-1][1]
    return Axis(symbol.name, ranges=[rounded((lo, hi), numbers)] if len(ranges) == 1 else ranges)


def rounded(range_: Range, exact: int) -> Range:
    """A range that contains it: ends above `exact` are powers of two."""
    lo, hi = range_
    if lo > exact:
        lo = 1 << (lo.bit_length() - 1)
    if hi is not None and hi > exact:
        hi = 1 << (hi - 1).bit_length()
    return lo, hi


def _multiple(axis: Axis, value: Dim) -> Fact | None:
    if axis.multiple_of == 1:
        return None
    return Fact(Divisible(value, Dim.of(axis.multiple_of)), Origin.USER)


def largest_number(region: Region) -> int:
    """A power of two far above every number in the dims of a region."""
    numbers = [1]

    def look(dim: Dim) -> Dim:
        numbers.extend(_numbers(dim))
        return dim

    map_region(region, look)
    return 1 << (4 * max(numbers)).bit_length()


def _numbers(dim: Dim) -> Iterator[int]:
    for _, coefficient in dim.terms:
        yield abs(coefficient)
    for factor in factors_of(dim.terms):
        if isinstance(factor, CompoundFactor):
            for arg in factor.args:
                yield from _numbers(arg)
