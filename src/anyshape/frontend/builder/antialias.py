"""Tensors in another size without aliasing: each element of a result is a weighted mean of those
that its cell covers, or more where the cell is smaller than theirs.

Weights of all elements of an axis are a matrix, and the axis is multiplied with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from anyshape.frontend.builder.convert import cast_to, size_value, widened
from anyshape.frontend.builder.dot import dot_general
from anyshape.frontend.builder.elementwise import abs as abs_
from anyshape.frontend.builder.elementwise import floor, logical_and, maximum, minimum, where
from anyshape.frontend.builder.movement import expand_dims, moveaxis
from anyshape.frontend.builder.reduce import sum as sum_
from anyshape.frontend.builder.source import iota
from anyshape.ir.types import f64

if TYPE_CHECKING:
    from anyshape.frontend.builder.resize import Along
    from anyshape.frontend.builder.tensor import Tensor

Filter = Callable[["Tensor"], "Tensor"]
"""The weight of an element at a distance, which is not negative."""


def resize_without_aliasing(
    x: Tensor, axes: Sequence[Along], weight: Filter, support: float
) -> Tensor:
    """The last axes, the last one first, as torch does it."""
    found, rank = widened(x), x.ndim
    for number, along in reversed(list(enumerate(axes, rank - len(axes)))):
        matrix = cast_to(_weights(along, weight, support), found.dtype)
        line = moveaxis(found, number, -1)
        product = dot_general(line, matrix, contract=([rank - 1], [1]))
        found = moveaxis(product, -1, number)
    return cast_to(found, x.dtype)


def _weights(along: Along, weight: Filter, support: float) -> Tensor:
    """[count, extent]; the rows have sums of 1."""
    scale = along.scale(f64)
    wide = maximum(scale, 1)
    middle = expand_dims((iota((along.count,), 0, f64) + 0.5) * scale, 1)
    first = maximum(floor(middle - wide * support + 0.5), 0)
    last = minimum(floor(middle + wide * support + 0.5), size_value(along.extent, f64))
    place = expand_dims(iota((along.extent,), 0, f64), 0)
    inside = logical_and(place >= first, place < last)
    found = where(inside, weight(abs_(place - middle + 0.5) / wide), 0)
    return found / sum_(found, axis=1, keepdims=True)


def triangle(distance: Tensor) -> Tensor:
    """Linear interpolation."""
    return maximum(1 - distance, 0)


def cubic(distance: Tensor) -> Tensor:
    """Cubic interpolation with a slope of -1/2, as images are scaled."""
    near = (1.5 * distance - 2.5) * distance * distance + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return where(distance < 1, near, where(distance < 2, far, 0))
