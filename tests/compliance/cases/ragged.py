"""Attention within segments against torch's attention of each sequence alone, in f64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch
from tests.compliance.inputs import values
from tests.compliance.tolerance import accumulated
from torch.nn import functional

from anyshape.ir import DType

CASES = Collection()

TOLERANCE = accumulated(64, ulps=16)


def _segments(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Offsets at random, so that some segments are empty."""
    arrays = [values(rng, *pair) for pair in zip(shapes[:3], dtypes[:3], strict=True)]
    tokens, places = shapes[0][-2], shapes[3][0]
    ends = np.array([0, *np.sort(rng.integers(0, tokens + 1, places - 2)), tokens])
    ids = np.searchsorted(ends[1:], np.arange(tokens), side="right")
    return [*arrays, ends.astype(dtypes[3].numpy), ids.astype(dtypes[4].numpy)]


def _alone(scale: float | None) -> Callable[..., Any]:
    def expect(q: Any, k: Any, v: Any, ends: Any, _ids: Any) -> Any:
        found = np.zeros((*q.shape[:-1], v.shape[-1]))
        for first, end in pairwise(ends.tolist()):
            own = (..., slice(first, end), slice(None))
            if end > first and q.size:
                found[own] = functional.scaled_dot_product_attention(
                    as_torch(q[own]), as_torch(k[own]), as_torch(v[own]),
                    scale=scale, enable_gqa=q.ndim == 4 and q.shape[1] != k.shape[1],
                ).numpy()  # fmt: skip
        return found

    return expect


def _capped(cap: float) -> Callable[..., Any]:
    def expect(q: Any, k: Any, v: Any, ends: Any, _ids: Any) -> Any:
        found = np.zeros((*q.shape[:-1], v.shape[-1]))
        for first, end in pairwise(ends.tolist()):
            own = (..., slice(first, end), slice(None))
            scores = cap * np.tanh(q[own] @ np.swapaxes(k[own], -1, -2) / np.sqrt(8) / cap)
            weights = np.exp(scores)
            found[own] = weights @ v[own] / weights.sum(-1, keepdims=True)
        return found

    return expect


SIZES = ({"n": 40, "s": 5}, {"n": 300, "s": 7}, {"n": 1, "s": 2}, {"n": 0, "s": 0})

CASES.add(
    "ragged_attention", "a head for each batch",
    ("f32[3, n, 8]", "f32[3, n, 8]", "f32[3, n, 5]", "i64[s + 2]", "i64[n]"),
    emit("ragged_attention"), ("f32[3, n, 5]",), _alone(None),
    fill=_segments, sizes=SIZES, tolerance=TOLERANCE,
)  # fmt: skip
CASES.add(
    "ragged_attention", "shared heads, i32 offsets",
    ("f16[1, 4, n, 16]", "f16[1, 2, n, 16]", "f16[1, 2, n, 16]", "i32[s + 2]", "i64[n]"),
    emit("ragged_attention", scale=0.3), ("f16[1, 4, n, 16]",), _alone(0.3),
    fill=_segments, sizes=SIZES, tolerance=TOLERANCE,
)  # fmt: skip
CASES.add(
    "ragged_attention", "capped, one head",
    ("f64[n, 8]", "f64[n, 8]", "f64[n, 4]", "i64[s + 2]", "i64[n]"),
    emit("ragged_attention", cap=2.0), ("f64[n, 4]",), _capped(2.0),
    fill=_segments, sizes=SIZES, tolerance=TOLERANCE,
)  # fmt: skip
