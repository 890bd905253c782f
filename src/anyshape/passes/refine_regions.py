"""Refinement inside of regions: facts of a branch settle sizes in that branch only.

    then(x: f32[a], y: f32[b])  facts { a == b }      x + y : f32[bcast(a, b)]  is  f32[a]

What surrounds a region knows nothing of its facts, so parameters and results keep their sizes: the
first are renamed on the way in by reshapes, which are names inside of native code, and sizes that
results have stay. So do the facts, which are checked where they were. Canonicalization would take
such reshapes away, as both sizes are the same there; so this comes after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyshape.base.errors import DimError, DimTooLargeError
from anyshape.ir.attrs import map_dims
from anyshape.ir.graph import Graph
from anyshape.ir.node import Locations, Node, Region, Value
from anyshape.ir.opdef import PARAM
from anyshape.ir.rewrite import Decision
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import TensorType
from anyshape.ops.known import RESHAPE
from anyshape.ops.movement import ShapeAttrs
from anyshape.passes.infra import PassContext
from anyshape.passes.segments import facts_inside
from anyshape.sym import Facts, Symbol
from anyshape.sym.rebuild import Substitution
from anyshape.sym.refine import refined_facts


@dataclass(frozen=True)
class RefineRegions:
    """Replaces symbols that facts of a region settle, inside of it."""

    name: str = "refine-regions"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return graph.with_body(_Refiner(self.name, graph, ctx).inside(graph.body, Facts()))


@dataclass(frozen=True, slots=True)
class _Refiner:
    name: str  # of the pass
    graph: Graph
    ctx: PassContext

    def inside(self, region: Region, outer: Facts) -> Region:
        """A region with those in it refined; `outer` are the facts around it."""
        if not any(node.regions for node in region.nodes()):
            return region
        known = facts_inside(region, outer)
        nodes: dict[Node, Node] = {}
        for node in region.nodes():
            operands = [Value(nodes[value.node], value.index) for value in node.operands]
            inner = [self._refined(r, known, region.born, node) for r in node.regions]
            nodes[node] = Node.make(node.op, operands, node.attrs, node.types, inner, node.late)
            self.graph.locations.record(nodes[node], self.graph.locations.of(node))
        return _with_nodes(region, nodes)

    def _refined(self, region: Region, outer: Facts, late: frozenset[Symbol], node: Node) -> Region:
        known = facts_inside(region, outer)
        late = late.union(region.born, *(type_.symbols for type_ in region.result_types))
        steps = refined_facts(known, late).refinements if region.facts.facts else ()
        refused = ""
        try:
            sizes = Substitution({step.symbol: step.size for step in steps})
            region = _renamed(region, sizes, self.graph.locations) if steps else region
        except (DimError, DimTooLargeError) as error:
            refused = f" (refused: {error})"
        location = self.graph.locations.of(node)
        for step in steps:
            decision = Decision(self.name, not refused, f"{step}{refused}", node, location)
            self.ctx.decisions.record(decision)
        return self.inside(region, outer)


def _renamed(region: Region, sizes: Substitution, locations: Locations) -> Region:
    """The body in other sizes, behind parameters as they are."""
    nodes: dict[Node, Node] = {}
    for node in region.nodes():
        if node.op is PARAM:
            nodes[node] = _reshaped(node.result(), sizes)
            continue
        operands = [Value(nodes[value.node], value.index) for value in node.operands]
        types = tuple(type_.substitute(sizes) for type_ in node.types)
        if _is_name(node) and operands[0].type == types[0]:  # given by a run before this one
            nodes[node] = operands[0].node
            continue
        nodes[node] = Node.make(
            node.op,
            operands,
            map_dims(node.attrs, lambda dim: dim.substitute(sizes)),
            types,
            (substitute_region(inner, sizes, locations) for inner in node.regions),
            (late.substitute(sizes) for late in node.late),
        )
        locations.record(nodes[node], locations.of(node))
    return _with_nodes(region, nodes)


def _is_name(node: Node) -> bool:
    return node.op is RESHAPE and node.operands[0].node.op is PARAM


def _with_nodes(region: Region, nodes: Mapping[Node, Node]) -> Region:
    results = tuple(Value(nodes[value.node], value.index) for value in region.results)
    bearers = tuple(nodes[node] for node in region.size_bearers)
    return replace(region, results=results, size_bearers=bearers)


def _reshaped(param: Value, sizes: Substitution) -> Node:
    type_ = param.type.substitute(sizes)
    if type_ == param.type or not isinstance(type_, TensorType):
        return param.node
    return Node.make(RESHAPE, [param], ShapeAttrs(type_.shape), [type_])
