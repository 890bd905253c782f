"""Refinement: sizes that facts settle are one dim everywhere in the graph.

    facts { a == b }
    graph f(x: f32[a, 8], y: f32[b, 8])   ->   graph f(x: f32[a, 8], y: f32[a, 8])

Facts that ops have stated flow back to the inputs this way: `broadcastable(a, 10)`, where `a` is
never 1, makes an input f32[10]. Callers see nothing of it. The graph remembers what was `declared`;
calls are bound and checked by that, so what refinement rests on is checked before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.base.errors import DimError, DimTooLargeError
from anyshape.ir.graph import Declared, Graph
from anyshape.ir.inputs import declared_inputs, entry_facts
from anyshape.ir.rewrite import Decision
from anyshape.ir.substitute import substitute_region
from anyshape.passes.infra import PassContext
from anyshape.sym import Facts
from anyshape.sym.refine import RefinedFacts, Refinement, refined_facts


@dataclass(frozen=True)
class Refine:
    """Replaces symbols that are another size at every legal binding."""

    name: str = "refine"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not graph.facts.facts and not graph.facts.axes:
            return graph
        found = refined_facts(graph.facts, graph.body.born)
        if not found.refinements:
            return graph
        try:
            refined = _refined(graph, found)
        except (DimError, DimTooLargeError) as error:
            self._record(graph, found.refinements, ctx, f" (refused: {error})")
            return graph
        self._record(graph, found.refinements, ctx)
        return refined

    def _record(
        self, graph: Graph, steps: Sequence[Refinement], ctx: PassContext, refused: str = ""
    ) -> None:
        nodes = graph.nodes()
        first = {symbol: node for node in reversed(nodes) for symbol in node.symbols}
        for step in steps:
            node = first.get(step.symbol, nodes[0])
            ctx.decisions.record(Decision(self.name, not refused, f"{step}{refused}", node))


def _refined(graph: Graph, found: RefinedFacts) -> Graph:
    body = substitute_region(graph.body, found.sizes, graph.locations)
    declared = Declared(
        tuple(declared_inputs(graph)),
        _decided_at_entry(graph),
        frozenset(fact.predicate for fact in found.facts.facts),
    )
    return replace(graph, body=replace(body, facts=found.facts), declared=declared)


def _decided_at_entry(graph: Graph) -> Facts:
    """Facts about sizes that the graph computes stay with the body: no call decides them."""
    facts, late = entry_facts(graph), graph.body.born
    early = tuple(fact for fact in facts.facts if not fact.predicate.symbols & late)
    return replace(facts, facts=early)
