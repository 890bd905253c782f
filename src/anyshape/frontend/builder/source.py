"""Tensors from nothing: constants, counting, masks. Sizes are integers, dims or expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import Size, describe, make_shape
from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray, cast_to, require_held
from anyshape.frontend.builder.elementwise import maximum, where
from anyshape.frontend.builder.item import item
from anyshape.frontend.builder.tracer import active, is_tensor
from anyshape.ir.types import DType, f32, i64
from anyshape.sym import Dim, ceildiv
from anyshape.sym import maximum as dim_maximum

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Sizes = Size | Sequence[Size]


def full(shape: Sizes, value: ArrayLike, dtype: DType | None = None) -> Tensor:
    """`value` everywhere."""
    return active().emit("broadcast", asarray(value, dtype), shape=make_shape(shape))


def zeros(shape: Sizes, dtype: DType = f32) -> Tensor:
    return full(shape, 0, dtype)


def ones(shape: Sizes, dtype: DType = f32) -> Tensor:
    return full(shape, 1, dtype)


def full_like(x: Tensor, value: ArrayLike, dtype: DType | None = None) -> Tensor:
    return full(x.shape, value, dtype or x.dtype)


def zeros_like(x: Tensor, dtype: DType | None = None) -> Tensor:
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: DType | None = None) -> Tensor:
    return full_like(x, 1, dtype)


def iota(shape: Sizes, axis: int, dtype: DType = i64) -> Tensor:
    """The index along `axis` of every element; `dtype` must hold the last one."""
    sizes = make_shape(shape)
    if 0 <= axis < len(sizes):  # others are refused by the op
        last = sizes[axis] - 1
        require_held(f"index {last}", Dim.of(0), last, dtype)
    return active().emit("iota", shape=sizes, axis=axis, dtype=dtype)


def arange(
    start: Size | Tensor,
    stop: Size | Tensor | None = None,
    step: int | Tensor = 1,
    dtype: DType = i64,
) -> Tensor:
    """start, start + step, … before `stop`; one argument is the stop. Scalar tensors are numbers
    that are known when it runs."""
    if is_tensor(start) or is_tensor(stop) or is_tensor(step):
        first, last = (start, stop) if stop is not None else (0, start)
        return _computed_arange(_number(first), _number(last), _number(step), dtype)
    if step == 0:
        raise active().refuse("arange with step 0", "use a step other than 0")
    first, last = (start, stop) if stop is not None else (0, start)
    low, high = active().dim(first), active().dim(last)
    span = high - low if step > 0 else low - high
    count = _count(span, abs(step))
    index = iota(count, 0, i64)
    scaled = index if step == 1 else index * step
    last = low + (count - 1) * step
    least, largest = (low, last) if step > 0 else (last, low)
    require_held(f"arange from {low} to {last}", least, largest, dtype)
    return cast_to(scaled if low == 0 else scaled + low, dtype)


def _number(size: Size | Tensor) -> Tensor:
    return as_index(size if is_tensor(size) else active().dim(size))


def _computed_arange(low: Tensor, high: Tensor, step: Tensor, dtype: DType) -> Tensor:
    """A step of 0 has no count, and is refused when it runs."""
    up = step > 0
    beyond = where(up, high - low, low - high) - 1
    stride = maximum(where(up, step, -step), 1)
    count = where(step == 0, -1, where(beyond < 0, 0, beyond // stride + 1))
    return cast_to(iota(item(count), 0) * step + low, dtype)


def _count(span: Dim, step: int) -> Dim:
    """How many steps lie before the end; none when the end is behind."""
    known = active().proves(span >= 0)
    return ceildiv(span if known else dim_maximum(span, 0), step)


def eye(rows: Size, columns: Size | None = None, dtype: DType = f32) -> Tensor:
    """Ones on the diagonal."""
    shape = make_shape((rows, rows if columns is None else columns))
    return cast_to(iota(shape, 0) == iota(shape, 1), dtype)


def one_hot(indices: ArrayLike, classes: Size, dtype: DType = f32) -> Tensor:
    """A new last axis of size `classes` that is 1 at the index and 0 elsewhere."""
    index = as_index(indices)
    wide = active().emit("reshape", index, shape=(*index.shape, 1))
    return cast_to(wide == arange(classes), dtype)


def tril(x: ArrayLike, k: int | Dim = 0) -> Tensor:
    """The lower triangle of the last two axes; zeros above diagonal `k`."""
    row, column, operand = _plane(x)
    return where(column <= row + k, operand, asarray(0, operand.dtype))


def triu(x: ArrayLike, k: int | Dim = 0) -> Tensor:
    """The upper triangle of the last two axes; zeros below diagonal `k`."""
    row, column, operand = _plane(x)
    return where(column >= row + k, operand, asarray(0, operand.dtype))


def _plane(x: ArrayLike) -> tuple[Tensor, Tensor, Tensor]:
    """Row and column of every element of the last two axes, and the tensor."""
    operand = asarray(x)
    if operand.ndim < 2:
        raise active().refuse(
            f"a triangle needs at least two axes, got {describe(operand)}",
            "use ash.expand_dims first",
        )
    plane = operand.shape[-2:]
    return iota(plane, 0), iota(plane, 1), operand
