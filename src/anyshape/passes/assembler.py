"""Building a graph again while some of its nodes become others."""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import PARAM
from anyshape.sym import FactScope


class Assembler:
    """A new graph, node by node; `values` are the new ones by the old."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        scope = FactScope.of(graph.facts, distinct_names=False)
        self.builder = Builder(scope, graph.weights, graph.locations)
        self.values: dict[Value, Value] = {}

    def begin(self) -> None:
        """Parameters come first."""
        for type_ in self.old.body.params:
            self.builder.param(type_)

    def keep(self, node: Node) -> None:
        """The same node on new operands."""
        new = node
        if node.op is not PARAM:
            operands = [self.values[value] for value in node.operands]
            self.builder.location = self.old.locations.of(node)
            new = self.builder.node(node.op, operands, node.attrs, node.regions, node.late)
        self.values.update(zip(node.results, new.results, strict=True))

    def end(self) -> Graph:
        results = [self.values[value] for value in self.old.results]
        return self.old.with_body(self.builder.region(results))
