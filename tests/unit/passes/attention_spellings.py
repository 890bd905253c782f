"""Attention in primitives, in the ways in which people write it, and what NumPy makes of each.

The expectations are written out once for all: scores by `np.einsum`, a softmax, and a mixture. They
share nothing with the compiler.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import anyshape as ash

Function = Callable[..., Any]


def softmax(scores: Any) -> Any:
    with np.errstate(all="ignore"):
        if not scores.size:
            return scores
        power = np.exp(scores - scores.max(-1, keepdims=True))
        return power / power.sum(-1, keepdims=True)


def mixed(q: Any, k: Any, v: Any, change: Function = lambda s: s, scale: float = 1.0) -> Any:
    """In f64, with any leading axes."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    with np.errstate(all="ignore"):
        return softmax(change(q @ np.swapaxes(k, -1, -2) * scale)) @ v


@dataclass(frozen=True)
class Spelling:
    """A function, its expectation, and the number of masks that attention is left with."""

    function: Any
    expected: Function
    masks: int = 0

    @property
    def name(self) -> str:
        return str(self.function.__name__)


SPELLINGS: list[Spelling] = []


def spelled(expected: Function, masks: int = 0) -> Function:
    def add(function: Any) -> Any:
        traced = ash.jit(function)
        SPELLINGS.append(Spelling(traced, expected, masks))
        return traced

    return add


def by_hand(x: Any) -> Any:
    power = ash.exp(x - ash.max(x, axis=-1, keepdims=True))
    return power / ash.sum(power, axis=-1, keepdims=True)


# --- ranks ----------------------------------------------------------------------------------------


@spelled(lambda q, k, v: mixed(q, k, v, scale=1 / 8))
def readme(q: ash.f32["s", 64], k: ash.f32["t", 64], v: ash.f32["t", 64]):
    return ash.softmax(q @ k.mT / 8) @ v


@spelled(mixed)
def rank_2_by_hand(q: ash.f32["s", 3], k: ash.f32["t", 3], v: ash.f32["t", 5]):
    return by_hand(q @ k.mT) @ v


@spelled(lambda q, k, v: mixed(q, k, v, scale=0.3))
def rank_3(q: ash.f32["b", "s", 3], k: ash.f32["b", "t", 3], v: ash.f32["b", "t", 5]):
    return ash.softmax((q @ k.mT) * 0.3) @ v


