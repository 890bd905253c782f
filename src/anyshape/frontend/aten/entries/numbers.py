"""Signs, scales and bits of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.entries import elementwise
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.convert import ArrayLike, asarray, widened
from anyshape.frontend.builder.functions import atan, log, log1p, sqrt
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active

# --- signs ----------------------------------------------------------------------------------------


@entry("aten.signbit.default")
def signbit(call: Call, x: Tensor) -> Tensor:
    return _is_negative(x)


@entry("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(call: Call, x: Tensor, sign: ArrayLike) -> Tensor:
    return active().emit("copysign", call.operand(x), call.operand(sign))


def _is_negative(x: Tensor) -> Tensor:
    """Also of a zero or NaN that has a sign."""
    return (active().emit("copysign", asarray(1, x.dtype), x) if x.dtype.is_float else x) < 0


# --- two numbers ----------------------------------------------------------------------------------


@entry("aten.fmax.default")
def fmax(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """The larger one, or the one that is a number."""
    return _unless_nan(call, x, y, elementwise.maximum(call, x, y))


@entry("aten.fmin.default")
def fmin(call: Call, x: Tensor, y: Tensor) -> Tensor:
    return _unless_nan(call, x, y, elementwise.minimum(call, x, y))


def _unless_nan(call: Call, x: Tensor, y: Tensor, both: Tensor) -> Tensor:
    left, right = call.operand(x), call.operand(y)
    if not call.dtype.is_float:
        return both
    return ew.where(ew.isnan(left), right, ew.where(ew.isnan(right), left, both))


@entry("aten.hypot.default")
def hypot(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """The larger size times what is at most a root of 2, so that no square overflows."""
    sizes = [ew.abs(widened(call.operand(side))) for side in (x, y)]
    large, small = ew.maximum(*sizes), ew.minimum(*sizes)
    ratio = small / ew.where(large == 0, 1, large)
    root = large * sqrt(1 + ratio * ratio)
    endless = ew.logical_or(*(ew.isinf(size) for size in sizes))
    return call.operand(ew.where(endless, float("inf"), root))


@entry("aten.atan2.default")
def atan2(call: Call, y: Tensor, x: Tensor) -> Tensor:
    """The angle of a point, from that between it and the nearer axis."""
    down, right = (widened(call.operand(side)) for side in (y, x))
    sizes = ew.abs(down), ew.abs(right)
    large, small = ew.maximum(*sizes), ew.minimum(*sizes)
    ratio = ew.where(small == large, ew.where(large == 0, 0, 1), small / large)
    angle = atan(ew.where(ew.isnan(large), large, ratio))
    angle = ew.where(sizes[0] > sizes[1], math.pi / 2 - angle, angle)
    angle = ew.where(_is_negative(right), math.pi - angle, angle)
    return call.operand(ew.where(_is_negative(down), -angle, angle))


@entry("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other")
def xlogy(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
    """Nothing times any logarithm is nothing."""
    return _times(call.operand(x), call.operand(y), log)


@entry(
    "aten.special_xlog1py.default",
    "aten.special_xlog1py.self_scalar",
    "aten.special_xlog1py.other_scalar",
)
def xlog1py(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
    return _times(call.operand(x), call.operand(y), log1p)


def _times(x: Tensor, y: Tensor, logarithm: Callable[[Tensor], Tensor]) -> Tensor:
    product = ew.where(x == 0, asarray(0, x.dtype), x * logarithm(y))
    return ew.where(ew.isnan(y), y, product)


# --- scales ---------------------------------------------------------------------------------------


@entry("aten.round.decimals")
def round_decimals(call: Call, x: Tensor, decimals: int) -> Tensor:
    """Scaled, rounded and scaled back, as torch does it."""
    scale = 10.0 ** abs(decimals)
    wide = widened(x)
    if decimals >= 0:
        return call.operand(ew.round(wide * scale) / scale)
    return call.operand(ew.round(wide / scale) * scale)


# --- bits -----------------------------------------------------------------------------------------


@entry(
    "aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_left_shift.Scalar_Tensor", "aten.__lshift__.Tensor", "aten.__lshift__.Scalar",
)  # fmt: skip
def left_shift(call: Call, x: ArrayLike, count: ArrayLike) -> Tensor:
    return ew.left_shift(call.operand(x), _count(call, count))


@entry(
    "aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.bitwise_right_shift.Scalar_Tensor", "aten.__rshift__.Tensor", "aten.__rshift__.Scalar",
)  # fmt: skip
def right_shift(call: Call, x: ArrayLike, count: ArrayLike) -> Tensor:
    return ew.right_shift(call.operand(x), _count(call, count))


def _count(call: Call, count: ArrayLike) -> Tensor:
    """A number wraps, as torch's does: 2**40 is 0 for bytes, which shifts nothing."""
    if not call.dtype.is_integer:
        raise NoEntryError  # torch scales floats
    return call.operand(count)
