"""Attention on repeated keys and values, where it could read them once.

Models with fewer kv heads than heads often repeat them before attention:

    [batch, kv, seq, width] -> [batch, kv, 1, seq, width] -> [batch, kv, n, seq, width]
                            -> [batch, kv*n, seq, width]

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
from anyshape.ops.known import ATTENTION, BROADCAST, RESHAPE
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim


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
        keys, values = _unrepeated(k), _unrepeated(v)
        if keys is None or values is None or keys.tensor.shape[1] != values.tensor.shape[1]:
            return node.results
        decision = Decision(self.name, True, "heads share keys and values", node, builder.location)
        self.ctx.decisions.record(decision)
        return builder.node(node.op, [q, keys, values, *mask], node.attrs).results


def _unrepeated(value: Value) -> Value | None:
    """What has fewer heads, if the heads of `value` are repetitions of its heads."""
    source = value
    for op in (RESHAPE, BROADCAST, RESHAPE):
        if source.node.op is not op:
            return None
        source = source.node.operands[0]
    repeated = value.node.operands[0]
    single = repeated.node.operands[0]
    if source.tensor.rank != 4 or repeated.tensor.rank != 5:
        return None
    batch, heads, seq, width = source.tensor.shape
    times = repeated.tensor.shape[2]
    steps = (
        single.tensor.shape == (batch, heads, Dim.of(1), seq, width),
        repeated.tensor.shape == (batch, heads, times, seq, width),
        value.tensor.shape == (batch, heads * times, seq, width),
    )
    return source if all(steps) else None