@spelled(lambda q, k, v: mixed(q, k, v, scale=0.3))
def rank_4(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    return by_hand(0.3 * (q @ ash.transpose(k, (0, 1, 3, 2)))) @ v


@spelled(lambda q, k, v: mixed(q, k, v, scale=0.3))
def rank_5(
    q: ash.f32["b", 3, 2, "s", 3], k: ash.f32["b", 3, 2, "t", 3], v: ash.f32["b", 3, 2, "t", 5]
):
    return ash.softmax(q @ k.mT * 0.3) @ v


@spelled(mixed)
def heads_of_any_number(
    q: ash.f32["b", "h", "s", 3], k: ash.f32["b", "h", "t", 3], v: ash.f32["b", "h", "t", 5]
):
    return ash.softmax(q @ k.mT) @ v


# --- orders of axes -------------------------------------------------------------------------------


def _heads_behind(x: Any) -> Any:
    return np.swapaxes(x, 1, 2)


@spelled(lambda q, k, v: mixed(q, k, v, scale=0.5))
def einsum(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    weights = ash.softmax(ash.einsum("bhqd,bhkd->bhqk", q, k) * 0.5)
    return ash.einsum("bhqk,bhkd->bhqd", weights, v)


@spelled(
    lambda q, k, v: _heads_behind(mixed(*map(_heads_behind, (q, k, v)), scale=0.5)),
)
def einsum_heads_behind(
    q: ash.f32["b", "s", 2, 3], k: ash.f32["b", "t", 2, 3], v: ash.f32["b", "t", 2, 5]
):
    weights = ash.softmax(ash.einsum("bqhd,bkhd->bhqk", q, k) * 0.5)
    return ash.einsum("bhqk,bkhd->bqhd", weights, v)


@spelled(mixed)
def keys_first(q: ash.f32["b", "s", 3], k: ash.f32["b", "t", 3], v: ash.f32["b", "t", 5]):
    """The product is the other way round, and so is the mixture."""
    scores = ash.transpose(k @ q.mT, (0, 2, 1))
    return ash.einsum("bko,bqk->bqo", v, ash.softmax(scores))


@spelled(lambda q, k, v: mixed(q.reshape(len(k), q.shape[2], 3), k, v).reshape(*q.shape[:3], 5))
def flattened(q: ash.f32["b", 2, "s", 3], k: ash.f32["2 * b", "t", 3], v: ash.f32["2 * b", "t", 5]):
    batch, _, seq, _ = q.shape
    scores = (q.reshape(batch * 2, seq, 3) @ k.mT).reshape(batch, 2, seq, k.shape[1])
    weights = ash.softmax(scores).reshape(batch * 2, seq, k.shape[1])
    return (weights @ v).reshape(batch, 2, seq, 5)


def _grouped(q: Any, k: Any, v: Any) -> Any:
    return mixed(q, k[:, :, None], v[:, :, None])


@spelled(_grouped)
def heads_share_keys(
    q: ash.f32["b", 2, 3, "s", 4], k: ash.f32["b", 2, "t", 4], v: ash.f32["b", 2, "t", 5]
):
    weights = ash.softmax(ash.einsum("bgnqd,bgkd->bgnqk", q, k))
    return ash.einsum("bgnqk,bgkd->bgnqd", weights, v)


@spelled(lambda q, k, v: mixed(q, k[:, None], v[:, None]))
def one_kv_head(q: ash.f32["b", 3, "s", 4], k: ash.f32["b", "t", 4], v: ash.f32["b", "t", 5]):
    weights = ash.softmax(ash.einsum("bhqd,bkd->bhqk", q, k))
    return ash.einsum("bhqk,bkd->bhqd", weights, v)


# --- scales ---------------------------------------------------------------------------------------


@spelled(lambda q, k, v: mixed(q, k, v, scale=1 / 4))
def scale_of_queries(q: ash.f32["s", 16], k: ash.f32["t", 16], v: ash.f32["t", 16]):
    return ash.softmax((q / 4) @ k.mT) @ v


@spelled(lambda q, k, v: mixed(q, k, v, scale=1 / 4))
def scale_of_both_sides(q: ash.f32["s", 16], k: ash.f32["t", 16], v: ash.f32["t", 16]):
    return ash.softmax((q * 0.5) @ (k / 2).mT) @ v


@spelled(lambda q, k, v: mixed(q, k, v, scale=q.shape[-1] ** -0.5))
def scale_by_root_of_width(q: ash.f32["s", "w"], k: ash.f32["t", "w"], v: ash.f32["t", 5]):
    width = ash.asarray(q.shape[1]).astype(ash.f32)
    return ash.softmax(q @ k.mT / ash.sqrt(width)) @ v


@spelled(lambda q, k, v, c: mixed(q, k, v, scale=float(c)))
def scale_that_is_an_input(
    q: ash.f32["s", 3], k: ash.f32["t", 3], v: ash.f32["t", 5], c: ash.f32[()]
):
    return ash.softmax(q @ k.mT * c) @ v


# --- masks ----------------------------------------------------------------------------------------

QKV = (ash.f32["b", 2, "s", 3], ash.f32["b", 2, "t", 3], ash.f32["b", 2, "t", 5])
Q, K, V = QKV


def _where(mask: Any, fill: float) -> Function:
    return lambda scores: np.where(mask, scores, fill)


@spelled(lambda q, k, v, m: mixed(q, k, v, lambda s: s + m), masks=1)
def added(q: Q, k: K, v: V, mask: ash.f32["s", "t"]):
    return ash.softmax(q @ k.mT + mask) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, lambda s: s - m, scale=0.5), masks=1)
def subtracted(q: Q, k: K, v: V, mask: ash.f32["b", 1, 1, "t"]):
    return by_hand(q @ k.mT * 0.5 - mask) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, _where(m, -np.inf)), masks=1)
def where_infinite(q: Q, k: K, v: V, mask: ash.bool["s", "t"]):
    return ash.softmax(ash.where(mask, q @ k.mT, -np.inf)) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, _where(~m, -1e9)), masks=1)
def filled_finite(q: Q, k: K, v: V, mask: ash.bool["b", 1, "s", "t"]):
    return ash.softmax(ash.where(mask, -1e9, q @ k.mT)) @ v


LOWEST = float(np.finfo(np.float32).min)


@spelled(lambda q, k, v, m, p: mixed(q, k, v, lambda s: np.where(m, s, LOWEST) + p), masks=2)
def filled_then_added(q: Q, k: K, v: V, mask: ash.bool["s", "t"], bias: ash.f32[2, 1, "t"]):
    return ash.softmax(ash.where(mask, q @ k.mT, LOWEST) + bias) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, _where(m[:, None, None], -np.inf)), masks=1)
def rank_5_masked(
    q: ash.f32["b", 3, 2, "s", 3],
    k: ash.f32["b", 3, 2, "t", 3],
    v: ash.f32["b", 3, 2, "t", 5],
    mask: ash.bool["b", "s", "t"],
):
    batch, seq, keys = mask.shape
    spread = mask.reshape(batch, 1, 1, seq, keys)
    return ash.softmax(ash.where(spread, q @ k.mT, -np.inf)) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, lambda s: s + m), masks=1)
def rank_5_mixed_bias(
    q: ash.f32["b", 3, 2, "s", 3],
    k: ash.f32["b", 3, 2, "t", 3],
    v: ash.f32["b", 3, 2, "t", 5],
    bias: ash.f32[3, 1, "s", "t"],
):
    """The bias has one of the two axes that become one."""
    return ash.softmax(q @ k.mT + bias) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, _where(m, -np.inf)), masks=1)
def rank_3_masked(
    q: ash.f32["b", "s", 3],
    k: ash.f32["b", "t", 3],
    v: ash.f32["b", "t", 5],
    mask: ash.bool["b", "s", "t"],
):
    return ash.softmax(ash.where(mask, q @ k.mT, -np.inf)) @ v


