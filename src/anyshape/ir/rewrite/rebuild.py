"""Walking a region bottom-up into a new one: what every functional pass does.

Each node is made again from the new values of its operands, so its types are inferred again under
the facts of its region; requirements discovered on the way join those facts once. A node nothing
has changed for is kept as it is. Late symbols stay those of the old node.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM
from anyshape.sym import FactScope


class Rebuilder:
    """The identity; subclasses override `rebuilt`, `replace` or `result`."""

    def region(self, region: Region, builder: Builder) -> Region:
        """The new region; `builder` is empty and knows the region's facts."""
        for type_ in region.params:
            builder.param(type_)
        values: dict[Value, Value] = {}  # where another stands for one: mostly few
        for node in region.nodes():
            new = self._visit(node, values, builder)
            if not _are_results(new, node):
                values.update(zip(node.results, new, strict=True))
        results = (values.get(value, value) for value in region.results)
        return builder.region([self.result(value, builder) for value in results])

    def _visit(self, node: Node, values: dict[Value, Value], builder: Builder) -> tuple[Value, ...]:
        if node.op is PARAM:
            return node.results
        location = builder.location = builder.locations.of(node)
        operands = node.operands
        if values:
            operands = tuple([values.get(value, value) for value in operands])
        new = self.rebuilt(node, operands, builder)
        builder.location = location  # nested regions have moved it
        return self.replace(new, builder)

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """The node on new operands, its regions rebuilt too."""
        regions = tuple(self.region(r, builder.nested(r.facts)) for r in node.regions)
        # A late axis must be made known to the scope, even where nothing changes.
        if operands == node.operands and regions == node.regions and not node.late:
            return node
        return builder.node(node.op, operands, node.attrs, regions, node.late)

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        """What stands for the results of `node`, which is on new operands already."""
        return node.results

    def result(self, value: Value, builder: Builder) -> Value:
        """What stands for a result of the region."""
        return value


def _are_results(values: tuple[Value, ...], node: Node) -> bool:
    return all(value.node is node and value.index == at for at, value in enumerate(values))


class CountingRebuilder(Rebuilder):
    """Knows how often each node is used in the region that is rebuilt, results included. Regions
    with the same ops share nodes, so that each counts for itself."""

    def __init__(self) -> None:
        self.uses = Counter[Node]()

    def region(self, region: Region, builder: Builder) -> Region:
        around, self.uses = self.uses, _uses(region)
        new = super().region(region, builder)
        self.uses = around
        return new

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        self.uses[new] = self.uses[node]
        return new


def _uses(region: Region) -> Counter[Node]:
    used = (value.node for node in region.nodes() for value in node.operands)
    return Counter([*used, *(value.node for value in region.results)])


def rebuild_graph(rebuilder: Rebuilder, graph: Graph) -> Graph:
    """The graph with its body rebuilt."""
    # Whether two names may mean one size was settled when the graph was made.
    scope = FactScope.of(graph.facts, distinct_names=False)
    for symbol in graph.body.symbols:
        scope.reserve(symbol)
    builder = Builder(scope, graph.weights, graph.locations)
    return replace(graph, body=rebuilder.region(graph.body, builder))
