"""Parts of models in primitives, as people write them: one function for anyshape and for NumPy.

A function gets the module to compute with, `ash` or `numpy`, and its arrays. What NumPy makes of
them in f64 is what a compiled one has to give, at any sizes, for NaN and infinities too: these pass
through each op by itself there, whatever masks hide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import anyshape as ash

Function = Callable[..., Any]
RNG = np.random.default_rng(14)


@dataclass(frozen=True)
class HandWritten:
    """A function, the types of its arrays as text, and the sizes to try it at."""

    function: Function
    types: tuple[str, ...]
    sizes: Sequence[dict[str, int]]
    close: float

    @property
    def name(self) -> str:
        return self.function.__name__


ALL: list[HandWritten] = []

INF = math.inf
LENGTHS = (0, 1, 2, 7, 16, 17, 31, 64, 67)


def sizes_of(names: Sequence[str]) -> list[dict[str, int]]:
    """Each axis at all lengths in turn, the others at a prime, and all of them 0 or 1."""
    plain = dict.fromkeys(names, 5)
    single = [plain | {name: length} for name in names for length in LENGTHS]
    return [*single, *(dict.fromkeys(names, length) for length in (0, 1, 33))]


def tried(*types: str, close: float = 2e-5) -> Function:
    def add(function: Function) -> Function:
        words = {word for t in types for word in t.partition("[")[2].rstrip("]").split(", ")}
        axes = sorted(word for word in words if word.isidentifier())
        ALL.append(HandWritten(function, types, sizes_of(axes), close))
        return function

    return add


def weight(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / max(1, shape[0]) ** 0.5).astype(np.float32)


def softmax(np: Any, x: Any, axis: int = -1) -> Any:
    power = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return power / np.sum(power, axis=axis, keepdims=True)


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def wide(x: Any) -> Any:
    """As f32; NumPy computes in f64 all along."""
    return x if isinstance(x, np.ndarray) else x.astype(ash.f32)


# --- rows -----------------------------------------------------------------------------------------


@tried("f32[b, s, d]")
def softmax_along_the_middle(np: Any, x: Any) -> Any:
    return softmax(np, x, axis=1)


@tried("f32[b, s, 3]")
def softmax_along_the_first(np: Any, x: Any) -> Any:
    return softmax(np, x * 3, axis=0) * 2 - 1


@tried("f32[b, s, d]")
def log_softmax(np: Any, x: Any) -> Any:
    centred = x - np.max(x, axis=-1, keepdims=True)
    return centred - np.log(np.sum(np.exp(centred), axis=-1, keepdims=True))


@tried("f32[s, d]")
def log_softmax_along_columns(np: Any, x: Any) -> Any:
    centred = x - np.max(x, axis=0, keepdims=True)
    return centred - np.log(np.sum(np.exp(centred), axis=0, keepdims=True))


@tried("f32[b, s, 24]", "f32[24]", "f32[24]", close=1e-4)
def layer_norm_unbiased(np: Any, x: Any, scale: Any, offset: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.sum(centred * centred, axis=-1, keepdims=True) / 23
    return centred / np.sqrt(variance + 1e-5) * scale + offset


@tried("f32[b, d]", close=1e-4)
def deviation_of_any_width(np: Any, x: Any) -> Any:
    """Of one element: 0 / 0."""
    centred, count = x - x.mean(-1, keepdims=True), np.ones_like(x).sum(-1, keepdims=True)
    return centred / np.sqrt((centred**2).sum(-1, keepdims=True) / (count - 1) + 1e-3)


@tried("f32[b, d]", close=1e-3)
def variance_of_moments(np: Any, x: Any) -> Any:
    mean, square = x.mean(-1, keepdims=True), (x * x).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(np.maximum(square - mean * mean, 0) + 1e-2)


@tried("f16[b, s, 48]", "f16[48]", close=4e-3)
def rms_norm_f16(np: Any, x: Any, scale: Any) -> Any:
    y = wide(x)
    y = y * (1 / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6))
    return scale * y.astype(x.dtype)


@tried("bf16[s, 17]", "bf16[17]", close=3e-2)
def rms_norm_bf16(np: Any, x: Any, scale: Any) -> Any:
    y = wide(x)
    y = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6)
    return y.astype(x.dtype) * (1 + scale)


@tried("f32[b, 12, h, w]", close=1e-4)
def group_norm(np: Any, x: Any) -> Any:
    b, _, h, w = x.shape
    y = x.reshape(b, 3, 4 * h * w)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    y = y.reshape(b, 12, h, w) * np.arange(1, 13).reshape(12, 1, 1).astype(x.dtype)
    return y * sigmoid(np, y)


@tried("f32[n, 24]", "f32[m, 24]")
def cosines(np: Any, x: Any, y: Any) -> Any:
    x, y = (a / np.maximum(np.sqrt((a * a).sum(-1, keepdims=True)), 1e-6) for a in (x, y))
    return x @ y.mT


@tried("f32[b, s, 9]", "bool[b, s]")
def masked_mean(np: Any, x: Any, seen: Any) -> Any:
    """Of nothing: 0 / 0. NaN that is not seen is a term."""
    share = seen.astype(x.dtype)[:, :, None]
    return (x * share).sum(1) / share.sum(1)


@tried("f32[b, s, 9]", "bool[b, s]")
def chosen_mean(np: Any, x: Any, seen: Any) -> Any:
    """What is not seen is replaced."""
    count = np.maximum(seen.astype(x.dtype).sum(1, keepdims=True), 1)
    return np.where(seen[:, :, None], x, 0).sum(1) / count


@tried("f32[b, s, v]", "bool[b, s, 1]")
def entropy(np: Any, x: Any, seen: Any) -> Any:
    p = np.where(seen, softmax(np, x), 0)
    return -np.where(p > 0, p * np.log(p), 0).sum(-1)


@tried("f32[n, d]")
def one_hot_of_the_greatest(np: Any, x: Any) -> Any:
    top = (x == np.max(x, axis=-1, keepdims=True)).astype(x.dtype)
    return top / top.sum(-1, keepdims=True)


# --- products -------------------------------------------------------------------------------------

W, GATE, UP, DOWN, TABLE = (
    weight(24, 40),
    weight(24, 56),
    weight(24, 56),
    weight(56, 24),
    weight(13, 24),
)
HEADS, BIAS = weight(24, 3, 8), weight(40)


@tried("f32[b, s, 24]")
def flattened_product(np: Any, x: Any) -> Any:
    b, s, width = x.shape
    return (x.reshape(b * s, width) @ W + BIAS).reshape(b, s, 5, 8).sum(2)


@tried("f32[b, s, 24]")
def projections_by_einsum(np: Any, x: Any) -> Any:
    q, k = (np.einsum("bsd,dhe->bhse", x, w) for w in (HEADS, HEADS[:, ::-1]))
    v = np.einsum("bsd,dhe->bhse", x, HEADS * 2)
    p = softmax(np, np.einsum("bhse,bhte->bhst", q, k) / 8**0.5)
    return np.einsum("bhst,bhte,hed->bsd", p, v, HEADS.transpose(1, 2, 0))


@tried("f32[b, s, 24]", close=5e-5)
def gate_first(np: Any, x: Any) -> Any:
    gate = x @ GATE
    return ((gate * sigmoid(np, gate)) * (x @ UP)) @ DOWN


@tried("f32[b, s, 24]", close=5e-5)
def gate_last(np: Any, x: Any) -> Any:
    gate = x @ GATE
    return ((x @ UP) * (gate / (1 + np.exp(-gate)))) @ DOWN


@tried("f32[s, 24]", close=5e-5)
def gate_of_a_joined_product(np: Any, x: Any) -> Any:
    """The second half first, as gated units have it, clamped on both sides."""
    y = x @ GATE
    return np.clip(y[:, :28], -1, 1) * sigmoid(np, np.minimum(y[:, 28:], 2) * 1.7)


@tried("f32[s, 24]", close=5e-5)
def gate_of_every_other_column(np: Any, x: Any) -> Any:
    y = x @ GATE
    return (y[:, 1::2] + 1) * y[:, ::2] * sigmoid(np, 1.702 * y[:, ::2])


@tried("i64[b, s]", close=5e-5)
def tied_weights(np: Any, ids: Any) -> Any:
    x = np.take(TABLE, ids, axis=0)
    x = x + np.tanh(x @ W) @ W.T
    return x @ TABLE.T


@tried("f32[s, 24]", close=2e-4)
def norm_of_a_wide_layer(np: Any, x: Any) -> Any:
    y = np.maximum(x @ GATE, 0) @ DOWN + x
    return (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)


# --- attention ------------------------------------------------------------------------------------

QKV = "f32[b, 2, s, 8]", "f32[b, 2, t, 8]", "f32[b, 2, t, 5]"
SELF = "f32[b, 2, s, 8]", "f32[b, 2, s, 8]", "f32[b, 2, s, 5]"


def scores(q: Any, k: Any) -> Any:
    return q @ k.mT / 8**0.5


def positions(np: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    return np.arange(rows)[:, None], np.arange(columns)[None, :]


@tried(*QKV, "bool[b, 1, s, t]")
def attention_behind_a_mask(np: Any, q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Whole rows may see nothing, and are NaN."""
    return softmax(np, np.where(seen, scores(q, k), -INF)) @ v


