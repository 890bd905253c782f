"""Elements put where indices say: the counterparts of `take_along` and of `x[indices]`.

Argument order and meaning of `scatter` are torch's: indices have the axes of `x`. Where several
updates meet, the last one stays, or all are combined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray, cast_to
from anyshape.frontend.builder.movement import broadcast_to, from_front
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Reduce = Literal["add", "mul", "max", "min"]


def take_along(x: ArrayLike, indices: ArrayLike, axis: int = -1) -> Tensor:
    """For each index, the element of `x` there along `axis`, and at the same place along others."""
    operand = asarray(x)
    place = normal_axis(axis, operand.ndim)
    index = from_front(indices, operand.shape[place])
    return active().emit("take_along", operand, index, axis=place)


def scatter(
    x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike, reduce: Reduce | None = None
) -> Tensor:
    """`x` with each element of `src` put where `take_along` with the same indices would read, or
    combined with what is there. One number is put everywhere."""
    operand, indices = asarray(x), as_index(index)
    updates = cast_to(asarray(src, None), operand.dtype)
    if updates.ndim == 0:
        updates = broadcast_to(updates, indices.shape)
    place = normal_axis(dim, operand.ndim)
    attrs = {"axis": place, "combine": reduce or "set"}
    return active().emit("scatter_along", operand, indices, updates, **attrs)


def scatter_add(x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike) -> Tensor:
    """`x` with each element of `src` added where `take_along` with the same indices would read."""
    return scatter(x, dim, index, src, "add")
