"""Functions that place elements: reshape, transpose, broadcast, flip, take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from anyshape.frontend.builder.axes import (
    Axes,
    Size,
    describe,
    given_sizes,
    make_shape,
    normal_axes,
    normal_axis,
)
from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import Shape
from anyshape.sym import Dim, Divisible, Equal, product

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


# --- reshape --------------------------------------------------------------------------------------


def reshape(x: ArrayLike, *sizes: Size | Sequence[Size]) -> Tensor:
    """The same elements in another shape; one size may be -1 and is then computed."""
    operand = asarray(x)
    wanted = given_sizes(sizes)
    open_ = [index for index, size in enumerate(wanted) if size == -1]
    if len(open_) > 1:
        raise active().refuse("reshape has more than one -1", "give all sizes but one")
    if not open_:
        return _reshaped(operand, make_shape(wanted))
    before, after = make_shape(wanted[: open_[0]]), make_shape(wanted[open_[0] + 1 :])
    missing = _missing_size(operand.shape, (*before, *after))
    return _reshaped(operand, (*before, missing, *after))


def _reshaped(x: Tensor, shape: Shape) -> Tensor:
    return x if x.shape == shape else active().emit("reshape", x, shape=shape)


def _missing_size(old: Shape, given: Shape) -> Dim:
    """What -1 stands for.

    Sizes that occur on both sides cancel before dividing, so that `[batch, 3, 4]` to `[batch, -1]`
    is 12 for every batch, also for 0.
    """
    rest = list(old)
    divisors: list[Dim] = []
    for size in given:
        if size in rest:
            rest.remove(size)
        else:
            divisors.append(size)
    total, divisor = product(rest), product(divisors)
    if divisor == 0:
        raise active().refuse("-1 beside a size of 0 is ambiguous", "give all sizes")
    active().require(Divisible(total, divisor), f"reshape: -1 must stand for {total} // {divisor}")
    return total if divisor == 1 else total // divisor


def ravel(x: ArrayLike) -> Tensor:
    """All elements in one axis."""
    return reshape(x, -1)


def expand_dims(x: ArrayLike, axis: Axes) -> Tensor:
    """New axes of size 1 at these positions of the result."""
    operand = asarray(x)
    count = 1 if isinstance(axis, int) else len(axis)
    new = normal_axes(axis, operand.ndim + count)
    old = iter(operand.shape)
    one = Dim.of(1)
    shape = tuple(one if i in new else next(old) for i in range(operand.ndim + count))
    return _reshaped(operand, shape)


def squeeze(x: ArrayLike, axis: Axes) -> Tensor:
    """Without these axes, which must have size 1. A dynamic size is checked when it runs."""
    operand = asarray(x)
    gone = normal_axes(axis, operand.ndim)
    for index in gone:
        why = f"squeeze: axis {index} of {describe(operand)} must have size 1"
        active().require(Equal(operand.shape[index], Dim.of(1)), why)
    return _reshaped(operand, tuple(d for i, d in enumerate(operand.shape) if i not in gone))


# --- order of axes --------------------------------------------------------------------------------


def transpose(x: ArrayLike, *axes: int | Sequence[int]) -> Tensor:
    """Result axis i is operand axis axes[i]; without axes, their order is reversed."""
    operand = asarray(x)
    rank = operand.ndim
    together = len(axes) == 1 and isinstance(axes[0], (tuple, list))
    order = cast(Sequence[int], axes[0] if together else axes)
    perm = normal_axes(order, rank) if axes else tuple(reversed(range(rank)))
    if len(perm) != rank:
        raise active().refuse(
            f"transpose got {len(perm)} axes for {describe(operand)}", f"name all {rank} axes"
        )
    return permuted(operand, perm)


def permuted(x: Tensor, perm: Sequence[int]) -> Tensor:
    """Transposed by axes that are normal already."""
    identity = list(perm) == list(range(x.ndim))
    return x if identity else active().emit("transpose", x, perm=tuple(perm))


def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tensor:
    operand = asarray(x)
    first, second = (normal_axis(axis, operand.ndim) for axis in (axis1, axis2))
    perm = list(range(operand.ndim))
    perm[first], perm[second] = second, first
    return permuted(operand, perm)


def moveaxis(x: ArrayLike, source: Axes, destination: Axes) -> Tensor:
    """The axes `source` at the positions `destination`; the others keep their order."""
    operand = asarray(x)
    rank = operand.ndim
    moved = dict(zip(normal_axes(destination, rank), normal_axes(source, rank), strict=True))
    others = iter(axis for axis in range(rank) if axis not in moved.values())
    return permuted(operand, [moved[i] if i in moved else next(others) for i in range(rank)])


def matrix_transpose(x: ArrayLike) -> Tensor:
    """The last two axes swapped."""
    operand = asarray(x)
    if operand.ndim < 2:
        raise active().refuse(
            f"a matrix transpose needs at least two axes, got {describe(operand)}",
            "use ash.expand_dims first",
        )
    return swapaxes(operand, -1, -2)


# --- repeated and reversed ------------------------------------------------------------------------


def broadcast_to(x: ArrayLike, shape: Size | Sequence[Size]) -> Tensor:
    operand = asarray(x)
    wanted = make_shape(shape)
    return operand if operand.shape == wanted else active().emit("broadcast", operand, shape=wanted)


def flip(x: ArrayLike, axis: Axes | None = None) -> Tensor:
    """Reversed along the axes, or along all."""
    operand = asarray(x)
    axes = tuple(sorted(normal_axes(axis, operand.ndim)))
    return active().emit("reverse", operand, axes=axes) if axes else operand


# --- gather ---------------------------------------------------------------------------------------


def gather(x: ArrayLike, indices: ArrayLike, axis: int = 0) -> Tensor:
    """Slices of `x` along `axis`. Indices must not be negative: see `take`."""
    operand, index = asarray(x), asarray(indices)
    return active().emit("gather", operand, index, axis=normal_axis(axis, operand.ndim))


def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Tensor:
    """Slices of `x` along `axis`, or elements of the flattened tensor; -1 is the last."""
    operand = asarray(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    size = operand.shape[normal_axis(axis, operand.ndim)]
    return gather(operand, from_front(indices, size), axis)


def from_front(indices: ArrayLike, size: Dim) -> Tensor:
    """Indices with those below zero counted from the end, as i64: a size may not fit theirs."""
    given = asarray(indices)
    index = as_index(given)
    return where(index < 0, index + size, index) if given.dtype.kind == "int" else index
