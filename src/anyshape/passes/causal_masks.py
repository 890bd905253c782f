"""Masks of attention that say "no key after the query", as causality.

Models often compute where a query may look from positions:

    key <= query + offset        key = 0, 1, … along the last axis, query along the one before

With an offset of 0, or of as many keys as there are more than queries, this is what `causal` means.
Kernels then skip the keys that nobody sees, and no mask is made. Of a conjunction, such as with a
mask of padding, the rest stays a mask. Either way a hidden score is minus infinity, so nothing
changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import bool_, i32, i64
from anyshape.ops.attention import AttentionAttrs
from anyshape.ops.known import ADD, ATTENTION, BROADCAST, GE, IOTA, LE, LOGICAL_AND, RESHAPE
from anyshape.ops.source import ConstantAttrs, DimAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim

QUERY, KEY = -2, -1  # axes of a mask
WIDE = (i64, i32)  # what counts all keys there can be


@dataclass(frozen=True)
class CausalMasks:
    """Replaces masks that are causality by causality."""

    name: str = "causal-masks"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Recogniser(self.name, ctx), graph)


class _Recogniser(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not ATTENTION or len(node.operands) < 4:
            return node.results
        *qkv, mask = node.operands
        attrs = node.attrs_as(AttentionAttrs)
        if attrs.causal != "none" or mask.tensor.dtype != bool_:
            return node.results
        parts = tuple(_conjuncts(mask))
        found = [(part, _alignment(part, node)) for part in parts]
        causal = next((alignment for _, alignment in found if alignment), None)
        if causal is None:
            return node.results
        others = [part for part, alignment in found if alignment != causal]
        rest = [_together(others, mask, builder)] if others else []
        why = "its mask hides the keys after each query"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return builder.node(node.op, [*qkv, *rest], replace(attrs, causal=causal)).results


def _conjuncts(mask: Value) -> Iterator[Value]:
    """Conditions that all must hold, each once and in a shape of its own."""
    waiting, seen = [mask], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.node.op in (BROADCAST, LOGICAL_AND):
            waiting += reversed(value.node.operands)
        else:
            yield value


def _together(parts: list[Value], mask: Value, builder: Builder) -> Value:
    """All the conditions as one mask, which is as large as it has to be."""
    rest = reduce(lambda x, y: builder.emit("logical_and", x, y), parts)
    pairs = zip(reversed(rest.tensor.shape), reversed(mask.tensor.shape), strict=False)
    if all(size in (1, full) for size, full in pairs):
        return rest
    return builder.emit("broadcast", rest, shape=mask.tensor.shape)


def _alignment(condition: Value, attention: Node) -> str | None:
    """How causality is aligned that a condition stands for, if it does."""
    node = condition.node
    if node.op not in (LE, GE):
        return None
    key, query = node.operands if node.op is LE else reversed(node.operands)
    queries, keys = (attention.operands[n].tensor.shape[-2] for n in (0, 1))
    last, behind = _offset(query, QUERY, queries), _offset(key, KEY, keys)
    if last is None or behind is None:
        return None
    seen = {"top_left": Dim.of(0), "bottom_right": keys - queries}
    return next((name for name, offset in seen.items() if last - behind == offset), None)


def _offset(value: Value, axis: int, size: Dim) -> Dim | None:
    """What is added to the index along an axis of this size, if that is all the value is."""
    others = list(value.tensor.shape)
    if len(others) < -axis or others.pop(axis) != size or value.tensor.dtype not in WIDE:
        return None
    return _offset_in_row(value) if all(other == 1 for other in others) else None


def _offset_in_row(value: Value) -> Dim | None:
    """The same for a value with one axis that counts, however many others there are of size 1."""
    offset = Dim.of(0)
    while value.node.op in (RESHAPE, ADD):
        if value.node.op is RESHAPE:
            (value,) = value.node.operands
            continue
        x, y = value.node.operands
        row, number = (x, _size(y)) if _size(x) is None else (y, _size(x))
        if number is None:
            return None
        value, offset = row, offset + number
    return offset if value.node.op is IOTA and value.tensor.rank == 1 else None


def _size(value: Value) -> Dim | None:
    """A number that is known when sizes are."""
    attrs = value.node.attrs
    if isinstance(attrs, DimAttrs):
        return attrs.value
    if isinstance(attrs, ConstantAttrs) and isinstance(attrs.value, TensorLiteral):
        number = attrs.value.array
        return Dim.of(int(number.item())) if number.size == 1 else None
    return None
