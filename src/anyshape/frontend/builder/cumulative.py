"""Cumulative ops along one axis; without an axis, over all elements in order, as in NumPy.

With `exclusive` an element leaves itself out; `reverse` starts from the end. Sums and products of
integers are 64 bits wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.reduce import accumulator
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def cumsum(
    x: ArrayLike, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    operand = asarray(x)
    wide = cast_to(operand, accumulator(operand.dtype))
    return _cumulative("cumsum", wide, axis, exclusive, reverse)


def cumprod(
    x: ArrayLike, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    operand = asarray(x)
    wide = cast_to(operand, accumulator(operand.dtype))
    return _cumulative("cumprod", wide, axis, exclusive, reverse)


def cummax(
    x: ArrayLike, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    return _cumulative("cummax", asarray(x), axis, exclusive, reverse)


def cummin(
    x: ArrayLike, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    return _cumulative("cummin", asarray(x), axis, exclusive, reverse)


def _cumulative(op: str, x: Tensor, axis: int | None, exclusive: bool, reverse: bool) -> Tensor:
    tracer = active()
    if axis is None:
        x, axis = tracer.emit("reshape", x, shape=(x.size,)), 0
    normal = normal_axis(axis, x.ndim)
    return tracer.emit(op, x, axis=normal, exclusive=exclusive, reverse=reverse)
