"""Tensors from nothing, and sizes as tensors."""

from __future__ import annotations

import numpy as np

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import source
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import as_index, asarray, cast_to
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.item import item
from anyshape.frontend.builder.movement import expand_dims
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.entries.elementwise import same_dtype
from anyshape.frontend.onnx.numbers import known_sizes, sizes_of
from anyshape.ir.types import Array, f64, i64
from anyshape.sym import Dim


@entry("Constant")
def constant(
    call: Call,
    *,
    value: Array | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
) -> Tensor:
    integer = value_ints if value_int is None else value_int
    number = value_floats if value_float is None else value_float
    given = [each for each in (value, integer, number) if each is not None]
    if len(given) != 1:
        raise call.invalid(f"has {len(given)} values")
    if value is not None:
        return asarray(value)
    return asarray(np.asarray(given[0], np.int64 if number is None else np.float32))


@entry("ConstantOfShape", since=9)
def constant_of_shape(call: Call, shape: Tensor, *, value: Array | None = None) -> Tensor:
    given = np.zeros(1, np.float32) if value is None else value
    if given.size != 1:
        raise call.invalid(f"has {given.size} values")
    return source.full(sizes_of(shape), asarray(given.reshape(())))


@entry("Shape")
def shape(call: Call, x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    whole = active().emit("shape_of", x)
    return whole if start == 0 and end is None else getitem(whole, slice(start, end))


@entry("Size")
def size(call: Call, x: Tensor) -> Tensor:
    return asarray(x.size, i64)


@entry("Range", since=11)
def range_(call: Call, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    same_dtype(call, start, limit, delta)
    if start.dtype.is_float:
        return _float_range(start, limit, delta)
    first, last, by = (_number(each) for each in (start, limit, delta))
    step = by.constant if isinstance(by, Dim) and by.constant else delta.reshape(())
    return cast_to(source.arange(first, last, step), start.dtype)


def _number(x: Tensor) -> Dim | Tensor:
    """A number that sizes decide, or the scalar that has it when it runs."""
    known = known_sizes(x)
    return x.reshape(()) if known is None else known[0]


def _float_range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """The quotient is an f64: as an f32, 0.3 / 0.1 is 3, where it is more."""
    steps = ew.ceil(cast_to(limit - start, f64) / cast_to(delta, f64))
    count = item(cast_to(ew.maximum(steps, 0.0), i64))
    return cast_to(source.iota(count, 0), start.dtype) * delta + start


@entry("EyeLike")
def eye_like(call: Call, x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    wanted = x.dtype if dtype is None else dtype_of_code(dtype, str(call))
    if x.ndim != 2:
        raise call.invalid(f"has an input of rank {x.ndim}")
    return cast_to(source.iota(x.shape, 0) + k == source.iota(x.shape, 1), wanted)


@entry("Trilu")
def trilu(call: Call, x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    """The upper or lower triangle of the last two axes; zeros elsewhere."""
    plane = x.shape[-2:]
    diagonal = asarray(0, i64) if k is None else k.reshape(())
    row, column = source.iota(plane, 0) + diagonal, source.iota(plane, 1)
    return ew.where(column >= row if upper else column <= row, x, asarray(0, x.dtype))


@entry("OneHot", since=9)
def one_hot(
    call: Call, indices: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1
) -> Tensor:
    """Indices below 0 count from the end; those outside are nowhere."""
    (count,) = sizes_of(depth if not depth.dtype.is_float else cast_to(depth, i64))
    index = as_index(indices if not indices.dtype.is_float else cast_to(indices, i64))
    place = normal_axis(axis, index.ndim + 1)
    positive = expand_dims(ew.where(index < 0, index + count, index), place)
    column = [Dim.of(1)] * (index.ndim + 1)
    column[place] = count
    hit = positive == source.arange(count).reshape(tuple(column))
    return ew.where(hit, values[1], values[0])
