"""What positions decide whatever the data are: one number, the same everywhere.

    p = arange(n);  p[1:] - p[:-1] != 1      -> false
    cumsum(false)                            -> 0

Frontends count positions, and models ask whether they follow each other: to find where packed
sequences begin, for instance. If positions are the graph's own, the answer is known, and masks
made of it are none. `analysis/counted.py` tells what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from anyshape.analysis.counted import Counted, counted
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import TensorType
from anyshape.ops.known import BROADCAST, CONSTANT, IOTA, RESHAPE
from anyshape.passes.infra import PassContext

_PLAIN: Final = frozenset({CONSTANT, BROADCAST, RESHAPE})
"""Ops that say already that a number is the same everywhere."""


@dataclass(frozen=True)
class KnownPositions:
    """Puts numbers in the place of ops on positions that always give them."""

    name: str = "known-positions"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is IOTA for node in graph.nodes()):
            return graph
        return rebuild_graph(_Numbers(self.name, ctx), graph)


class _Numbers(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.known: dict[Value, Counted] = {}

    def region(self, region: Region, builder: Builder) -> Region:
        """Parameters of different regions are one node where they have one type."""
        outer, self.known = self.known, {}
        new = super().region(region, builder)
        self.known = outer
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if len(node.types) != 1 or not isinstance(node.types[0], TensorType):
            return node.results
        operands = [self.known.get(value) for value in node.operands]
        known = counted(node, operands, builder.scope)
        if known is None:
            return node.results
        found = self._number(node, known, builder)
        self.known[found] = known
        return (found,)

    def _number(self, node: Node, known: Counted, builder: Builder) -> Value:
        """The number that a node gives, in its place; or the node itself."""
        number, value = known.number, node.result()
        if number is None or number.constant is None or node.op in _PLAIN:
            return value
        why = f"it is {number} at every position"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        constant = builder.constant(np.asarray(number.constant, value.tensor.dtype.numpy))
        return builder.emit("broadcast", constant, shape=value.tensor.shape)
