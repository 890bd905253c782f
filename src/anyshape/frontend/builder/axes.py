"""Axes and shapes as users write them, made into what the IR holds.

Negative axes count from the end; the IR has only the others. Errors name the axis and the shape.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex, cast

from anyshape.frontend.builder.tracer import active, is_tensor
from anyshape.ir.types import Shape, shape_text
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Size = int | str | Dim
Axes = int | Sequence[int]


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        allowed = f"-{rank}..{rank - 1}" if rank else "none"
        raise active().refuse(
            f"axis {axis} is out of range for a tensor of rank {rank}",
            f"use an axis in range: {allowed}",
        )
    return axis % rank


def normal_axes(axes: Axes | None, rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the front; None means all."""
    if axes is None:
        return tuple(range(rank))
    given = axes if isinstance(axes, Sequence) else (axes,)
    normal = tuple(normal_axis(operator.index(axis), rank) for axis in given)
    if len(set(normal)) != len(normal):
        raise active().refuse(f"axes {list(given)} repeat an axis", "name each axis once")
    return normal


def given_sizes(sizes: Sequence[Size | Sequence[Size]]) -> tuple[Size, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    together = len(sizes) == 1 and isinstance(sizes[0], (tuple, list))
    return tuple(_size(item) for item in cast(Sequence[object], sizes[0] if together else sizes))


def make_shape(sizes: Size | Sequence[Size]) -> Shape:
    """A shape from integers, dims and size expressions in text."""
    many = isinstance(sizes, (tuple, list))
    return tuple(active().dim(size) for size in given_sizes(sizes if many else (sizes,)))


def _size(item: object) -> Size:
    if isinstance(item, (str, Dim)):
        return item
    if is_tensor(item):
        return item.item()
    if not hasattr(item, "__index__"):
        raise active().refuse(
            f"a size is a {type(item).__name__}", "use an integer, a dim of .shape or a name"
        )
    return operator.index(cast(SupportsIndex, item))


def describe(x: Tensor) -> str:
    return f"{x.dtype}{shape_text(x.shape)}"
