"""Compounds replaced by their decompositions, except those that fusion and lowering take whole.

An elementwise or row-wise compound stays one node until it is inside a kernel: fusion sees what it
is, and lowering expands it there. One that contracts, such as attention, has kernels of its own.
Kernels and segments that the graph has already are opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.analysis.expansion import Expander
from anyshape.ir.graph import Graph
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite.rebuild import rebuild_graph
from anyshape.passes.infra import PassContext

WHOLE = frozenset({Trait.ELEMENTWISE, Trait.ROWWISE, Trait.CONTRACTION})
"""Compounds that are not expanded before fusion."""


@dataclass(frozen=True)
class Expand:
    """Expands every compound without a trait in `keep`, and what it expands to."""

    keep: frozenset[Trait] = WHOLE
    name: str = "expand"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        expanded = rebuild_graph(Expander(self.keep), graph)
        while expanded != graph:  # a compound may expand to compounds
            graph, expanded = expanded, rebuild_graph(Expander(self.keep), expanded)
        return graph
