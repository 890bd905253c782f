"""Compounds replaced by their decompositions, except those that fusion and lowering take whole.

An elementwise or row-wise compound stays one node until it is inside a kernel: fusion sees what it
is, and lowering expands it there. One that contracts, such as attention, has kernels of its own.
Kernels and segments that the graph has already are opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite.inline import inline_region
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.passes.infra import PassContext
from anyshape.sym import FactScope

WHOLE = frozenset({Trait.ELEMENTWISE, Trait.ROWWISE, Trait.CONTRACTION})
"""Compounds that are not expanded before fusion."""

CONTRACTIONS = frozenset({Trait.CONTRACTION})
NONE: frozenset[Trait] = frozenset()


@dataclass(frozen=True)
class Expand:
    """Expands every compound without a trait in `keep`, and what it expands to."""

    keep: frozenset[Trait] = WHOLE
    name: str = "expand"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        expanded = rebuild_graph(_Expander(self.keep), graph)
        while expanded != graph:  # a compound may expand to compounds
            graph, expanded = expanded, rebuild_graph(_Expander(self.keep), expanded)
        return graph


class _Expander(Rebuilder):
    def __init__(self, keep: frozenset[Trait]) -> None:
        self.keep = keep

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op.name in ("kernel", "segment"):  # how ops are grouped is decided anew
            return tuple(inline_region(node.regions[0], node.operands, builder))
        if node.op.decompose is None or node.op.traits & self.keep:
            return node.results
        return (node.op.decompose(builder, node.operands, node.attrs),)


def expanded_region(region: Region, outer: FactScope, keep: frozenset[Trait] = NONE) -> Region:
    """A region with compounds expanded, but for some; `outer` holds the facts around it."""
    while any(node.op.is_compound and not node.op.traits & keep for node in region.nodes()):
        inside = Builder(FactScope.of(region.facts, parent=outer))
        region = _Expander(keep).region(region, inside)
    return region
