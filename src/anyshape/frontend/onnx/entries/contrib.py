"""Ops of `com.microsoft` that exporters and fusions emit for transformers: activations, norms,
products. What onnxruntime's CPU kernels do not have is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyshape.frontend.builder import compound
from anyshape.frontend.builder import dot as products
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.convert import asarray, cast_to, widened
from anyshape.frontend.builder.functions import rsqrt, sigmoid, tanh
from anyshape.frontend.builder.movement import gather, matrix_transpose
from anyshape.frontend.builder.source import zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.ir.types import i32

MICROSOFT = "com.microsoft"


def refuse_set(call: Call, **attributes: object) -> None:
    """Refuses attributes or inputs that are given, by their names."""
    for name, value in attributes.items():
        if value:
            raise active().refuse(f"{call.op} with {name}", "export the model without it")


def refuse_outputs(call: Call, *names: str) -> None:
    """Refuses outputs that are read: the last ones, by name. An empty name is one that there is."""
    for number, name in enumerate(names):
        if name and call.wants(number):
            raise active().refuse(f"{call.op} with the output {name}", "do not read that output")


# --- activations ----------------------------------------------------------------------------------


@entry("Gelu", domain=MICROSOFT)
def gelu(call: Call, x: Tensor) -> Tensor:
    return compound.gelu(x)


@entry("BiasGelu", domain=MICROSOFT)
def bias_gelu(call: Call, x: Tensor, bias: Tensor) -> Tensor:
    return compound.gelu(x + bias)


@entry("FastGelu", domain=MICROSOFT)
def fast_gelu(call: Call, x: Tensor, bias: Tensor | None = None) -> Tensor:
    return compound.gelu(x if bias is None else x + bias, "tanh")


@entry("QuickGelu", domain=MICROSOFT)
def quick_gelu(call: Call, x: Tensor, *, alpha: float = 1.702) -> Tensor:
    wide = widened(x)
    return cast_to(wide * sigmoid(wide * alpha), x.dtype)


# --- norms ----------------------------------------------------------------------------------------


@entry("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    call: Call,
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    beta: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Any, ...]:
    refuse_outputs(call, "", "mean", "inv_std_var")
    whole = x + skip if bias is None else x + skip + bias
    return compound.layer_norm(whole, gamma, beta, -1, epsilon), None, None, whole


@entry("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(
    call: Call,
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Any, ...]:
    refuse_outputs(call, "", "mean", "inv_std_var")
    whole = x + skip if bias is None else x + skip + bias
    return compound.rms_norm(whole, gamma, -1, epsilon), None, None, whole


@entry("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    call: Call,
    x: Tensor,
    scale: Tensor,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Any, ...]:
    """onnxruntime has it in the domain of ONNX itself. Then 1 / deviation, where it is read."""
    found = compound.rms_norm(x, scale, axis, epsilon)
    if not call.wants(1):
        return (found,)
    wide = widened(x)
    rows = tuple(range(axis % x.ndim, x.ndim))
    return found, rsqrt(red.mean(ew.square(wide), rows, keepdims=True) + epsilon)


@entry("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(
    call: Call,
    ids: Tensor,
    segments: Tensor | None,
    words: Tensor,
    positions: Tensor,
    segment_table: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> tuple[Any, ...]:
    """Tokens, their places and their segments, looked up and normed; then how many are not masked,
    and the sum before the norm."""
    if (segments is None) != (segment_table is None):
        raise call.invalid("has segments without a table, or the reverse")
    places = positions[: ids.shape[1]] if position_ids is None else gather(positions, position_ids)
    whole = gather(words, ids) + places
    if segments is not None and segment_table is not None:
        whole = whole + gather(segment_table, segments)
    if mask is None:
        count = zeros((ids.shape[0],), i32)
    else:
        count = cast_to(red.sum(cast_to(mask == 1, i32), 1), i32)
    return compound.layer_norm(whole, gamma, beta, -1, epsilon), count, whole


# --- products -------------------------------------------------------------------------------------


@entry("FusedMatMul", domain=MICROSOFT)
def fused_matmul(
    call: Call,
    a: Tensor,
    b: Tensor,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803 - the op's own names
    transB: int = 0,  # noqa: N803
    transBatchA: int = 0,  # noqa: N803
    transBatchB: int = 0,  # noqa: N803
) -> Tensor:
    refuse_set(call, transBatchA=transBatchA, transBatchB=transBatchB)
    left = matrix_transpose(a) if transA and a.ndim > 1 else a
    right = matrix_transpose(b) if transB and b.ndim > 1 else b
    found = products.matmul(left, right)
    return found if alpha == 1.0 else found * asarray(alpha, found.dtype)


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "": asarray,
    "Relu": compound.relu,
    "Tanh": tanh,
    "Sigmoid": sigmoid,
}


@entry("FusedGemm", domain=MICROSOFT)
def fused_gemm(
    call: Call,
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803 - the op's own names
    transB: int = 0,  # noqa: N803
    activation: str = "",
) -> Tensor:
    if activation not in _ACTIVATIONS:
        raise active().refuse(f"FusedGemm with activation {activation}", "apply it by its own op")
    found = products.matmul(
        matrix_transpose(a) if transA else a, matrix_transpose(b) if transB else b
    )
    found = found if alpha == 1.0 else found * alpha
    if c is not None:
        found = found + (c if beta == 1.0 else c * beta)
    return _ACTIVATIONS[activation](found)