@tried(*QKV, "bool[b, 1, s, t]")
def attention_of_zeros(np: Any, q: Any, k: Any, v: Any, seen: Any) -> Any:
    """As before, but rows that see nothing are 0."""
    p = softmax(np, np.where(seen, scores(q, k), -INF))
    return np.where(np.any(seen, axis=-1, keepdims=True), p, 0) @ v


@tried(*QKV, "bool[b, 1, s, t]")
def attention_behind_a_number(np: Any, q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Rows that see nothing are means."""
    return softmax(np, np.where(seen, scores(q, k), -1e9)) @ v


@tried(*QKV, "bool[b, t]")
def attention_to_what_is_there(np: Any, q: Any, k: Any, v: Any, there: Any) -> Any:
    """An added mask, 0 or -inf for each key."""
    bias = np.where(there, 0.0, -INF).astype(q.dtype)[:, None, None, :]
    return softmax(np, scores(q, k) + bias) @ v


@tried(*QKV)
def attention_behind_a_past(np: Any, q: Any, k: Any, v: Any) -> Any:
    s, t = q.shape[2], k.shape[2]
    i, j = positions(np, s, t)
    return softmax(np, np.where(j <= i + (t - s), scores(q, k), -INF)) @ v


@tried(*SELF)
def attention_of_a_triangle(np: Any, q: Any, k: Any, v: Any) -> Any:
    s = q.shape[2]
    seen = np.tril(np.ones((s, s), dtype=np.bool))
    return softmax(np, np.where(seen, scores(q, k), -INF)) @ v


@tried(*SELF)
def attention_in_a_window(np: Any, q: Any, k: Any, v: Any) -> Any:
    i, j = positions(np, q.shape[2], k.shape[2])
    return softmax(np, np.where((j <= i) & (i - j < 5), scores(q, k), -INF)) @ v


@tried(*SELF)
def attention_with_slopes(np: Any, q: Any, k: Any, v: Any) -> Any:
    i, j = positions(np, q.shape[2], k.shape[2])
    slopes = np.asarray([[[0.5]], [[0.25]]]).astype(q.dtype)
    far = slopes * (j - i).astype(q.dtype)
    return softmax(np, np.where(j <= i, scores(q, k) + far, -INF)) @ v


@tried(*QKV)
def attention_capped(np: Any, q: Any, k: Any, v: Any) -> Any:
    return softmax(np, 3 * np.tanh(scores(q, k) / 3)) @ v


@tried(*SELF, "f32[2]")
def attention_with_sinks(np: Any, q: Any, k: Any, v: Any, sinks: Any) -> Any:
    b, h, s, _ = q.shape
    i, j = positions(np, s, s)
    seen = np.where(j <= i, scores(q, k), -INF)
    sink = np.broadcast_to(sinks.reshape(1, 2, 1, 1), (b, h, s, 1))
    return softmax(np, np.concat([seen, sink], axis=-1))[..., :-1] @ v


@tried("f32[b, 4, s, 8]", "f32[b, 2, t, 8]", "f32[b, 2, t, 5]")
def attention_of_groups(np: Any, q: Any, k: Any, v: Any) -> Any:
    k, v = (np.repeat(x, 2, axis=1) for x in (k, v))
    return softmax(np, scores(q, k)) @ v


@tried(*QKV, "bool[b, 1, s, t]")
def attention_normalised_last(np: Any, q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Without a maximum, and what is not seen taken out behind the exponential."""
    power = np.exp(scores(q, k)) * seen.astype(q.dtype)
    return (power @ v) / (power.sum(-1, keepdims=True) + 1e-6)


# --- views ----------------------------------------------------------------------------------------


@tried("f32[b, 3, s, 8]", "f32[s, 8]")
def rotated_by_halves(np: Any, x: Any, angles: Any) -> Any:
    turned = np.concat([-x[..., 4:], x[..., :4]], axis=-1)
    return x * np.cos(angles) + turned * np.sin(angles)


@tried("f32[b, 3, s, 8]", "f32[s, 4]")
def rotated_by_pairs(np: Any, x: Any, angles: Any) -> Any:
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], np.cos(angles), np.sin(angles)
    y = np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return y.reshape(x.shape)


@tried("f32[b, s, 6]")
def mixed_with_the_one_before(np: Any, x: Any) -> Any:
    before = np.concat([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1)
    return x * 0.25 + before * 0.75


@tried("f32[b, s, 6]")
def means_so_far(np: Any, x: Any) -> Any:
    count = np.arange(1, x.shape[1] + 1).astype(x.dtype)
    return np.cumsum(x, axis=1) / count[:, None]


@tried("f32[b, s]", "bool[s]")
def constants_under_where(np: Any, x: Any, there: Any) -> Any:
    low = np.where(there, 0.0, -INF).astype(x.dtype)
    return np.where(x > 0, x + low, np.where(there, 2.0, -1.0).astype(x.dtype) * x)
