"""What an op does along the axes of its operands: which go together, and what one element sees of
the others.

    dot(x, w)      rows of x      each element for itself, and an axis of the result
                   columns of x   together with rows of w, filled with 0
    max(x)         the axis       filled with the lowest number
    cumsum(x)      the axis       an element sees those before it

Whoever lengthens an axis with elements that mean nothing reads here what these must be for the op,
so that nothing else depends on them. An axis that no link names is seen whole: there are no such
elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from anyshape.ir.types import DType, Shape


class Sees(Enum):
    """What an element of the result sees along an axis."""

    ITSELF = "each element for itself"
    BEFORE = "an element sees those before it"
    FILLED = "elements are combined, and those that are filled change nothing"
    HIDDEN = "elements are combined but for those that the op is told to leave out"


@dataclass(frozen=True, slots=True)
class Link:
    """An axis of each operand (None: it has no part in it) that an op goes along together, and the
    axis of its results that they become, if any.

    `fill` stands for an element that changes nothing: minus infinity for the lowest number of a
    dtype, infinity for the highest, NaN for what is sorted behind all others.
    """

    axes: tuple[int | None, ...]
    result: int | None = None
    sees: Sees = Sees.ITSELF
    fill: float = 0.0


def fill_in(dtype: DType, fill: float) -> float | int | bool:
    """The number that a link's fill is in a dtype."""
    if math.isnan(fill):
        return math.nan if dtype.is_float else dtype.highest
    if math.isinf(fill):
        return dtype.highest if fill > 0 else dtype.lowest
    return dtype.numpy.type(fill).item()


def each(rank: int, without: Sequence[int] = ()) -> tuple[Link, ...]:
    """Of an op of one operand that keeps its axes: those along which elements are by themselves."""
    return tuple(Link((axis,), axis) for axis in range(rank) if axis not in without)


def aligned(shapes: Sequence[Shape]) -> tuple[Link, ...]:
    """Of operands that broadcast: axes aligned right, those of size 1 left out."""
    rank = max(map(len, shapes), default=0)
    return tuple(
        Link(tuple(_aligned_axis(shape, axis - rank) for shape in shapes), axis)
        for axis in range(rank)
    )


def _aligned_axis(shape: Shape, from_end: int) -> int | None:
    axis = len(shape) + from_end
    return axis if axis >= 0 and shape[axis] != 1 else None
