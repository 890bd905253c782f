"""Layers as one call: softmax, activations, norms, dense, attention.

Each is one compound op, so that it can become one kernel; its decomposition is its definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_float, asarray, cast_to, floating
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Activation = Literal["none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"]
Causal = Literal["none", "top_left", "bottom_right"]


def relu(x: ArrayLike) -> Tensor:
    return active().emit("relu", asarray(x))


def gelu(x: ArrayLike, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """Exact with erf, or approximated with tanh."""
    return active().emit("gelu", as_float(x), approximate=approximate)


def silu(x: ArrayLike) -> Tensor:
    """x * sigmoid(x)."""
    return active().emit("silu", as_float(x))


def softmax(x: ArrayLike, axis: int = -1) -> Tensor:
    operand = as_float(x)
    return active().emit("softmax", operand, axis=normal_axis(axis, operand.ndim))


def log_softmax(x: ArrayLike, axis: int = -1) -> Tensor:
    operand = as_float(x)
    return active().emit("log_softmax", operand, axis=normal_axis(axis, operand.ndim))


def layer_norm(
    x: ArrayLike,
    scale: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    axis: int = -1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the axes from `axis` to the last, then scaled and shifted."""
    if bias is not None and scale is None:
        raise active().refuse(
            "layer_norm with a bias but no scale", "pass scale=ash.ones(...), or add the bias after"
        )
    return _norm("layer_norm", [x, scale, bias], axis, eps)


def rms_norm(
    x: ArrayLike, scale: ArrayLike | None = None, axis: int = -1, eps: float = 1e-5
) -> Tensor:
    """Mean square 1 over the axes from `axis` to the last, then scaled."""
    return _norm("rms_norm", [x, scale], axis, eps)


def _norm(op: str, operands: list[ArrayLike | None], axis: int, eps: float) -> Tensor:
    tensors = floating(*(operand for operand in operands if operand is not None))
    return active().emit(op, *tensors, axis=normal_axis(axis, tensors[0].ndim), eps=eps)


def dense(
    x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None, activation: Activation = "none"
) -> Tensor:
    """activation(x @ weight + bias), with weight [in, out]."""
    tensors = floating(x, weight) if bias is None else floating(x, weight, bias)
    return active().emit("dense", *tensors, activation=activation)


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    mask: ArrayLike | None = None,
    causal: bool | Causal = False,
    scale: float | None = None,
    sink: ArrayLike | None = None,
) -> Tensor:
    """softmax(q @ k.mT * scale + mask) @ v with q: [batch, heads, seq, width], or without heads, or
    without both.

    k and v may have fewer heads, which are then shared by groups of query heads. A bool mask is
    true where a query may attend; any other is added. `causal=True` aligns the first query with
    the first key; "bottom_right" aligns the last ones, as in decoding with a cache. A `sink`, which
    broadcasts to [batch, heads, seq, 1], is one more score of each query, without a key or a value.
    """
    tensors = floating(q, k, v)
    if mask is not None:
        given = asarray(mask)
        tensors.append(given if given.dtype == bool_ else cast_to(given, tensors[0].dtype))
    if isinstance(causal, bool):
        causal = "top_left" if causal else "none"
    if sink is not None:
        tensors.append(cast_to(asarray(sink), tensors[0].dtype))
    attrs = {"causal": causal, "scale": scale, "sink": sink is not None}
    return active().emit("attention", *tensors, **attrs)
