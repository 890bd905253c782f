"""Layers: softmax, norms, products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyshape.frontend.builder import compound, pool
from anyshape.frontend.builder import dot as products
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray, cast_to, widened
from anyshape.frontend.builder.einsum import einsum as einsum_of
from anyshape.frontend.builder.functions import rsqrt, sqrt
from anyshape.frontend.builder.movement import matrix_transpose, moveaxis, reshape
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.elementwise import same_dtype
from anyshape.sym import product

# --- along an axis --------------------------------------------------------------------------------


def _hardmax(x: Tensor, axis: int) -> Tensor:
    """1 at the first of the greatest elements, 0 elsewhere."""
    place = normal_axis(axis, x.ndim)
    hit = iota(x.shape, place) == red.argmax(x, place, keepdims=True)
    return cast_to(hit, x.dtype)


_ALONG = {"Softmax": compound.softmax, "LogSoftmax": compound.log_softmax, "Hardmax": _hardmax}


def _of_rows(call: Call, x: Tensor, *, axis: int = 1) -> Tensor:
    """Over all axes from `axis` on, taken as one."""
    place = normal_axis(axis, x.ndim) if x.ndim else 0
    flat = reshape(x, (product(x.shape[:place]), product(x.shape[place:])))
    return reshape(_ALONG[call.op](flat, 1), x.shape)


def _along(call: Call, x: Tensor, *, axis: int = -1) -> Tensor:
    return _ALONG[call.op](x, axis)


for _name in _ALONG:
    entry(_name)(_of_rows)
    entry(_name, since=13)(_along)


# --- norms ----------------------------------------------------------------------------------------


@entry("LayerNormalization", since=17)
def layer_normalization(
    call: Call,
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Any, ...]:
    """Then, where they are read, the mean and 1 / deviation of each row."""
    place = normal_axis(axis, x.ndim)
    rows = tuple(range(place, x.ndim))
    if scale.shape == x.shape[place:] and (bias is None or bias.shape == scale.shape):
        found = compound.layer_norm(x, scale, bias, place, epsilon)
    else:
        found = compound.layer_norm(x, None, None, place, epsilon) * scale
        found = found if bias is None else found + bias
    if not call.wants(1) and not call.wants(2):
        return (found,)
    wide = widened(x)
    mean = red.mean(wide, rows, keepdims=True)
    return found, mean, rsqrt(red.var(wide, rows, keepdims=True) + epsilon)


@entry("RMSNormalization", since=23)
def rms_normalization(
    call: Call,
    x: Tensor,
    scale: Tensor,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:
    place = normal_axis(axis, x.ndim)
    if scale.shape == x.shape[place:]:
        return compound.rms_norm(x, scale, place, epsilon)
    return compound.rms_norm(x, None, place, epsilon) * scale


def _per_channel(x: Tensor, rank: int) -> Tensor:
    return widened(x).reshape((-1, *(1,) * (rank - 2)))


@entry("BatchNormalization", since=7)
def batch_normalization(
    call: Call,
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
) -> tuple[Any, ...]:
    """By what training has found, for each channel; while training, by the batch itself, and what
    training has found then is given too."""
    if not spatial:
        raise active().refuse("batch norm of each place by itself", "export with spatial=1")
    if not training_mode:
        return (_batch_norm(x, scale, bias, mean, variance, epsilon),)
    over = (0, *range(2, x.ndim))
    own = red.mean(widened(x), over), red.var(widened(x), over)
    kept = [
        cast_to(widened(before) * momentum + now * (1 - momentum), before.dtype)
        for before, now in zip((mean, variance), own, strict=True)
    ]
    return (_batch_norm(x, scale, bias, *own, epsilon), *kept)


def _batch_norm(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, epsilon: float
) -> Tensor:
    factor = rsqrt(widened(variance) + epsilon) * widened(scale)
    shift = widened(bias) - widened(mean) * factor
    rank = max(x.ndim, 2)
    found = widened(x) * _per_channel(factor, rank) + _per_channel(shift, rank)
    return cast_to(found, x.dtype)


@entry("InstanceNormalization", since=6)
def instance_normalization(
    call: Call, x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5
) -> Tensor:
    rows = tuple(range(2, x.ndim))
    wide = widened(x)
    factor = rsqrt(red.var(wide, rows, keepdims=True) + epsilon) * _per_channel(scale, x.ndim)
    found = (wide - red.mean(wide, rows, keepdims=True)) * factor + _per_channel(bias, x.ndim)
    return cast_to(found, x.dtype)


@entry("LpNormalization")
def lp_normalization(call: Call, x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """A row of zeros stays one."""
    if p not in (1, 2):
        raise call.invalid(f"has p={p}")
    wide = widened(x)
    if p == 1:
        norm = red.sum(ew.abs(wide), axis, keepdims=True)
    else:
        norm = sqrt(red.sum(ew.square(wide), axis, keepdims=True))
    return cast_to(ew.where(norm == 0, 0.0, wide / norm), x.dtype)


@entry("LRN")
def lrn(
    call: Call,
    x: Tensor,
    *,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    bias: float = 1.0,
) -> Tensor:
    """By the squares of so many channels around each one."""
    if x.ndim < 2 or size < 1:
        raise call.invalid(f"has a size of {size} for {x.type}")
    squares = moveaxis(ew.square(widened(x)), 1, -1)
    before = (size - 1) // 2
    along = pool.alongs(squares, 1, size, 1, 1, before, end=size - 1 - before)
    total = red.sum(pool.windows_along(squares, along, 0), -1)
    scale = ew.power(moveaxis(total, -1, 1) * (alpha / size) + bias, beta)
    return cast_to(widened(x) / scale, x.dtype)


@entry("GlobalLpPool")
def global_lp_pool(call: Call, x: Tensor, *, p: int = 2) -> Tensor:
    return lp_norm(x, p, lambda powers: red.sum(powers, tuple(range(2, x.ndim)), True))


def lp_norm(x: Tensor, p: int, total: Callable[[Tensor], Tensor]) -> Tensor:
    """The p-th root of a sum of p-th powers."""
    sizes = ew.abs(widened(x))
    if p == 1:
        return cast_to(total(sizes), x.dtype)
    if p == 2:
        return cast_to(sqrt(total(ew.square(sizes))), x.dtype)
    return cast_to(ew.power(total(ew.power(sizes, float(p))), 1.0 / p), x.dtype)


@entry("GlobalAveragePool", "GlobalMaxPool")
def global_pool(call: Call, x: Tensor) -> Tensor:
    function = red.max if call.op == "GlobalMaxPool" else red.mean
    return function(x, tuple(range(2, x.ndim)), True)


# --- products -------------------------------------------------------------------------------------


@entry("MatMul")
def matmul(call: Call, x: Tensor, y: Tensor) -> Tensor:
    same_dtype(call, x, y)
    return products.matmul(x, y)


@entry("Gemm", since=7)
def gemm(
    call: Call,
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803 - the op's own names
    transB: int = 0,  # noqa: N803
) -> Tensor:
    """alpha * a @ b + beta * c."""
    left = matrix_transpose(a) if transA else a
    right = matrix_transpose(b) if transB else b
    found = scaled(call, products.matmul(left, right), alpha)
    return found if c is None else found + scaled(call, c, beta)


def scaled(call: Call, x: Tensor, factor: float) -> Tensor:
    if factor == 1.0:
        return x
    if not x.dtype.is_float and factor != math.floor(factor):
        raise active().refuse(f"Gemm of {x.dtype} times {factor}", "use a whole factor")
    return x * asarray(factor if x.dtype.is_float else int(factor), x.dtype)


@entry("Einsum", since=12)
def einsum(call: Call, *operands: Tensor, equation: str) -> Tensor:
    return einsum_of(equation.replace(" ", ""), *operands)
