"""Scaled dot-product attention with masks, causality, grouped heads and any value width.

    q: [batch, heads, q, width]   k: [batch, kv_heads, kv, width]   v: [batch, kv_heads, kv, out]
    masks: broadcast to [batch, heads, q, kv]; bool (true attends) or added to the scores

All three may lack heads, or batch and heads, which are then 1: [batch, q, width] or [q, width].

The score of a query and a key is made in this order:

    score = q . k * scale
    score = cap * tanh(score / cap)                     with a cap
    score = score + mask, or mask ? score : hidden      for each mask
    score = outside, or score + outside                 where causality or the window hides the key

A query whose scores are all -inf gets zeros, as in PyTorch's attention, or NaN, as by a softmax.

A *sink* is one more score for each query, with no key and no value: it takes part in the softmax's
maximum and sum only. It is the last operand, broadcasts to [batch, heads, q, 1], and no mask hides
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, TypeVar

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Value
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import FLOATS, Array, DType, Shape, bool_, i64, wide_of
from anyshape.ops.compose import Expr, iota, size
from anyshape.ops.rules import SameDType
from anyshape.sym import Dim, Divisible

RANKS = (2, 3, 4)


@dataclass(frozen=True)
class ScoreAttrs(Attrs):
    """Causality is aligned at the first query (`top_left`) or at the last (`bottom_right`).

    Without `scale` the scores are divided by the square root of the width. `hidden` is the score
    where a bool mask is false. Query i sees the keys from i + `low` to i + `high`, where these are
    given. The score of another key is `outside`, or with `adds` its own plus that.
    """

    causal: Literal["none", "top_left", "bottom_right"] = "none"
    scale: float | None = None
    cap: float | None = None
    hidden: float = -math.inf
    low: Dim | None = None
    high: Dim | None = None
    outside: float = -math.inf
    adds: bool = False

    def last(self, queries: Dim, keys: Dim) -> Dim | None:
        """What is added to the position of a query for that of the last key it sees."""
        ends = {"top_left": Dim.of(0), "bottom_right": keys - queries, "none": self.high}
        return ends[self.causal]


@dataclass(frozen=True)
class AttentionAttrs(ScoreAttrs):
    """`unseen` is what a query gets all of whose scores are -inf. With `sink`, the last operand is
    one."""

    unseen: Literal["zeros", "nan"] = "zeros"
    sink: bool = False


Operand = TypeVar("Operand")


def masks_and_sink(
    operands: Sequence[Operand], attrs: ScoreAttrs
) -> tuple[tuple[Operand, ...], Operand | None]:
    """What follows queries, keys and values."""
    others = tuple(operands[3:])
    return (others[:-1], others[-1]) if has_sink(attrs) and others else (others, None)


def has_sink(attrs: ScoreAttrs) -> bool:
    return isinstance(attrs, AttentionAttrs) and attrs.sink


def _attention_dtype(op: str, dtypes: Sequence[DType], attrs: ScoreAttrs, /) -> tuple[DType, ...]:
    result = SameDType(FLOATS)(op, dtypes[:3], attrs)
    masks, sink = masks_and_sink(dtypes, attrs)
    floats = dtypes[0], wide_of(dtypes[0])
    for mask in masks:
        if mask not in (bool_, *floats):
            raise DTypeError(f"{op} (mask)", f"bool or {dtypes[0]}", str(mask))
    if sink is not None and sink not in floats:
        raise DTypeError(f"{op} (sink)", str(dtypes[0]), str(sink))
    return result


def attention_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ScoreAttrs, /
) -> tuple[Shape, ...]:
    rank = len(shapes[0])
    for name, shape in zip("qkv", shapes, strict=False):
        if rank not in RANKS or len(shape) != rank:
            wanted = rank if rank in RANKS else "2, 3 or 4"
            raise ctx.refuse_operand(f"{name} has rank {len(shape)}, expected {wanted}")
    q, k, v = map(with_all_axes, shapes[:3])
    if has_sink(attrs) and len(shapes) == 3:
        raise ctx.refuse_operand("sink is true, but no operand follows v")
    if attrs.causal != "none" and attrs.high is not None:
        raise ctx.refuse_attribute("high", f"is {attrs.high}, but it is causal already")
    batch = ctx.require_equal(q[0], k[0], "q and k must have one batch size")
    ctx.require_equal(k[0], v[0], "k and v must have one batch size")
    ctx.require_equal(q[3], k[3], "q and k must have one width")
    ctx.require_equal(k[1], v[1], "k and v must have the same heads")
    ctx.require_equal(k[2], v[2], "k and v must have one length")
    ctx.require(k[1] >= 1, "there must be a kv head")
    ctx.require(Divisible(q[1], k[1]), "heads must be a multiple of kv heads")
    masks, sink = masks_and_sink(shapes, attrs)
    for given in masks:
        _check_broadcasts(ctx, "mask", given, own_axes((batch, q[1], q[2], k[2]), rank))
    if sink is not None:
        _check_broadcasts(ctx, "sink", sink, own_axes((batch, q[1], q[2], Dim.of(1)), rank))
    return (own_axes((batch, q[1], q[2], v[3]), rank),)


def with_all_axes(shape: Shape) -> Shape:
    """The shape of an operand with batch and heads, whether it has them or not."""
    missing = [Dim.of(1)] * (4 - len(shape))
    return (*shape[:-2], *missing, *shape[-2:])


def own_axes(dims: tuple[Dim, ...], rank: int) -> tuple[Dim, ...]:
    """Of sizes, or indices, along all four axes those of an operand of this rank."""
    return (*dims[: rank - 2], *dims[2:])


def _check_broadcasts(ctx: ShapeContext, name: str, shape: Shape, scores: Shape) -> None:
    if len(shape) > len(scores):
        problem = f"{name} has rank {len(shape)}, expected at most {len(scores)}"
        raise ctx.refuse_operand(problem)
    for axis, (given, full) in enumerate(zip(reversed(shape), reversed(scores), strict=False)):
        wanted = "1" if full == 1 else f"1 or {full}"
        ctx.require_one_or(given, full, f"axis {len(shape) - 1 - axis} of {name} must be {wanted}")


def _attention(b: Builder, operands: Sequence[Value], attrs: AttentionAttrs, /) -> Value:
    q, k, v = (_with_all_axes(Expr(b, value)) for value in operands[:3])
    rank = operands[0].tensor.rank
    others = [_aligned(Expr(b, value), rank) for value in operands]
    masks, sink = masks_and_sink(others, attrs)
    batch, heads, length, width = q.shape
    kv_heads, kv_length = k.shape[1], k.shape[2]
    groups = heads // kv_heads
    grouped = _scaled(q.wide(), attrs).reshape(batch, kv_heads, groups, length, width)
    pairs = {"batch": ((0, 1), (0, 1)), "contract": ((4,), (3,))}
    scores = grouped.apply("dot", k.wide(), **pairs).reshape(batch, heads, length, kv_length)
    weights = _weights(_masked(_capped(scores, attrs), masks, attrs), sink, attrs)
    spread = weights.reshape(batch, kv_heads, groups, length, kv_length)
    mixed = spread.apply("dot", v.wide(), batch=((0, 1), (0, 1)), contract=((4,), (2,)))
    shape = own_axes((batch, heads, length, v.shape[3]), rank)
    return mixed.reshape(*shape).cast(q.dtype).value


def _with_all_axes(x: Expr) -> Expr:
    return x if x.rank == 4 else x.reshape(*with_all_axes(x.shape))


def _aligned(mask: Expr, rank: int) -> Expr:
    """A mask beside operands of this rank, so that it broadcasts to scores with all axes."""
    is_batch = rank == 3 and mask.rank == 3
    return _with_all_axes(mask) if is_batch else mask


def _scaled(q: Expr, attrs: AttentionAttrs) -> Expr:
    width = q.shape[3]
    if attrs.scale is not None:
        return q * attrs.scale
    if width.constant:
        return q * (1 / math.sqrt(width.constant))
    return q * size(q.b, width, q.dtype).apply("rsqrt")


def _capped(scores: Expr, attrs: AttentionAttrs) -> Expr:
    if attrs.cap is None:
        return scores
    return (scores / attrs.cap).apply("tanh") * attrs.cap


def _masked(scores: Expr, masks: Sequence[Expr], attrs: AttentionAttrs) -> Expr:
    for mask in masks:
        is_bool = mask.dtype == bool_
        scores = _keep(scores, mask, attrs.hidden) if is_bool else scores + mask.wide()
    seen = _in_sight(scores, attrs)
    if seen is None:
        return scores
    other = scores + attrs.outside if attrs.adds else scores.lift(attrs.outside)
    return seen.apply("select", scores, other)


def _weights(scores: Expr, sink: Expr | None, attrs: AttentionAttrs) -> Expr:
    """The softmax of the scores and of the sink, without the weight of that."""
    if sink is None:
        return _softmax(scores, attrs)
    *rows, keys = scores.shape
    column = sink.wide().apply("broadcast", shape=(*rows, Dim.of(1)))
    weights = _softmax(scores.apply("concat", column, axis=3), attrs)
    return weights.apply("slice", starts=[Dim.of(0)] * 4, stops=(*rows, keys), steps=[1] * 4)


def _softmax(scores: Expr, attrs: AttentionAttrs) -> Expr:
    if attrs.unseen == "nan":
        return scores.apply("softmax", axis=3)
    top = scores.reduce("max", 3)
    # A row of minus infinities must not become NaN: shift it by 0, divide it by 1.
    top = top.apply("eq", -math.inf).apply("select", top.lift(0), top)
    power = (scores - top).apply("exp")
    total = power.reduce("sum", 3)
    return power / total.apply("eq", 0).apply("select", total.lift(1), total)


def _keep(scores: Expr, condition: Expr, hidden: float) -> Expr:
    return condition.apply("select", scores, scores.lift(hidden))


def _in_sight(scores: Expr, attrs: AttentionAttrs) -> Expr | None:
    """True where a query may see a key, by all bounds; None if it sees all."""
    plane, b = scores.shape[2:], scores.b
    row, column = iota(b, plane, 0, i64), iota(b, plane, 1, i64)
    last, seen = attrs.last(*plane), list[Expr]()
    if last is not None:
        seen.append(column.apply("le", row if last == 0 else row + size(b, last, i64)))
    if attrs.low is not None:
        seen.append(column.apply("ge", row + size(b, attrs.low, i64)))
    return reduce(lambda x, y: x.apply("logical_and", y), seen) if seen else None


attention = register(
    OpDef(
        "attention",
        Signature(("q", "k", "v", "masks*")),
        AttentionAttrs,
        _attention_dtype,
        attention_shape,
        decompose=_attention,
        traits=frozenset({Trait.CONTRACTION}),
    )
)


# --- in parts of the keys -------------------------------------------------------------------------


@dataclass(frozen=True)
class PartAttentionAttrs(ScoreAttrs):
    """Of scores whose keys are divided: part p has `length` of them from p*length on."""

    parts: Dim = field(kw_only=True)
    length: Dim = field(kw_only=True)


def part_attention_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartAttentionAttrs, /
) -> tuple[Shape, ...]:
    ctx.require_sizes((attrs.parts,))
    ((*rows, width),) = attention_shape(ctx, shapes, attrs)
    return ((attrs.parts, *rows, width + 2),)


def _part_attention(call: Call[PartAttentionAttrs]) -> Array:
    """By the scores of all keys, which are cut into parts."""
    attrs, dtype = call.attrs, call.result.dtype.numpy
    q, k, v = (x.reshape(with_four_axes(x.shape)).astype(dtype) for x in call.args[:3])
    sharing = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, sharing, 1), np.repeat(v, sharing, 1)
    length = attrs.length.evaluate({})
    shape = tuple(int(dim) for dim in call.result.shape)
    found = np.empty((shape[0], *q.shape[:3], shape[-1]), dtype)
    with np.errstate(all="ignore"):
        is_batch = call.args[0].ndim == 3
        masks = [x[:, None] if is_batch and x.ndim == 3 else x for x in call.args[3:]]
        scores = scores_of(q, k, masks, attrs)
        for part in range(shape[0]):
            keys = slice(part * length, (part + 1) * length)
            best = scores[..., keys].max(-1, keepdims=True, initial=-np.inf)
            weights = np.exp(scores[..., keys] - np.where(best == -np.inf, 0, best))
            totals = weights.sum(-1, keepdims=True)
            found[part] = np.concatenate([weights @ v[..., keys, :], best, totals], -1)
    return found.reshape(shape)


def with_four_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dim.evaluate({}) for dim in with_all_axes(tuple(map(Dim.of, shape))))


def scores_of(q: Array, k: Array, masks: Sequence[Array], attrs: ScoreAttrs) -> Array:
    """Scaled, capped, masked, and of those in sight or not."""
    scale = 1 / math.sqrt(q.shape[3]) if attrs.scale is None else attrs.scale
    scores = (q * q.dtype.type(scale)) @ np.swapaxes(k, 2, 3)
    if attrs.cap is not None:
        scores = attrs.cap * np.tanh(scores / attrs.cap)
    for mask in masks:
        is_bool = mask.dtype == np.bool_
        scores = np.where(mask, scores, attrs.hidden) if is_bool else scores + mask
    other = scores + attrs.outside if attrs.adds else attrs.outside
    return np.where(_are_in_sight(scores.shape, attrs), scores, other).astype(q.dtype)


def _are_in_sight(shape: tuple[int, ...], attrs: ScoreAttrs) -> Array:
    queries, keys = shape[2:]
    apart = np.arange(keys) - np.arange(queries)[:, None]
    seen = np.ones_like(apart, np.bool_)
    last = attrs.last(Dim.of(queries), Dim.of(keys))
    if last is not None:
        seen &= apart <= last.evaluate({})
    return seen if attrs.low is None else seen & (apart >= attrs.low.evaluate({}))


part_attention = register(
    OpDef(
        "part_attention",
        Signature(("q", "k", "v", "masks*")),
        PartAttentionAttrs,
        lambda op, dtypes, attrs: (wide_of(_attention_dtype(op, dtypes, attrs)[0]),),
        part_attention_shape,
        reference=_part_attention,
        traits=frozenset({Trait.CONTRACTION}),
        doc="For each part of the keys and each query: the values weighted by exp(score - best), "
        "the best score, and the total of the weights.",
    )
)
