"""Passes that move work out of loops differ in which work, and in what the loop has for it then."""

from __future__ import annotations

from abc import abstractmethod

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.passes.infra import PassContext


class LoopMover(Rebuilder):
    """Rebuilds a graph with other loops in place of its own, those inside of others first."""

    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def rebuilt_graph(self, graph: Graph) -> Graph:
        return rebuild_graph(self, graph) if any(node.regions for node in graph.nodes()) else graph

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        return self.moved(super().rebuilt(node, operands, builder), builder)

    @abstractmethod
    def moved(self, node: Node, builder: Builder) -> Node:
        """The node itself, or a loop with less in it; `builder` takes what is computed before."""

    def decide(self, taken: bool, why: str, node: Node, builder: Builder) -> None:
        """Notes why a node of a loop was moved, or left."""
        place = builder.locations.of(node)
        self.ctx.decisions.record(Decision(self.name, taken, why, node, place))
