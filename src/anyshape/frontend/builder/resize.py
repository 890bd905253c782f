"""Tensors in another size: each of the last axes is read at coordinates between its elements.

Output `i` of `count` looks at `scale * i` where corners are aligned, else at
`scale * (i + 1/2) - 1/2`: elements are cells, and their centres meet. `scale` is
the ratio of sizes, or the inverse of a factor that the caller asked for. What lies
outside is the edge. Coordinates are f32, as torch's are for f32 and narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from anyshape.frontend.builder.convert import asarray, cast_to, size_value, widened
from anyshape.frontend.builder.elementwise import (
    clip,
    floor,
    logical_and,
    maximum,
    minimum,
    where,
)
from anyshape.frontend.builder.movement import gather
from anyshape.frontend.builder.source import arange
from anyshape.ir.types import DType, f32, f64, i64
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Along:
    """How one axis changes. `factor` is what the caller asked for, beside the sizes."""

    extent: Dim
    count: Dim
    factor: float | None = None
    corners: bool = False

    def scale(self, dtype: DType) -> Tensor:
        """From an index of the result to a coordinate of the operand."""
        if self.corners:
            steps = maximum(size_value(self.count - 1, dtype), 1)
            ratio = size_value(self.extent - 1, dtype) / steps
            return where(size_value(self.count, i64) > 1, ratio, asarray(0, dtype))
        if self.factor is not None:
            return asarray(1 / self.factor, dtype)
        return size_value(self.extent, dtype) / size_value(self.count, dtype)

    def coordinates(self, dtype: DType) -> Tensor:
        index = cast_to(arange(self.count), dtype)
        if self.corners:
            return index * self.scale(dtype)
        return self.scale(dtype) * (index + 0.5) - 0.5

    def read(self, x: Tensor, axis: int, index: Tensor) -> Tensor:
        """Elements at these places, or at the edge."""
        return gather(x, clip(index, 0, self.extent - 1), axis)


Interpolate = Callable[["Tensor", int, Along], "Tensor"]


def resize(x: Tensor, axes: Sequence[Along], along: Interpolate) -> Tensor:
    """The last axes, one after the other, in a dtype wide enough for sums."""
    found = widened(x)
    for number, axis in enumerate(axes, x.ndim - len(axes)):
        found = along(found, number, axis)
    return cast_to(found, x.dtype)


def coordinate_dtype(x: Tensor) -> DType:
    return f64 if x.dtype == f64 else f32


# --- the nearest element --------------------------------------------------------------------------


def nearest(x: Tensor, axis: int, along: Along) -> Tensor:
    """The element whose cell begins before the coordinate. torch counts exactly where the size
    stays or doubles, whatever the factor."""
    index = arange(along.count)
    place = cast_to(floor(cast_to(index, f32) * along.scale(f32)), i64)
    if along.factor is not None and along.factor != int(along.factor):
        count, extent = size_value(along.count, i64), size_value(along.extent, i64)
        place = where(count == extent * 2, index // 2, place)
        place = where(count == extent, index, place)
    return along.read(x, axis, place)


def nearest_exact(x: Tensor, axis: int, along: Along) -> Tensor:
    """The element in whose cell the middle of the result's cell is."""
    index = cast_to(arange(along.count), f32) + 0.5
    return along.read(x, axis, cast_to(floor(index * along.scale(f32)), i64))


# --- between elements -----------------------------------------------------------------------------


def linear(x: Tensor, axis: int, along: Along) -> Tensor:
    """Between the two neighbours of the coordinate."""
    if not along.corners and along.factor is None and along.count == along.extent:
        return x
    return linear_at(x, axis, along, along.coordinates(coordinate_dtype(x)))


def linear_at(x: Tensor, axis: int, along: Along, coordinate: Tensor) -> Tensor:
    """At these coordinates, one for each place of the result."""
    coordinate = maximum(coordinate, 0)
    first = minimum(floor(coordinate), size_value(along.extent - 1, coordinate.dtype))
    place = cast_to(first, i64)
    second = minimum(place + 1, along.extent - 1)
    weight = _weights(cast_to(coordinate - first, x.dtype), x.ndim - axis)
    before, after = along.read(x, axis, place), along.read(x, axis, second)
    return before * (1 - weight) + after * weight


SHARPNESS = -0.75
"""The slope of the cubic at its ends, as torch has it."""


def cubic(x: Tensor, axis: int, along: Along) -> Tensor:
    """Of the four neighbours of the coordinate, by a cubic convolution."""
    return cubic_at(x, axis, along, along.coordinates(coordinate_dtype(x)))


def cubic_at(
    x: Tensor,
    axis: int,
    along: Along,
    coordinate: Tensor,
    sharpness: float = SHARPNESS,
    inside: bool = False,
) -> Tensor:
    """At these coordinates. Only `inside`, neighbours behind an edge do not count."""
    first = floor(coordinate)
    t = cast_to(coordinate - first, x.dtype)
    weights = [
        cubic_far(t + 1, sharpness),
        cubic_near(t, sharpness),
        cubic_near(1 - t, sharpness),
        cubic_far(2 - t, sharpness),
    ]
    return weighted(x, axis, along, cast_to(first, i64) - 1, weights, inside)


def weighted(
    x: Tensor, axis: int, along: Along, first: Tensor, weights: Sequence[Tensor], inside: bool
) -> Tensor:
    """The sum of neighbours from `first` on, each times its weight. Only `inside`, those behind an
    edge do not count, and the weights of the others are made to sum to 1."""
    places = [first + tap for tap in range(len(weights))]
    if inside:
        weights = _inside(along, places, weights)
    parts = (
        along.read(x, axis, place) * _weights(weight, x.ndim - axis)
        for place, weight in zip(places, weights, strict=True)
    )
    return reduce(add, parts)


def _inside(along: Along, places: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]:
    kept = [
        where(logical_and(place >= 0, place < size_value(along.extent, i64)), weight, 0.0)
        for place, weight in zip(places, weights, strict=True)
    ]
    total = reduce(add, kept)
    return [weight / total for weight in kept]


def cubic_near(t: Tensor, sharpness: float) -> Tensor:
    """Of an element at a distance up to 1."""
    return ((sharpness + 2) * t - (sharpness + 3)) * t * t + 1


def cubic_far(t: Tensor, sharpness: float) -> Tensor:
    """Of an element at a distance from 1 to 2."""
    return ((t - 5) * t + 8) * t * sharpness - 4 * sharpness


def _weights(weight: Tensor, rank: int) -> Tensor:
    """Along the first of the last `rank` axes."""
    return weight.reshape((weight.shape[0], *(1,) * (rank - 1)))
