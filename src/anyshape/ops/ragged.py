"""Attention within the segments of a packed axis: sequences end to end, and no padding.

    q, k, v: as for `attention`; queries and keys are the same tokens, of all sequences
    offsets: [count + 1], segment s is the tokens offsets[s] .. offsets[s + 1] - 1
    segments: [tokens], the segment of each token

A query sees the keys of its own segment. Both operands that say where segments are must agree, as
they do if `segments` was computed from ascending offsets from 0 to the number of tokens: else the
results are arbitrary numbers, but nothing outside the operands is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import FLOATS, Array, DType, Shape, i32, i64, wide_of
from anyshape.ops.attention import (
    AttentionAttrs,
    attention_shape,
    scores_of,
    with_all_axes,
    with_four_axes,
)
from anyshape.ops.rules import SameDType


@dataclass(frozen=True)
class RaggedAttentionAttrs(Attrs):
    """Scale and cap of scores, as of attention."""

    scale: float | None = None
    cap: float | None = None

    @property
    def score(self) -> AttentionAttrs:
        """How scores are made."""
        return AttentionAttrs(scale=self.scale, cap=self.cap)


OFFSETS, SEGMENTS = 3, 4
"""Places among the operands."""


def _dtype(op: str, dtypes: Sequence[DType], attrs: RaggedAttentionAttrs, /) -> tuple[DType, ...]:
    for name, dtype in zip(("offsets", "segments"), dtypes[OFFSETS:], strict=True):
        if dtype not in (i32, i64):
            raise DTypeError(f"{op} ({name})", "i32 or i64", str(dtype))
    return SameDType(FLOATS)(op, dtypes[:OFFSETS], attrs)


def _shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: RaggedAttentionAttrs, /
) -> tuple[Shape, ...]:
    result = attention_shape(ctx, shapes[:OFFSETS], attrs.score)
    offsets, segments = shapes[OFFSETS:]
    for name, shape in (("offsets", offsets), ("segments", segments)):
        if len(shape) != 1:
            raise ctx.refuse_operand(f"{name} has rank {len(shape)}, expected 1")
    queries, keys = (with_all_axes(shape)[2] for shape in shapes[:2])
    ctx.require_equal(queries, keys, "queries and keys must be the same tokens")
    ctx.require_equal(segments[0], queries, "each token must have a segment")
    ctx.require(offsets[0] >= 1, "offsets must have the end of the last segment")
    return result


def _reference(call: Call[RaggedAttentionAttrs]) -> Array:
    """One segment after the other."""
    dtype = wide_of(call.result.dtype).numpy
    q, k, v = (x.reshape(with_four_axes(x.shape)).astype(dtype) for x in call.args[:OFFSETS])
    sharing = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, sharing, 1), np.repeat(v, sharing, 1)
    found = np.zeros((*q.shape[:3], v.shape[3]), dtype)
    ends = call.args[OFFSETS].tolist()
    with np.errstate(all="ignore"):
        for first, end in pairwise(ends):
            own = slice(first, end)
            if end > first:
                scores = scores_of(q[:, :, own], k[:, :, own], (), call.attrs.score)
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                mixed = weights @ v[:, :, own]
                found[:, :, own] = mixed / weights.sum(-1, keepdims=True)
    shape = tuple(int(dim) for dim in call.result.shape)
    return found.reshape(shape).astype(call.result.dtype.numpy)


ragged_attention = register(
    OpDef(
        "ragged_attention",
        Signature(("q", "k", "v", "offsets", "segments")),
        RaggedAttentionAttrs,
        _dtype,
        _shape,
        reference=_reference,
        traits=frozenset({Trait.CONTRACTION}),
        doc="Attention in which a query sees the keys of its own segment.",
    )
)
