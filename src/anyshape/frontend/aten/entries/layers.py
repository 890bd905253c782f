"""Layers that stay whole: attention, norms, activations, softmax, embedding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

from anyshape.frontend.aten.calls import Call, NoEntryError, entry, in_wide
from anyshape.frontend.aten.value_checks import check_indices
from anyshape.frontend.builder import compound
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.functions import exp, log1p, rsqrt
from anyshape.frontend.builder.movement import gather
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active


@entry("aten.scaled_dot_product_attention.default")
def attention(
    call: Call,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Dropout is 0 in a program exported for evaluation. A single key is never in the future."""
    shape = (*q.shape[:-1], v.shape[-1])
    causal = is_causal and k.shape[-2] != 1
    four = (_with_heads(x) for x in (q, k, v))
    found = compound.attention(*four, mask=mask, causal=causal, scale=scale)
    return found if q.ndim == 4 else found.reshape(shape)


@entry("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(
    call: Call,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> list[Tensor | None]:
    """The second result is for gradients."""
    return [attention(call, q, k, v, attn_mask, dropout, is_causal, scale=scale), None]


def _with_heads(x: Tensor) -> Tensor:
    """[batch, heads, seq, width], whatever comes before the last two axes."""
    if x.ndim == 4:
        return x
    before = x.shape[:-2]
    return x.reshape((1,) * (2 - len(before)) + tuple(before) + tuple(x.shape[-2:]))


@entry("aten.layer_norm.default")
def layer_norm(
    call: Call,
    x: Tensor,
    normalized_shape: Sequence[Any],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    if weight is None and bias is not None:
        plain = compound.layer_norm(in_wide(x), None, None, -len(normalized_shape), eps)
        return cast_to(plain + in_wide(bias), x.dtype)
    return compound.layer_norm(x, weight, bias, -len(normalized_shape), eps)


@entry("aten.native_layer_norm.default")
def native_layer_norm(
    call: Call,
    x: Tensor,
    normalized_shape: Sequence[Any],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> list[Tensor]:
    """With the mean and the inverse of the deviation."""
    axes = tuple(range(-len(normalized_shape), 0))
    wide = in_wide(x)
    scale = rsqrt(red.var(wide, axes, keepdims=True) + eps)
    moments = (red.mean(wide, axes, keepdims=True), scale)
    found = layer_norm(call, x, normalized_shape, weight, bias, eps)
    return [found, *(cast_to(moment, x.dtype) for moment in moments)]


@entry("aten._native_batch_norm_legit_no_training.default")
def batch_norm(
    call: Call,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    eps: float,
) -> list[Tensor | None]:
    """By what training has found, for each channel. The other results are for gradients.

    16-bit floats are computed in f32 and rounded once, as torch does.
    """
    middle, scale = in_wide(mean), rsqrt(in_wide(variance) + eps)
    scale = scale if weight is None else scale * in_wide(weight)
    shift = -middle * scale if bias is None else in_wide(bias) - middle * scale
    channels = (-1, *(1,) * (x.ndim - 2))
    found = in_wide(x) * scale.reshape(channels) + shift.reshape(channels)
    return [cast_to(found, call.dtype), None, None]


@entry("aten.batch_norm.default")
def whole_batch_norm(
    call: Call,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor | None:
    if training or mean is None or variance is None:
        training_batch_norm(call)
    return batch_norm(call, x, weight, bias, mean, variance, momentum, eps)[0]


@entry("aten._native_batch_norm_legit_functional.default")
def training_batch_norm(call: Call, *_: Any) -> NoReturn:
    """What torch makes of a batch norm that updates its averages."""
    raise active().refuse("batch norm in training mode", "call model.eval() before compiling")


@entry("aten.rms_norm.default")
def rms_norm(
    call: Call,
    x: Tensor,
    normalized_shape: Sequence[Any],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    small = {"f64": 2.220446049250313e-16, "f32": 1.1920928955078125e-07}
    tiny = small.get(str(x.dtype), 1.1920928955078125e-07)
    return compound.rms_norm(x, weight, -len(normalized_shape), tiny if eps is None else eps)


@entry("aten.gelu.default")
def gelu(call: Call, x: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    return compound.gelu(x, approximate)


@entry("aten.softplus.default")
def softplus(call: Call, x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """A line where the exponential would be all that counts."""
    wide = in_wide(x)
    scaled = wide * beta
    return call.operand(ew.where(scaled > threshold, wide, log1p(exp(scaled)) / beta))


@entry("aten.silu.default")
def silu(call: Call, x: Tensor) -> Tensor:
    return compound.silu(x)


@entry("aten.softmax.int", "aten._softmax.default")
def softmax(call: Call, x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    return compound.softmax(call.operand(x), dim)


@entry("aten._safe_softmax.default")
def safe_softmax(call: Call, x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    """Zeros where everything along the axis is masked."""
    operand = call.operand(x)
    masked = red.all(operand == -math.inf, dim, keepdims=True)
    return ew.where(masked, asarray(0, call.dtype), compound.softmax(operand, dim))


@entry("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(call: Call, x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    return compound.log_softmax(call.operand(x), dim)


@entry("aten.embedding.default")
def embedding(
    call: Call,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    check_indices(call, indices, weight.shape[0], 0)
    return gather(weight, indices, 0)


@entry("aten.native_dropout.default")
def dropout(call: Call, x: Tensor, p: float, train: bool | None) -> list[Tensor | None]:
    """In evaluation nothing is dropped."""
    if train:
        raise NoEntryError
    return [cast_to(x, call.dtype), None]
