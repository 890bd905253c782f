"""Attention in the ways in which models write it."""

from typing import Any

import numpy as np

import anyshape as ash
from anyshape.frontend.builder.tracer import active


@ash.jit
def plain(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    return ash.attention(q, k, v)


@ash.jit
def causal(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    return ash.attention(q, k, v, causal=True)


@ash.jit
def cache(q: ash.f32["b", 4, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    return ash.attention(q, k, v, causal="bottom_right")


@ash.jit
def bool_mask(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.bool["s", "t"],
):
    return ash.attention(q, k, v, mask, causal=True)


@ash.jit
def key_bias(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.f32["b", 1, 1, "t"],
):
    return ash.attention(q, k, v, mask)


@ash.jit
def bias(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.f32[2, "s", "t"],
):
    return ash.attention(q, k, v, mask, scale=0.3)


@ash.jit
def symbolic(
    q: ash.f32["b", "h", "s", "w"], k: ash.f32["b", "h", "t", "w"], v: ash.f32["b", "h", "t", "o"]
):
    return ash.attention(q, k, v)


@ash.jit
def doubles(q: ash.f64["b", 2, "s", 3], k: ash.f64["b", 2, "t", 3], v: ash.f64["b", 2, "t", 5]):
    return ash.attention(q, k, v)


@ash.jit
def halves(q: ash.f16["b", 2, "s", 3], k: ash.f16["b", 2, "t", 3], v: ash.f16["b", 2, "t", 5]):
    return ash.attention(q, k, v)


@ash.jit
def views(q: ash.f32["b", "s", 2, 3], k: ash.f32["b", "t", 2, 3], v: ash.f32["b", "t", 2, 5]):
    """What a transformer does: heads behind the sequence, in and out."""
    q, k, v = (ash.transpose(x, (0, 2, 1, 3)) for x in (q, k, v))
    return ash.relu(ash.transpose(ash.attention(q, k, v), (0, 2, 1, 3)))


@ash.jit
def computed(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, 5, "t"]):
    """Operands that are no views, and values whose columns are apart."""
    return ash.attention(q * 2, k + 1, ash.transpose(v, (0, 1, 3, 2)))


def emitted(*operands: Any, **attrs: Any) -> Any:
    """Attention with attributes that models do not give; passes find them."""
    return active().emit("attention", *operands, **attrs)


@ash.jit
def capped(q: ash.f32["b", 2, "s", 3], k: ash.f32["b", 2, "t", 3], v: ash.f32["b", 2, "t", 5]):
    return emitted(q, k, v, cap=1.5, scale=0.7)


@ash.jit
def unseen(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.bool["s", "t"],
):
    return emitted(
        q, k, v, mask & (ash.arange(q.shape[2]) > 0).reshape(q.shape[2], 1), unseen="nan"
    )


@ash.jit
def two_masks(
    q: ash.f32["b", 2, "s", 3],
    k: ash.f32["b", 2, "t", 3],
    v: ash.f32["b", 2, "t", 5],
    mask: ash.bool["s", "t"],
    bias: ash.f32[2, "s", "t"],
):
    return emitted(q, k, v, mask, bias, hidden=-1e9, unseen="nan")


@ash.jit
def window(q: ash.f32["b", "s", 3], k: ash.f32["b", "t", 3], v: ash.f32["b", "t", 5]):
    return emitted(q, k, v, low=-3, high=2)


@ash.jit
def window_of_the_past(q: ash.f32["s", 3], k: ash.f32["t", 3], v: ash.f32["t", 5]):
    keys, queries = k.shape[0], q.shape[0]
    return emitted(q, k, v, causal="bottom_right", low=keys - queries - 60, unseen="nan")


FUNCTIONS = [
    plain, causal, cache, bool_mask, key_bias, bias, symbolic, doubles, halves, views, computed,
    capped, unseen, two_masks, window, window_of_the_past,
]  # fmt: skip

Binding = dict[str, int]


def binding(b: int, s: int, t: int) -> Binding:
    return {"b": b, "s": s, "t": t, "h": 2, "w": 3, "o": 5}


def operands(function: Any, sizes: Binding) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays: list[Any] = []
    for type_ in function.graph.body.params:
        shape = [dim.evaluate({s: sizes[s.name] for s in dim.symbols}) for dim in type_.shape]
        drawn = rng.normal(size=shape)
        is_bool = type_.dtype.kind == "bool"
        arrays.append(drawn > -0.5 if is_bool else drawn.astype(type_.dtype.numpy))
    return arrays
