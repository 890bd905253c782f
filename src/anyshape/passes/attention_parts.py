"""Attention to each part of the keys, and the attention to all of them from that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Value
from anyshape.ops.attention import AttentionAttrs, ScoreAttrs
from anyshape.ops.compose import Expr
from anyshape.sym import Dim


def part_attention(
    attention: Node, operands: Sequence[Value], parts: Dim, length: Dim, inner: Builder
) -> Value:
    """What the first kernel computes."""
    attrs = attention.attrs_as(ScoreAttrs)
    same = {field.name: getattr(attrs, field.name) for field in fields(ScoreAttrs)}
    return inner.emit("part_attention", *operands, **same, parts=parts, length=length)


def attention_from_parts(attention: Node, found: Value, inner: Builder) -> Value:
    """What the second one makes of it. Parts that see nothing weigh nothing."""
    given = Expr(inner, found)
    result, (*rows, width) = attention.result().tensor, found.tensor.shape
    sums = _columns(given, Dim.of(0), width - 2)
    best, totals = _columns(given, width - 2, width - 1), _columns(given, width - 1, width)
    top = best.reduce("max", 0)
    top = top.apply("eq", -math.inf).apply("select", top.lift(0), top)
    weights = (best - top).apply("exp")
    total = (weights * totals).apply("sum", axes=(0,))
    if attention.attrs_as(AttentionAttrs).unseen == "zeros":
        total = total.apply("eq", 0).apply("select", total.lift(1), total)
    mixed = (weights * sums).apply("sum", axes=(0,)) / total
    assert len(rows) == result.rank, "an axis of parts, and those of the result but its columns"
    return mixed.cast(result.dtype).value


def _columns(x: Expr, first: Dim, end: Dim) -> Expr:
    *rows, _ = x.shape
    starts = (*(Dim.of(0) for _ in rows), first)
    return x.apply("slice", starts=starts, stops=(*rows, end), steps=(1,) * x.rank)
