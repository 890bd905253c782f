"""Reductions, named as in NumPy: over all axes, one, or several; negative axes count from the end.

Sums and products of integers are 64 bits wide, as NumPy's. Means of integers are f32. An extremum
over no elements is its neutral element (minus infinity for `max`), not an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import Axes, normal_axes, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_float, asarray, cast_to
from anyshape.frontend.builder.elementwise import as_bool, exp, isinf, log, sqrt, square, where
from anyshape.frontend.builder.movement import squeeze
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import DType, i64, u64
from anyshape.sym import product

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def _reduce(op: str, x: Tensor, axis: Axes | None, keepdims: bool) -> Tensor:
    axes = tuple(sorted(normal_axes(axis, x.ndim)))
    return active().emit(op, x, axes=axes, keepdims=keepdims)


def accumulator(dtype: DType) -> DType:
    """What sums and products of a dtype are made in."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "uint" else i64


def sum(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    operand = asarray(x)
    return _reduce("sum", cast_to(operand, accumulator(operand.dtype)), axis, keepdims)


def prod(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    operand = asarray(x)
    return _reduce("prod", cast_to(operand, accumulator(operand.dtype)), axis, keepdims)


def max(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    return _reduce("max", asarray(x), axis, keepdims)


def min(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    return _reduce("min", asarray(x), axis, keepdims)


def any(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether some element is not zero."""
    return _reduce("max", as_bool(x), axis, keepdims)


def all(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether no element is zero."""
    return _reduce("min", as_bool(x), axis, keepdims)


def mean(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    return _reduce("mean", as_float(x), axis, keepdims)


def var(
    x: ArrayLike, axis: Axes | None = None, keepdims: bool = False, correction: int = 0
) -> Tensor:
    """Mean squared distance from the mean; the count is lowered by `correction`."""
    operand = as_float(x)
    squares = square(operand - mean(operand, axis, keepdims=True))
    if correction == 0:
        return mean(squares, axis, keepdims)
    count = product(operand.shape[i] for i in normal_axes(axis, operand.ndim))
    return sum(squares, axis, keepdims) / (count - correction)


def std(
    x: ArrayLike, axis: Axes | None = None, keepdims: bool = False, correction: int = 0
) -> Tensor:
    return sqrt(var(x, axis, keepdims, correction))


def logsumexp(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), shifted by the maximum so that nothing overflows."""
    operand = as_float(x)
    top = max(operand, axis, keepdims=True)
    top = where(isinf(top), 0.0, top)
    total = log(sum(exp(operand - top), axis, keepdims=True)) + top
    return total if keepdims else squeeze(total, normal_axes(axis, operand.ndim))


def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest element, the lowest where several are; over all when no axis."""
    return _arg_reduce("argmax", x, axis, keepdims)


def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element, the lowest where several are; over all when no axis."""
    return _arg_reduce("argmin", x, axis, keepdims)


def _arg_reduce(op: str, x: ArrayLike, axis: int | None, keepdims: bool) -> Tensor:
    tracer = active()
    operand = asarray(x)
    if axis is not None:
        normal = normal_axis(axis, operand.ndim)
        return tracer.emit(op, operand, axis=normal, keepdims=keepdims)
    flat = tracer.emit("reshape", operand, shape=(operand.size,))
    found = tracer.emit(op, flat, axis=0)
    return tracer.emit("reshape", found, shape=(1,) * operand.ndim) if keepdims else found
