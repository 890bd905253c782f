"""Reductions, named as in NumPy: over all axes, one, or several; negative axes count from the end.

Sums and products of integers are 64 bits wide, as NumPy's. Means of integers are f32. What is made
of several reductions computes 16-bit floats in f32 and rounds once: f16 ends at 65504, and neither
it nor bf16 has every count. An extremum over no elements is its neutral element (minus infinity for
`max`), not an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import Axes, normal_axes, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_float, asarray, cast_to, widened
from anyshape.frontend.builder.elementwise import as_bool, isinf, maximum, square, where
from anyshape.frontend.builder.functions import exp, log, sqrt
from anyshape.frontend.builder.movement import squeeze
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import DType, i64, u64
from anyshape.sym import Dim, product
from anyshape.sym import maximum as dim_maximum

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
    x: ArrayLike, axis: Axes | None = None, keepdims: bool = False, correction: float = 0
) -> Tensor:
    """Mean squared distance from the mean; the count is lowered by `correction`, at most to 0."""
    operand = as_float(x)
    return cast_to(_variance(widened(operand), axis, keepdims, correction), operand.dtype)


def _variance(x: Tensor, axis: Axes | None, keepdims: bool, correction: float) -> Tensor:
    squares = square(x - mean(x, axis, keepdims=True))
    if correction == 0:
        return mean(squares, axis, keepdims)
    count = product(x.shape[i] for i in normal_axes(axis, x.ndim))
    return sum(squares, axis, keepdims) / _lowered(count, correction, x.dtype)


def _lowered(count: Dim, correction: float, dtype: DType) -> Tensor:
    """The count less the correction: 0 if that is larger, so that there is no negative variance."""
    if correction != int(correction):
        return maximum(asarray(count, dtype) - correction, 0.0)
    rest = count - int(correction)
    return asarray(rest if active().proves(rest >= 0) else dim_maximum(rest, 0), dtype)


def std(
    x: ArrayLike, axis: Axes | None = None, keepdims: bool = False, correction: float = 0
) -> Tensor:
    operand = as_float(x)
    variance = _variance(widened(operand), axis, keepdims, correction)
    return cast_to(sqrt(variance), operand.dtype)


def logsumexp(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), shifted by the maximum so that nothing overflows."""
    operand = as_float(x)
    wide = widened(operand)
    top = max(wide, axis, keepdims=True)
    top = where(isinf(top), 0.0, top)
    total = cast_to(log(sum(exp(wide - top), axis, keepdims=True)) + top, operand.dtype)
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
