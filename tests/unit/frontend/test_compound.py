"""Compounds against torch, whose definitions they follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.unit.frontend.tracing import bools, check, floats

import anyshape as ash


def torched(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: function(*map(torch.from_numpy, arrays)).numpy()


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1)], ids=str)
def test_activations_and_softmax(shape: tuple[int, ...]) -> None:
    x = floats(*shape)
    check(ash.relu, torched(F.relu), x)
    check(ash.silu, torched(F.silu), x)
    check(ash.gelu, torched(F.gelu), x)
    tanh = torched(lambda x: F.gelu(x, approximate="tanh"))
    check(lambda x: ash.gelu(x, approximate="tanh"), tanh, x)
    check(ash.softmax, torched(lambda x: F.softmax(x, -1)), x)
    check(lambda x: ash.softmax(x, axis=0), torched(lambda x: F.softmax(x, 0)), x)
    check(lambda x: ash.log_softmax(x, axis=-1), torched(lambda x: F.log_softmax(x, -1)), x)


def test_layer_norm() -> None:
    x, w, b = floats(3, 4, 8), floats(8, seed=1), floats(8, seed=2)
    check(ash.layer_norm, torched(lambda x, w, b: F.layer_norm(x, (8,), w, b)), x, w, b)
    check(ash.layer_norm, torched(lambda x: F.layer_norm(x, (8,))), x)
    both = torched(lambda x: F.layer_norm(x, (4, 8), eps=1e-3))
    check(lambda x: ash.layer_norm(x, axis=-2, eps=1e-3), both, x)


def test_rms_norm() -> None:
    x, w = floats(3, 8), floats(8, seed=1)
    check(ash.rms_norm, torched(lambda x, w: F.rms_norm(x, (8,), w, eps=1e-5)), x, w)


def test_dense() -> None:
    x, w, b = floats(2, 3, 4), floats(4, 5, seed=1), floats(5, seed=2)
    check(ash.dense, lambda x, w, b: x @ w + b, x, w, b)
    gelu = torched(lambda x, w: F.gelu(x @ w))
    check(lambda x, w: ash.dense(x, w, activation="gelu"), gelu, x, w)


def heads(count: int, length: int, seed: int) -> Any:
    return floats(2, count, length, 8, seed=seed)


def test_attention_with_masks() -> None:
    q, k, v = heads(4, 3, 0), heads(4, 5, 1), heads(4, 5, 2)
    sdpa = F.scaled_dot_product_attention
    check(ash.attention, torched(sdpa), q, k, v)
    mask = bools(3, 5) | np.eye(3, 5, dtype=bool)
    theirs = torched(lambda q, k, v, m: sdpa(q, k, v, attn_mask=m))
    check(ash.attention, theirs, q, k, v, mask)
    check(ash.attention, theirs, q, k, v, floats(2, 1, 3, 5, seed=3))


def test_causal_attention_with_scale_and_grouped_heads() -> None:
    q, k, v = heads(4, 5, 0), heads(2, 5, 1), heads(2, 5, 2)
    options = {"is_causal": True, "scale": 0.3, "enable_gqa": True}
    theirs = torched(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options))
    check(lambda q, k, v: ash.attention(q, k, v, causal=True, scale=0.3), theirs, q, k, v)


def test_causal_attention_with_a_cache_aligns_the_last() -> None:
    q, k, v = heads(2, 2, 0), heads(2, 5, 1), heads(2, 5, 2)
    mask = torch.ones(2, 5, dtype=torch.bool).tril(3)
    theirs = torched(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    check(lambda q, k, v: ash.attention(q, k, v, causal="bottom_right"), theirs, q, k, v)
