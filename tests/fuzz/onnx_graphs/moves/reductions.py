"""Reductions, cumulative ops, orders."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.generator import FLOATS, INTEGERS, Generator, Unfit

OPS = (
    "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip
NUMBERS = (*FLOATS, *FLOATS, *INTEGERS)


def flag(g: Generator) -> int | None:
    return g.rng.choice((None, 0, 1))


def reduction(g: Generator) -> None:
    op, x = g.rng.choice(OPS), g.pick((*NUMBERS, "bool"))
    if op == "ReduceMean" and not all(value.size for value in g.each(x)):
        raise Unfit  # undefined: NaN, as everywhere else, and 0 in onnxruntime
    axes: Any = g.some_axes(x) if g.rng.random() < 0.8 else None
    keep = flag(g)
    if g.opset < (13 if op == "ReduceSum" else 18):
        found = g.node(op, x, axes=axes or None, keepdims=keep)
        over_nothing = None
    else:
        given, over_nothing = g.constant(axes) if axes is not None else "", flag(g)
        found = g.node(op, x, given, keepdims=keep, noop_with_empty_axes=over_nothing)
    if not over_nothing or axes:
        _require_shape(g, x, found, axes or None, keep != 0)


def _require_shape(g: Generator, x: str, found: str, axes: Any, keep: bool) -> None:
    """Of nothing, over several axes, onnxruntime keeps sizes of 0."""
    for value, result in zip(g.each(x), g.each(found), strict=True):
        if np.empty(value.shape).astype(bool).any(axes, keepdims=keep).shape != result.shape:
            raise Unfit


def ordered(g: Generator) -> str:
    """What has an order: where there is a NaN, onnxruntime has none."""
    x = g.pick(NUMBERS, range(1, 5))
    if any(np.isnan(value).any() for value in g.each(x)):
        raise Unfit
    return x


def place(g: Generator) -> None:
    x = ordered(g)
    if not all(value.size for value in g.each(x)):
        raise Unfit  # onnxruntime keeps sizes of 0
    last = flag(g) if g.opset >= 12 else None
    op = g.rng.choice(("ArgMax", "ArgMin"))
    axis = g.axis(x) if g.opset >= 11 else g.axis(x) % g.rank(x)
    g.node(op, x, axis=g.rng.choice((None, axis, axis)), keepdims=flag(g), select_last_index=last)


def running(g: Generator) -> None:
    x = g.pick(NUMBERS, range(1, 5))
    axis = g.constant(g.axis(x), g.rng.choice(("int64", "int32")))
    g.node("CumSum", x, axis, exclusive=flag(g), reverse=flag(g))


def top(g: Generator) -> None:
    x = ordered(g)
    axis = g.axis(x)
    k = g.rng.choice((0, 1, 1, 2, 3))
    if g.opset < 10:
        g.several("TopK", 2, x, axis=axis % g.rank(x), k=k)
        return
    axis = axis if g.opset >= 11 else axis % g.rank(x)
    largest = flag(g) if g.opset >= 11 else None
    g.several("TopK", 2, x, g.constant([k]), axis=g.rng.choice((None, axis)), largest=largest)


REDUCTIONS = (reduction, reduction, reduction, place, running, top)
