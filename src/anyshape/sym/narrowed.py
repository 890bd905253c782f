"""What the declaration of an axis says about another axis that it is a function of.

If `s == k*t + r` and `s` is declared, then `t` has only those sizes that give `s` a legal one:

    s: 8..64 multiple_of 8,  s == 2*t   ->   t: 4..32 multiple_of 4
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, lcm

from anyshape.base.errors import AxisDeclarationError
from anyshape.sym.axis import Axis, Range
from anyshape.sym.dim import Dim
from anyshape.sym.symbol import Symbol


@dataclass(frozen=True, slots=True)
class Line:
    """`slope * symbol + offset`, with a slope that is not 0."""

    symbol: Symbol
    slope: int
    offset: int

    @staticmethod
    def of(dim: Dim) -> Line | None:
        """The dim, if it is such a thing."""
        if len(dim.symbols) != 1:
            return None
        (symbol,) = dim.symbols
        slope = dim.coefficient(((symbol, 1),))
        offset = (dim - slope * Dim.of(symbol)).constant
        return None if not slope or offset is None else Line(symbol, slope, offset)

    def solve(self, size: int) -> int | None:
        """Where it has this value."""
        quotient, remainder = divmod(size - self.offset, self.slope)
        return None if remainder or quotient < 0 else quotient


def narrowed(axis: Axis, other: Axis, line: Line) -> Axis | None:
    """`axis` with the sizes at which `line` gives a legal size of `other`; None if there are none.

    The divisor of `other` is transferred where the line goes through 0. What either meets in ops is
    required already: of two names for one size, that which broadcasts may go on doing so.
    """
    ranges = tuple(_common(axis.ranges, tuple(_preimages(other.ranges, line))))
    divisor = other.multiple_of // gcd(other.multiple_of, line.slope) if not line.offset else 1
    multiple = lcm(axis.multiple_of, divisor)
    same = line.slope == 1 and not line.offset
    try:
        bare = Axis(axis.name, multiple_of=multiple, ranges=ranges) if ranges else None
    except AxisDeclarationError:  # no multiple is left
        return None
    if bare is None:
        return None
    own = _likely(bare, axis.likely)
    likely = own or _likely(bare, map(line.solve, other.likely))
    return Axis(
        axis.name,
        multiple_of=multiple,
        likely=likely,
        ranges=ranges,
        broadcasts=axis.broadcasts or (same and other.broadcasts),
        likely_from=axis.likely_from if own else other.likely_from,
    )


def _likely(axis: Axis, sizes: Sequence[int] | Iterator[int | None]) -> tuple[int, ...]:
    return tuple(size for size in sizes if size is not None and axis.contains(size))


def _preimages(ranges: Sequence[Range], line: Line) -> Iterator[Range]:
    """The sizes of the line's symbol for which its value is in one of the ranges."""
    for lo, hi in ranges:
        first, last = (lo, hi) if line.slope > 0 else (hi, lo)
        start = 0 if first is None else max(0, -((line.offset - first) // line.slope))
        end = None if last is None else (last - line.offset) // line.slope
        if end is None or start <= end:
            yield start, end


def _common(left: Sequence[Range], right: Sequence[Range]) -> Iterator[Range]:
    for lo, hi in left:
        for other_lo, other_hi in right:
            start = max(lo, other_lo)
            ends = [end for end in (hi, other_hi) if end is not None]
            if not ends or start <= min(ends):
                yield start, min(ends, default=None)