# --- caps -----------------------------------------------------------------------------------------


@spelled(lambda q, k, v: mixed(q, k, v, lambda s: 2 * np.tanh(s / 2), scale=0.7))
def capped(q: Q, k: K, v: V):
    return ash.softmax(ash.tanh(q @ k.mT * 0.7 / 2) * 2) @ v


@spelled(lambda q, k, v, m: mixed(q, k, v, lambda s: 3 * np.tanh(s) + m), masks=1)
def capped_then_masked(q: Q, k: K, v: V, mask: ash.f32["s", "t"]):
    return by_hand(ash.tanh(q @ k.mT) * 3 + mask) @ v


# --- sinks ----------------------------------------------------------------------------------------


def drained(q: Any, k: Any, v: Any, sink: Any, change: Function = lambda s: s) -> Any:
    """A softmax with one more score for each query, which no value belongs to."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    with np.errstate(all="ignore"):
        scores = change(q @ np.swapaxes(k, -1, -2))
        extra = np.broadcast_to(np.asarray(sink, np.float64), (*scores.shape[:-1], 1))
        return softmax(np.concatenate([scores, extra], -1))[..., :-1] @ v


def _beside(scores: Any, sink: Any) -> Any:
    return ash.broadcast_to(sink, (*scores.shape[:-1], 1))


@spelled(drained, masks=1)
def sink_last(q: Q, k: K, v: V, sink: ash.f32[2, 1, 1]):
    scores = q @ k.mT
    return ash.softmax(ash.concat([scores, _beside(scores, sink)], axis=-1))[..., :-1] @ v


@spelled(drained, masks=1)
def sink_first(q: Q, k: K, v: V, sink: ash.f32[2, 1, 1]):
    scores = q @ k.mT
    return by_hand(ash.concat([_beside(scores, sink), scores], axis=-1))[..., 1:] @ v


@spelled(drained, masks=1)
def sink_of_fewer_bits(q: Q, k: K, v: V, sink: ash.bf16[2, 1, 1]):
    """Narrower than the queries: attention reads it as it is widened."""
    scores = q @ k.mT
    sinks = _beside(scores, sink.astype(ash.f32))
    return ash.softmax(ash.concat([scores, sinks], axis=-1))[..., :-1] @ v


@spelled(lambda q, k, v, m, sink: drained(q, k, v, sink, lambda s: s * 0.5 + m), masks=2)
def sink_as_gpt_oss(q: Q, k: K, v: V, mask: ash.f32["b", 1, "s", "t"], sink: ash.f32[2, 1, 1]):
    """The maximum is subtracted twice."""
    scores = q @ k.mT * 0.5 + mask
    scores = ash.concat([scores, _beside(scores, sink)], axis=-1)
    scores = scores - ash.max(scores, axis=-1, keepdims=True)
    return ash.softmax(scores)[..., :-1] @ v


@spelled(lambda q, k, v, m, sink: drained(q, k, v, sink, _where(m, -np.inf)), masks=2)
def sink_of_each_query(q: Q, k: K, v: V, mask: ash.bool["s", "t"], sink: ash.f32["b", 2, "s", 1]):
    """A query that sees no key gets zeros."""
    scores = ash.where(mask, q @ k.mT, -np.inf)
    return ash.softmax(ash.concat([scores, sink], axis=-1))[..., :-1] @ v


@spelled(drained, masks=1)
def sink_without_heads(
    q: ash.f32["b", "s", 3], k: ash.f32["b", "t", 3], v: ash.f32["b", "t", 5], sink: ash.f32[1, 1]
):
    scores = q @ k.mT
    return ash.softmax(ash.concat([scores, _beside(scores, sink)], axis=-1))[..., :-1] @ v


@spelled(lambda q, k, v, sink: drained(q, k[:, :, None], v[:, :, None], sink), masks=1)
def sink_of_shared_keys(
    q: ash.f32["b", 2, 3, "s", 4],
    k: ash.f32["b", 2, "t", 4],
    v: ash.f32["b", 2, "t", 5],
    sink: ash.f32[2, 3, 1, 1],
):
    scores = ash.einsum("bgnqd,bgkd->bgnqk", q, k)
    weights = ash.softmax(ash.concat([scores, _beside(scores, sink)], axis=-1))[..., :-1]
    return ash.einsum("bgnqk,bgkd->bgnqd", weights, v)


def _streamed(scores: Any) -> Any:
    row, column = np.arange(scores.shape[-2])[:, None], np.arange(scores.shape[-1])
    seen = (column <= row) & ((column < 2) | (column > row - 3))
    return np.where(seen, scores, -np.inf)


@spelled(lambda q, k, v: mixed(q, k, v, _streamed), masks=1)
def first_keys_beside_a_window(q: Q, k: K, v: V):
    row, column = ash.arange(q.shape[-2])[:, None], ash.arange(k.shape[-2])
    seen = (column <= row) & ((column < 2) | (column > row - 3))
    return ash.softmax(ash.where(seen, q @ k.mT, -np.inf)) @ v
