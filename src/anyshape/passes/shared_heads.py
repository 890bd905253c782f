"""Attention on repeated keys and values, where it could read them once.

Models with fewer kv heads than heads often repeat them before attention:

    [batch, kv, seq, width] -> [batch, kv, 1, seq, width] -> [batch, kv, n, seq, width]
                            -> [batch, kv*n, seq, width]

or by a broadcast alone, where there is one kv head, or where the batch has them.
Attention means the same by itself: heads that are neighbours share a kv head. Kernels then read
keys and values once for all of them, and where they are, which a repetition is not. What attention
requires of the heads follows from what it required of the repeated ones. Sums are taken in another
order, so this is no law of canonicalization.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.known import ATTENTION, BROADCAST, RESHAPE
from anyshape.passes.attention_layout import reshaped
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim, product


@dataclass(frozen=True)
class SharedHeads:
    """Removes repetitions of kv heads in front of attention."""

    name: str = "shared-heads"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Sharer(self.name, ctx), graph)


class _Sharer(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not ATTENTION:
            return node.results
        q, k, v, *mask = node.operands
        keys, values = (_unrepeated(value, builder) for value in (k, v))
        if keys is None or values is None or keys.tensor.shape[1] != values.tensor.shape[1]:
            return node.results
        decision = Decision(self.name, True, "heads share keys and values", node, builder.location)
        self.ctx.decisions.record(decision)
        return builder.node(node.op, [q, keys, values, *mask], node.attrs).results


def _unrepeated(value: Value, builder: Builder) -> Value | None:
    """What has fewer heads, if the heads of `value` are repetitions of its heads.

    Axes before the repeated one are those of the batch and of kv heads, however they are divided.
    """
    repeated = value.node.operands[0] if value.node.op is RESHAPE else value
    if value.tensor.rank != 4 or repeated.node.op is not BROADCAST:
        return None
    (single,) = repeated.node.operands
    found = _repeated_axis(single.tensor.shape, repeated.tensor.shape)
    if found is None:
        return None
    *outer, times = repeated.tensor.shape[: found + 1]
    inner = tuple(dim for dim in repeated.tensor.shape[found + 1 :] if dim != 1)
    batch, heads, seq, width = value.tensor.shape
    kv = _kv_heads(heads, times, outer)
    if kv is None or product(outer) != batch * kv or inner != (seq, width):
        return None
    return reshaped(single, (batch, kv, seq, width), builder)


def _repeated_axis(old: Shape, new: Shape) -> int | None:
    """The only axis along which a broadcast repeats something."""
    if len(old) != len(new):
        return None
    axes = [axis for axis, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    return axes[0] if len(axes) == 1 and old[axes[0]] == 1 else None


def _kv_heads(heads: Dim, times: Dim, outer: list[Dim]) -> Dim | None:
    """How many heads are repeated so many times."""
    if heads == times:
        return Dim.of(1)
    if outer and outer[-1] * times == heads:
        return outer[-1]
    if heads.constant is None or not times.constant or heads.constant % times.constant:
        return None
    return Dim.of(heads.constant // times.constant)
