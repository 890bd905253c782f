"""Quantised ops of `com.microsoft`: products, elementwise ops, and weights of a few bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anyshape.frontend.builder import compound
from anyshape.frontend.builder import dot as products
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.assemble import concat
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.functions import sigmoid
from anyshape.frontend.builder.movement import matrix_transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.contrib import MICROSOFT, refuse_set
from anyshape.frontend.onnx.entries.quantized import (
    dequantize_linear,
    dynamically_quantized,
    integer_product,
    quantize_linear,
    quantized,
    requantized,
)
from anyshape.frontend.onnx.numbers import array_in
from anyshape.ir.types import Array, f32, i32

entry("QuantizeLinear", domain=MICROSOFT)(quantize_linear)
entry("DequantizeLinear", domain=MICROSOFT)(dequantize_linear)


def _number(x: Tensor) -> Tensor:
    """A scale or a zero point: one for all, or for each column."""
    return x.reshape(()) if x.shape == (1,) else x


# --- products -------------------------------------------------------------------------------------


def _float_product(
    a: Tensor, a_scale: Tensor, a_zero: Tensor | None, b: Tensor, b_scale: Tensor,
    b_zero: Tensor | None, bias: Tensor | None,
) -> Tensor:  # fmt: skip
    whole = cast_to(integer_product(a, a_zero, b, b_zero), f32)
    found = whole * (_number(a_scale) * _number(b_scale))
    return found if bias is None else found + bias


@entry("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(
    call: Call,
    a: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    quanta, scale, zero = dynamically_quantized(a)
    return _float_product(quanta, scale, zero, b, b_scale, b_zero, bias)


@entry("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(
    call: Call,
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    a_zero: Tensor | None = None,
    b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    return _float_product(a, a_scale, a_zero, b, b_scale, b_zero, bias)


@entry("QGemm", domain=MICROSOFT)
def qgemm(
    call: Call,
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    c: Tensor | None = None,
    y_scale: Tensor | None = None,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803 - the op's own names
    transB: int = 0,  # noqa: N803
) -> Tensor:
    """`c` is i32, in the scale of sums. Without a scale of its own the result is f32."""
    left = matrix_transpose(a) if transA else a
    right = matrix_transpose(b) if transB else b
    whole = integer_product(left, a_zero, right, b_zero)
    whole = whole if c is None else whole + c
    factor = _number(a_scale) * _number(b_scale) * asarray(alpha, f32)
    if y_scale is None or y_zero is None:
        return cast_to(whole, f32) * factor
    return requantized(whole, factor, _number(y_scale), _number(y_zero))


# --- elementwise ----------------------------------------------------------------------------------


def _real(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    whole = cast_to(x, i32)
    if zero is not None:
        whole = whole - cast_to(_number(zero), i32)
    return cast_to(whole, f32) * _number(scale)


def _again(real: Tensor, x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    point = asarray(0, x.dtype) if zero is None else _number(zero)
    return quantized(real, _number(scale), point, x.dtype)


_BINARY = {"QLinearAdd": ew.add, "QLinearMul": ew.multiply}


@entry(*_BINARY, domain=MICROSOFT)
def qlinear_binary(
    call: Call,
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor | None,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None,
    c_scale: Tensor,
    c_zero: Tensor | None = None,
) -> Tensor:
    found = _BINARY[call.op](_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
    return _again(found, a, c_scale, c_zero)


def _unary(
    x: Tensor, scale: Tensor, zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None,
    function: Callable[[Tensor], Tensor],
) -> Tensor:  # fmt: skip
    return _again(function(_real(x, scale, zero)), x, y_scale, y_zero)


@entry("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
) -> Tensor:
    return _unary(x, scale, zero, y_scale, y_zero, sigmoid)


@entry("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 0.01,
) -> Tensor:
    return _unary(x, scale, zero, y_scale, y_zero, lambda r: ew.where(r < 0, r * alpha, r))


@entry("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    *,
    channels_last: int = 0,
) -> Tensor:
    axes = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
    return _unary(x, scale, zero, y_scale, y_zero, lambda r: red.mean(r, axes, True))


@entry("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(
    call: Call,
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor,
    *,
    axis: int = -1,
    opset: int = 13,
) -> Tensor:
    refuse_set(call, **{"an opset below 13": opset < 13})
    return _unary(x, scale, zero, y_scale, y_zero, lambda r: compound.softmax(r, axis))


@entry("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(
    call: Call, y_scale: Tensor, y_zero: Tensor, *inputs: Tensor, axis: int
) -> Tensor:
    """Inputs come with a scale and a zero point each."""
    if not inputs or len(inputs) % 3:
        raise call.invalid(f"has {len(inputs)} inputs beside its scale")
    reals = [_real(*inputs[n : n + 3]) for n in range(0, len(inputs), 3)]
    return _again(concat(reals, axis), inputs[0], y_scale, y_zero)


# --- weights of a few bits ------------------------------------------------------------------------


def unpacked(packed: Array, bits: int) -> Array:
    """Numbers of so many bits, the first in the lowest bits, along the last axis."""
    shifts = np.array(range(0, 8, bits), np.uint8)
    apart = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return apart.reshape(*packed.shape[:-1], -1)


@entry("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(
    call: Call,
    a: Tensor,
    b: Tensor,
    scales: Tensor,
    zero_points: Tensor | None = None,
    g_idx: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    K: int,  # noqa: N803 - the op's own names
    N: int,  # noqa: N803
    bits: int = 4,
    block_size: int,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Tensor:
    """a @ w.T with w [N, K] in blocks of K, each with a scale and a zero point. Weights are held as
    bytes; `accuracy_level` allows less precision than this has."""
    refuse_set(call, g_idx=g_idx is not None, weight_prepacked=weight_prepacked)
    if bits not in (2, 4, 8):
        raise active().refuse(f"MatMulNBits of {bits} bits", "quantise to 2, 4 or 8 bits")
    blocks = -(-K // block_size) if block_size > 0 else 0
    weight, held = array_in(b, "weight"), block_size * bits // 8
    if min(N, K, blocks) < 1 or weight.size != N * blocks * held:
        raise call.invalid(f"has a weight {b.type} for {N} x {K} in blocks of {block_size}")
    quanta = unpacked(weight.reshape(N, blocks, held), bits)
    zero = _zeros_of_blocks(zero_points, bits, N, blocks)
    real = cast_to(asarray(quanta), f32) - zero
    real = real * cast_to(scales, f32).reshape((N, blocks, 1))
    weights = real.reshape((N, blocks * block_size))[:, :K]
    found = products.matmul(cast_to(a, f32), matrix_transpose(weights))
    found = cast_to(found, a.dtype)
    return found if bias is None else found + bias


def _zeros_of_blocks(zeros: Tensor | None, bits: int, rows: int, blocks: int) -> Tensor:
    if zeros is None:
        return asarray(float(1 << (bits - 1)), f32)
    if zeros.dtype.is_float:
        return cast_to(zeros, f32).reshape((rows, blocks, 1))
    apart = unpacked(array_in(zeros, "zero point").reshape(rows, -1), bits)[:, :blocks]
    return asarray(apart[..., None].astype(np.float32))
