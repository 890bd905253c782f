"""Integers that stand for floats: x = (q - zero point) * scale."""

from __future__ import annotations

from anyshape.frontend.builder import dot as products
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.assemble import repeat
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.movement import expand_dims
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.dtypes import dtype_of_code
from anyshape.frontend.onnx.entries.convolutions import ConvAttributes, conv
from anyshape.ir.types import DType, f32, i32, u8
from anyshape.sym import Dim


def _along(call: Call, x: Tensor, scale: Tensor, axis: int, block_size: int) -> Tensor:
    """A scale or zero point with a value for all, for each slice along an axis, or for blocks."""
    is_block = block_size and x.ndim == 1
    if scale.ndim == 0 or (scale.ndim == 1 and scale.shape[0] == 1 and not is_block):
        return scale.reshape(())
    place = normal_axis(axis, x.ndim)
    if block_size:
        wide = repeat(scale, block_size, place)
        index = [slice(None)] * x.ndim
        index[place] = slice(0, x.shape[place])
        return wide[tuple(index)]
    if scale.ndim != 1:
        raise call.invalid(f"has a scale {scale.type} without a block size")
    return scale.reshape((-1, *(Dim.of(1),) * (x.ndim - 1 - place)))


def quantized(x: Tensor, scale: Tensor, zero: Tensor, to: DType) -> Tensor:
    """Rounded to the nearest even, and kept within the type."""
    low, high = float(to.lowest), float(to.highest)
    found = ew.round(x / scale) + cast_to(zero, x.dtype)
    return cast_to(ew.clip(found, low, high), to)


def require_small(call: Call, dtype: DType) -> None:
    if not dtype.is_integer or dtype.bits > 16:
        raise active().refuse(f"{call.op} to {dtype}", "quantise to 8 or 16 bits")


@entry("QuantizeLinear", since=10)
def quantize_linear(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Tensor:
    to = zero.dtype if zero is not None else u8
    if output_dtype:
        to = dtype_of_code(output_dtype, str(call))
    require_small(call, to)
    if precision and dtype_of_code(precision, str(call)) != f32:
        raise active().refuse(f"{call.op} in another precision", "quantise in float")
    zeros = asarray(0, to) if zero is None else _along(call, x, zero, axis, block_size)
    wide = cast_to(x, f32)
    return quantized(wide, cast_to(_along(call, x, scale, axis, block_size), f32), zeros, to)


@entry("DequantizeLinear", since=10)
def dequantize_linear(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    to = dtype_of_code(output_dtype, str(call)) if output_dtype else scale.dtype
    whole = cast_to(x, i32)
    if zero is not None:
        whole = whole - cast_to(_along(call, x, zero, axis, block_size), i32)
    factor = cast_to(_along(call, x, scale, axis, block_size), f32)
    return cast_to(cast_to(whole, f32) * factor, to)


def dynamically_quantized(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """u8 with a scale and a zero point, such that 0 is exact. Nothing but zeros has the scale 1, as
    in onnxruntime: the function that ONNX gives for the op divides by 0 there."""
    low, high = ew.minimum(red.min(x, None), 0.0), ew.maximum(red.max(x, None), 0.0)
    scale = (high - low) / 255.0
    scale = ew.where(scale == 0, 1.0, scale)
    zero = cast_to(ew.clip(ew.round(-low / scale), 0.0, 255.0), u8)
    return quantized(x, scale, zero, u8), scale, zero


@entry("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(call: Call, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return dynamically_quantized(x)


def _point(zero: Tensor) -> Tensor:
    """A zero point or a scale for all, without axes."""
    return zero.reshape(()) if zero.shape == (1,) else zero


def _centered(x: Tensor, zero: Tensor | None, per_row: bool) -> Tensor:
    """As i32, less its zero point: one for all, or for each row, or for each column."""
    if zero is None:
        return cast_to(x, i32)
    point = cast_to(_point(zero), i32)
    if per_row and point.ndim == 1 and x.ndim > 1:
        point = expand_dims(point, 1)
    return cast_to(x, i32) - point


def integer_product(a: Tensor, a_zero: Tensor | None, b: Tensor, b_zero: Tensor | None) -> Tensor:
    """The exact product in i32 (`passes/quantized_products.py`)."""
    return products.matmul(_centered(a, a_zero, True), _centered(b, b_zero, False))


@entry("MatMulInteger", since=10)
def matmul_integer(
    call: Call, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    return integer_product(a, a_zero, b, b_zero)


def requantized(whole: Tensor, factor: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Sums times the scales of both sides, in the scale of the result: in f32, as onnxruntime."""
    real = cast_to(whole, f32) * (factor / scale)
    return quantized(real, asarray(1.0, f32), zero, zero.dtype)


@entry("QLinearMatMul", since=10)
def qlinear_matmul(
    call: Call,
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Tensor:
    require_small(call, y_zero.dtype)
    whole = integer_product(a, a_zero, b, b_zero)
    left = _point(a_scale)
    left = expand_dims(left, 1) if left.ndim == 1 and a.ndim > 1 else left
    factor = cast_to(left, f32) * cast_to(_point(b_scale), f32)
    return requantized(whole, factor, cast_to(_point(y_scale), f32), _point(y_zero))


# --- convolutions ---------------------------------------------------------------------------------


def _integer_conv(
    call: Call,
    x: Tensor,
    x_zero: Tensor | None,
    weight: Tensor,
    w_zero: Tensor | None,
    given: ConvAttributes,
) -> Tensor:
    """[batch, channels, …] in i32. Padding is what stands for 0: the zero point."""
    if w_zero is not None and w_zero.ndim == 1 and w_zero.shape != (1,):
        w_zero = w_zero.reshape((-1, *(1,) * (weight.ndim - 1)))
    return conv(call, _centered(x, x_zero, False), _centered(weight, w_zero, False), given=given)


@entry("ConvInteger", since=10)
def conv_integer(
    call: Call,
    x: Tensor,
    weight: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    given: ConvAttributes,
) -> Tensor:
    return _integer_conv(call, x, x_zero, weight, w_zero, given)


@entry("QLinearConv", since=10)
def qlinear_conv(
    call: Call,
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    weight: Tensor,
    w_scale: Tensor,
    w_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    bias: Tensor | None = None,
    *,
    given: ConvAttributes,
) -> Tensor:
    """The bias has the scale of sums."""
    require_small(call, y_zero.dtype)
    whole = _integer_conv(call, x, x_zero, weight, w_zero, given)
    ones = (1,) * (x.ndim - 2)
    if bias is not None:
        whole = whole + bias.reshape((-1, *ones))
    factor = _point(x_scale) * (
        w_scale.reshape((-1, *ones)) if w_scale.ndim and w_scale.shape != (1,) else _point(w_scale)
    )
    return requantized(whole, factor, _point(y_scale), _point(y_zero))
