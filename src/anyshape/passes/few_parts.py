"""A concatenation of many parts is one of concatenations of few parts each.

A kernel that writes a concatenation of more than four parts tests for each element which part it
comes from, and each test is about the sizes of all parts before: time to run grows with the number
of parts for each element, and time to compile with its square. Of k parts, a tree of concatenations
of four has k/3 kernels, nearly all alike, which are loops over one part after the other; each
element is copied once for each level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.movement import concat
from anyshape.passes.infra import PassContext

MOST = 8
"""Parts of a concatenation that is left as it is: one kernel, which is as quick as two levels."""

TOGETHER = 4
"""Parts of those that it is made of else: as many as a loop has segments (`emit/split.py`)."""


@dataclass(frozen=True)
class FewParts:
    """Makes trees of concatenations with more than `most` parts."""

    most: int = MOST
    together: int = TOGETHER
    name: str = "few-parts"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        many = [n for n in graph.nodes() if n.op is concat and len(n.operands) > self.most]
        for node in many:
            why = f"{len(node.operands)} parts are put together {self.together} at a time"
            place = graph.locations.of(node)
            ctx.decisions.record(Decision(self.name, True, why, node, place))
        return rebuild_graph(_Splitter(self.most, self.together), graph)


class _Splitter(Rebuilder):
    def __init__(self, most: int, together: int) -> None:
        self.most = most
        self.together = together

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        if node.op is not concat or len(operands) <= self.most:
            return super().rebuilt(node, operands, builder)
        parts: Sequence[Value] = operands
        while len(parts) > self.together:
            parts = [_joined(node, group, builder) for group in self._groups(parts)]
        return builder.node(node.op, parts, node.attrs)

    def _groups(self, parts: Sequence[Value]) -> Iterator[Sequence[Value]]:
        """All but the last are full, so that their kernels are alike."""
        starts = range(0, len(parts), self.together)
        return (parts[start : start + self.together] for start in starts)


def _joined(node: Node, parts: Sequence[Value], builder: Builder) -> Value:
    return parts[0] if len(parts) == 1 else builder.node(node.op, parts, node.attrs).result()
