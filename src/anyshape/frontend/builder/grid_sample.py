"""Tensors read at places that a grid says: `torch.nn.functional.grid_sample`.

A grid has numbers from -1 to 1 for each place of the result, that of the last axis first. What lies
outside is zero, the edge, or mirrored, at the edge's middle where corners are aligned and else at
its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Literal

from anyshape.frontend.builder.convert import ArrayLike, as_float, cast_to, size_value, widened
from anyshape.frontend.builder.elementwise import abs as abs_
from anyshape.frontend.builder.elementwise import clip, floor, logical_and, where
from anyshape.frontend.builder.elementwise import round as nearest_integer
from anyshape.frontend.builder.movement import broadcast_to, reshape
from anyshape.frontend.builder.resize import SHARPNESS, cubic_far, cubic_near
from anyshape.frontend.builder.scatter import take_along
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64
from anyshape.sym import Dim
from anyshape.sym import product as size_product

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Mode = Literal["bilinear", "nearest", "bicubic"]
Padding = Literal["zeros", "border", "reflection"]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One spatial axis and the coordinates along it, in elements."""

    size: Dim
    places: Tensor
    padding: Padding
    corners: bool

    def inside(self, coordinate: Tensor) -> Tensor:
        """A coordinate outside, moved to where its element is taken from."""
        last = size_value(self.size - 1, coordinate.dtype)
        if self.padding == "reflection":
            coordinate = self._mirrored(coordinate)
        return coordinate if self.padding == "zeros" else clip(coordinate, 0, last)

    def _mirrored(self, coordinate: Tensor) -> Tensor:
        begin = 0.0 if self.corners else -0.5
        span = size_value(self.size - 1 if self.corners else self.size, coordinate.dtype)
        some = where(span > 0, span, 1)
        distance = abs_(coordinate - begin)
        turns = floor(distance / some)
        rest = distance - turns * some
        is_even = turns - 2 * floor(turns / 2) < 0.5
        found = where(is_even, rest, some - rest) + begin
        return where(span > 0, found, 0)

    def element(self, coordinate: Tensor) -> tuple[Tensor, Tensor | None]:
        """Which element has a whole coordinate, and whether it is one, where not all are."""
        last = size_value(self.size - 1, coordinate.dtype)
        index = cast_to(clip(coordinate, 0, last), i64)
        if self.padding != "zeros":
            return index, None
        return index, logical_and(coordinate >= 0, coordinate <= last)


_Tap = tuple["Tensor", "Tensor | None"]
"""A whole coordinate along an axis, and its weight, if it is not 1."""


def grid_sample(
    x: ArrayLike,
    grid: ArrayLike,
    mode: Mode = "bilinear",
    padding_mode: Padding = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """[n, channels, in…] read at grid [n, out…, rank]: [n, channels, out…]."""
    operand, points = as_float(x), as_float(grid)
    rank = operand.ndim - 2
    if rank not in (2, 3) or points.ndim != rank + 2 or (mode == "bicubic" and rank != 2):
        fix = "give [n, c, h, w] with a grid [n, h, w, 2], or one axis more of each"
        raise active().refuse(f"grid_sample of {operand.ndim} and {points.ndim} axes", fix)
    for size in operand.shape[2:]:
        active().require(size >= 1, "grid_sample reads axes that have elements")
    wide = cast_to(widened(points), widened(operand).dtype)
    axes = [
        _Axis(size, _places(wide[..., rank - 1 - at], size, align_corners), padding_mode,
              align_corners)
        for at, size in enumerate(operand.shape[2:])
    ]  # fmt: skip
    found = _read(widened(operand), axes, [_taps(axis, mode) for axis in axes])
    return cast_to(found, operand.dtype)


def _places(numbers: Tensor, size: Dim, corners: bool) -> Tensor:
    count = size_value(size, numbers.dtype)
    if corners:
        return (numbers + 1) * 0.5 * (count - 1)
    return ((numbers + 1) * count - 1) * 0.5


def _taps(axis: _Axis, mode: Mode) -> list[_Tap]:
    if mode == "nearest":
        return [(nearest_integer(axis.inside(axis.places)), None)]
    if mode == "bilinear":
        place = axis.inside(axis.places)
        first = floor(place)
        return [(first, first + 1 - place), (first + 1, place - first)]
    first = floor(axis.places)
    t = axis.places - first
    weights = (
        cubic_far(t + 1, SHARPNESS), cubic_near(t, SHARPNESS),
        cubic_near(1 - t, SHARPNESS), cubic_far(2 - t, SHARPNESS),
    )  # fmt: skip
    return [(axis.inside(first + (i - 1)), weight) for i, weight in enumerate(weights)]


def _read(x: Tensor, axes: Sequence[_Axis], taps: Sequence[Sequence[_Tap]]) -> Tensor:
    """The sum over all taps of all axes."""
    batch, channels, *sizes = x.shape
    flat = reshape(x, (batch, channels, size_product(sizes)))
    parts = [_corner(flat, axes, corner) for corner in product(*taps)]
    total = reduce(add, parts)
    return reshape(total, (batch, channels, *axes[0].places.shape[1:]))


def _corner(flat: Tensor, axes: Sequence[_Axis], corner: Sequence[_Tap]) -> Tensor:
    """[batch, channels, places]."""
    index: Tensor | None = None
    known: Tensor | None = None
    weight: Tensor | None = None
    for axis, (coordinate, factor) in zip(axes, corner, strict=True):
        element, is_inside = axis.element(coordinate)
        index = element if index is None else index * axis.size + element
        if is_inside is not None:
            known = is_inside if known is None else logical_and(known, is_inside)
        if factor is not None:
            weight = factor if weight is None else weight * factor
    assert index is not None
    batch, channels, _ = flat.shape
    places = size_product(index.shape[1:])
    line = (batch, 1, places)
    taken = take_along(flat, broadcast_to(reshape(index, line), (batch, channels, places)), 2)
    taken = taken if known is None else where(reshape(known, line), taken, 0)
    return taken if weight is None else taken * reshape(weight, line)
