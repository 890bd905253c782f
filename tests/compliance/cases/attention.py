"""Attention against torch's scaled_dot_product_attention in f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch
from tests.compliance.inputs import values
from tests.compliance.tolerance import accumulated
from torch.nn import functional

from anyshape.ir import DType
from anyshape.ir.types import bf16, f16, f32, f64

CASES = Collection()

OTHERS = cycle((f16, f64, bf16))

ATTENTION = accumulated(64, ulps=16)


def by_sdpa(causal: str = "none", scale: float | None = None) -> Callable[..., Any]:
    def expect(q: Any, k: Any, v: Any, *mask: Any) -> Any:
        if 0 in (*q.shape[:3], *k.shape[1:3], v.shape[3]):
            return np.zeros((*q.shape[:3], v.shape[3]))
        return functional.scaled_dot_product_attention(
            as_torch(q), as_torch(k), as_torch(v), _mask(q, k, mask, causal),
            scale=scale, enable_gqa=q.shape[1] != k.shape[1],
        ).numpy()  # fmt: skip

    return expect


def _mask(q: Any, k: Any, given: tuple[Any, ...], causal: str) -> torch.Tensor | None:
    """The given mask and causality in one."""
    if causal == "none":
        return as_torch(given[0]) if given else None
    rows, columns = q.shape[2], k.shape[2]
    shift = columns - rows if causal == "bottom_right" else 0
    seen = torch.ones(rows, columns, dtype=torch.bool).tril(shift)
    if not given:
        return seen
    mask = as_torch(given[0])
    if mask.dtype == torch.bool:
        return mask & seen
    return torch.where(seen, mask, torch.tensor(-math.inf, dtype=mask.dtype))


def _operands(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """A bool mask leaves some rows without any key; a float mask has minus infinities."""
    arrays = [values(rng, *pair) for pair in zip(shapes, dtypes, strict=True)]
    for mask in arrays[3:]:
        if mask.ndim >= 2 and mask.shape[-2] > 1:
            mask[..., 0, :] = False if mask.dtype == np.bool_ else -np.inf
    return arrays


PLAIN = ("[batch, 2, seq, 4]", "[batch, 2, seq, 4]", "[batch, 2, seq, 4]")
OTHER_LENGTH = ("[batch, 2, seq, 4]", "[batch, 2, kv, 4]", "[batch, 2, kv, 4]")
GROUPED = ("[batch, 4, seq, 3]", "[batch, 2, kv, 3]", "[batch, 2, kv, 3]")
OTHER_WIDTH = ("[batch, 2, seq, 4]", "[batch, 2, kv, 4]", "[batch, 2, kv, 7]")
SYMBOLIC = (
    "[batch, 3*heads, seq, width]", "[batch, heads, kv, width]", "[batch, heads, kv, out]",
)  # fmt: skip


def attention(
    label: str, shapes: tuple[str, ...], result: str, mask: str = "",
    facts: tuple[str, ...] = (), **attrs: Any,
) -> None:  # fmt: skip
    """In f32 and in one other dtype, taking turns: how numbers are stored has nothing to do with
    which of them are read. `T` in a mask stands for the dtype of the case."""
    for dtype in (f32, next(OTHERS)):
        typed = [f"{dtype}{shape}" for shape in shapes]
        if mask:
            typed.append(mask.replace("T[", f"{dtype}["))
        CASES.add(
            "attention", f"{label} {dtype}", tuple(typed), emit("attention", **attrs),
            (f"{dtype}{result}",), by_sdpa(**attrs), facts, tolerance=ATTENTION, fill=_operands,
            domain=("width >= 1",) if "width" in shapes[0] else (),
        )  # fmt: skip


attention("plain", PLAIN, "[batch, 2, seq, 4]")
attention("causal", PLAIN, "[batch, 2, seq, 4]", causal="top_left")
attention("scaled", PLAIN, "[batch, 2, seq, 4]", scale=0.25)
attention("bool mask", PLAIN, "[batch, 2, seq, 4]", "bool[seq, seq]")
attention("float mask", OTHER_LENGTH, "[batch, 2, seq, 4]", "T[batch, 1, seq, kv]")
attention("key mask", OTHER_LENGTH, "[batch, 2, seq, 4]", "bool[batch, 1, 1, kv]")
attention("mask and causal", PLAIN, "[batch, 2, seq, 4]", "bool[seq, seq]", causal="top_left")
attention("float mask and causal", PLAIN, "[batch, 2, seq, 4]", "T[seq, seq]", causal="top_left")
attention("other length", OTHER_LENGTH, "[batch, 2, seq, 4]")
attention("other length causal", OTHER_LENGTH, "[batch, 2, seq, 4]", causal="top_left")
attention("cache", OTHER_LENGTH, "[batch, 2, seq, 4]", causal="bottom_right")
attention("grouped heads", GROUPED, "[batch, 4, seq, 3]")
attention("grouped heads causal", GROUPED, "[batch, 4, seq, 3]", causal="bottom_right")
attention("other value width", OTHER_WIDTH, "[batch, 2, seq, 7]")
attention("symbolic heads and widths", SYMBOLIC, "[batch, 3*heads, seq, out]",
          facts=("1 <= heads",))  # fmt: skip


# --- scores by hand -------------------------------------------------------------------------------


def scores_of(
    q: Any, k: Any, masks: tuple[Any, ...], cap: float | None = None, hidden: float = -math.inf,
    low: int | None = None, high: int | None = None, scale: float = 1.0,
    outside: float = -math.inf, adds: bool = False,
) -> Any:  # fmt: skip
    """In f64."""
    q, k = (np.asarray(x, np.float64) for x in (q, k))
    scores = q @ np.swapaxes(k, -1, -2) * scale
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    for mask in masks:
        is_bool = mask.dtype == np.bool_
        added = scores + mask.astype(np.float64)
        scores = np.where(mask, scores, hidden) if is_bool else added
    away = np.arange(k.shape[-2]) - np.arange(q.shape[-2])[:, None]
    is_far = (away < (-math.inf if low is None else low)) | (
        away > (math.inf if high is None else high)
    )
    return np.where(is_far, scores + outside if adds else outside, scores)


def by_hand(unseen: str = "zeros", sink: bool = False, **attrs: Any) -> Callable[..., Any]:
    """Scores, weights and their mixture in f64, one after the other."""

    def expect(q: Any, k: Any, v: Any, *others: Any) -> Any:
        masks, extra = (others[:-1], others[-1]) if sink else (others, -math.inf)
        with np.errstate(all="ignore"):
            scores = scores_of(q, k, masks, **attrs)
            column = np.broadcast_to(np.asarray(extra, np.float64), (*scores.shape[:-1], 1))
            scores = np.concatenate([scores, column], -1)
            power = np.exp(scores - scores.max(-1, keepdims=True, initial=-math.inf))
            weights = power / power.sum(-1, keepdims=True)
            if unseen == "zeros":
                weights = np.where((scores == -math.inf).all(-1, keepdims=True), 0, weights)
            return weights[..., :-1] @ np.asarray(v, np.float64)

    return expect


def scored(label: str, leading: str, masks: tuple[str, ...] = (), **attrs: Any) -> None:
    for dtype in (f32, next(OTHERS)):
        q, k = f"{dtype}[{leading}seq, 4]", f"{dtype}[{leading}kv, 4]"
        typed = (q, k, f"{dtype}[{leading}kv, 3]", *(m.replace("T[", f"{dtype}[") for m in masks))
        given = {"scale": 1.0, **attrs}
        CASES.add(
            "attention", f"{label} {dtype}", typed, emit("attention", **given),
            (f"{dtype}[{leading}seq, 3]",), by_hand(**given), (), tolerance=ATTENTION,
            fill=_operands,
        )  # fmt: skip


scored("without heads", "batch, ")
scored("without batch", "")
scored("batch alone, masked", "batch, ", ("bool[batch, seq, kv]",))
scored("capped", "batch, 2, ", cap=1.5)
scored("capped and biased", "batch, 2, ", ("T[2, seq, kv]",), cap=0.5, scale=0.7)
scored("two masks", "batch, 2, ", ("bool[seq, kv]", "T[batch, 1, 1, kv]"))
scored("hidden by a finite number", "batch, 2, ", ("bool[seq, kv]",), hidden=-1e4)
scored("unseen", "batch, 2, ", ("bool[seq, kv]",), unseen="nan")
scored("unseen by bounds", "", high=-2, unseen="nan")
scored("sink", "batch, 2, ", ("T[2, 1, 1]",), sink=True)
scored("sink without heads", "batch, ", ("T[batch, seq, 1]",), sink=True)
scored("sink and mask", "batch, 2, ", ("bool[seq, kv]", "T[2, seq, 1]"), sink=True, high=0)
scored("sink, unseen", "", ("bool[seq, kv]", "T[seq, 1]"), sink=True, unseen="nan")
scored("window", "batch, ", low=-2, high=1)
scored("window of a finite number", "batch, ", low=-2, high=1, outside=-3.0)
scored("window that adds", "", high=0, outside=-2.0, adds=True)
scored("window of the past", "batch, 2, ", ("bool[seq, kv]",), low=-3, high=0)


def in_parts(length: int, causal: str = "none", **attrs: Any) -> Callable[..., Any]:
    """Of each part the values by their weights, the best score, and all weights."""

    def expect(q: Any, k: Any, v: Any, *masks: Any) -> Any:
        queries, keys = q.shape[-2], k.shape[-2]
        last = {"top_left": 0, "bottom_right": keys - queries, "none": attrs.get("high")}[causal]
        found = list[Any]()
        with np.errstate(all="ignore"):
            scores = scores_of(q, k, masks, **{**attrs, "high": last})
            for first in range(0, keys + 1, length):
                part = scores[..., first : first + length]
                best = part.max(-1, keepdims=True, initial=-math.inf)
                weights = np.where(part == -math.inf, 0, np.exp(part - best))
                mixed = weights @ np.asarray(v, np.float64)[..., first : first + length, :]
                found.append(np.concatenate([mixed, best, weights.sum(-1, keepdims=True)], -1))
        return np.stack(found)[: keys // length + 1]

    return expect


def parts(label: str, leading: str, mask: str = "", length: int = 3, **attrs: Any) -> None:
    for dtype in (f32, next(OTHERS)):
        shapes = (f"[{leading}seq, 3]", f"[{leading}kv, 3]", f"[{leading}kv, 4]")
        typed = tuple(f"{dtype}{shape}" for shape in shapes) + ((mask,) if mask else ())
        given, number = {"scale": 1.0, **attrs}, f"kv//{length} + 1"
        CASES.add(
            "part_attention", f"{label} {dtype}", typed,
            emit("part_attention", parts=number, length=length, **given),
            (f"{f64 if dtype is f64 else f32}[{number}, {leading}seq, 6]",),
            in_parts(length, **given), (), tolerance=ATTENTION, fill=_operands,
        )  # fmt: skip


parts("plain", "batch, 2, ", length=5)
parts("masked", "batch, ", "bool[batch, seq, kv]", hidden=-1e4)
parts("causal", "", causal="bottom_right", scale=0.5)
parts("causal from the first", "batch, 2, ", "bool[seq, kv]", causal="top_left", cap=1.5)
parts("window", "", low=-2, high=1, outside=-3.0)
parts("window that adds", "", high=0, outside=-2.0, adds=True)
