"""Refinement: sizes that facts settle are one dim everywhere in the graph.

    facts { a == b }
    graph f(x: f32[a, 8], y: f32[b, 8])   ->   graph f(x: f32[a, 8], y: f32[a, 8])

A product that a fact settles (`a*b == 24`) is that number, or the other product, in all types.

Facts that ops have stated flow back to the inputs this way: `broadcastable(a, 10)`, where `a` is
never 1, makes an input f32[10]. Callers see nothing of it. The graph remembers what was `declared`;
calls are bound and checked by that, so what refinement rests on is checked before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyshape.base.errors import DimError, DimTooLargeError
from anyshape.ir.graph import Declared, Graph
from anyshape.ir.inputs import declared_inputs, entry_facts
from anyshape.ir.node import Region
from anyshape.ir.rewrite import Decision
from anyshape.ir.substitute import map_region, substitute_region
from anyshape.ir.types import TensorType
from anyshape.passes.infra import PassContext
from anyshape.sym import Facts, Symbol
from anyshape.sym.product_rules import ProductRule, ProductsReplaced, product_rules
from anyshape.sym.refine import RefinedFacts, refined_facts


@dataclass(frozen=True)
class Refine:
    """Replaces symbols that are another size at every legal binding."""

    name: str = "refine"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return self._products(self._symbols(graph, ctx), ctx)

    def _symbols(self, graph: Graph, ctx: PassContext) -> Graph:
        if not graph.facts.facts and not graph.facts.axes:
            return graph
        found = refined_facts(graph.facts, graph.body.born)
        steps = [(str(step), frozenset({step.symbol})) for step in found.refinements]
        return self._tried(graph, steps, partial(_refined, found=found), ctx)

    def _products(self, graph: Graph, ctx: PassContext) -> Graph:
        rules = product_rules(graph.facts, graph.body.born)
        change = ProductsReplaced(rules)
        used = [rule for rule in rules if _is_used(rule, graph.body)]
        steps = [(str(rule), rule.because.predicate.symbols) for rule in used]
        return self._tried(graph, steps, partial(_without_products, change=change), ctx)

    def _tried(
        self,
        graph: Graph,
        steps: Sequence[Step],
        change: Callable[[Graph], Graph],
        ctx: PassContext,
    ) -> Graph:
        """The graph after some steps, unless a size would have no value then."""
        refused = ""
        try:
            changed = change(graph) if steps else graph
        except (DimError, DimTooLargeError) as error:
            changed, refused = graph, f" (refused: {error})"
        nodes = graph.nodes()
        places = {symbol: at for at in reversed(range(len(nodes))) for symbol in nodes[at].symbols}
        for why, symbols in steps:
            node = nodes[min((places[symbol] for symbol in symbols & places.keys()), default=0)]
            ctx.decisions.record(Decision(self.name, not refused, f"{why}{refused}", node))
        return changed


Step = tuple[str, frozenset[Symbol]]
"""What is done and why, and the symbols that it is about."""


def _refined(graph: Graph, found: RefinedFacts) -> Graph:
    body = substitute_region(graph.body, found.sizes, graph.locations)
    body = replace(body, facts=found.facts)
    return replace(graph, body=body, declared=_declared(graph, found.facts))


def _without_products(graph: Graph, change: ProductsReplaced) -> Graph:
    body = map_region(graph.body, change, graph.locations)
    return replace(graph, body=body, declared=_declared(graph, graph.facts))


def _is_used(rule: ProductRule, body: Region) -> bool:
    """Whether some type has the product."""
    change = ProductsReplaced([rule])
    types = (type_ for node in body.nodes() for type_ in node.types)
    return any(change(dim) != dim for t in types if isinstance(t, TensorType) for dim in t.shape)


def _declared(graph: Graph, facts: Facts) -> Declared:
    """What callers know, where the body has these facts now."""
    implied = frozenset(fact.predicate for fact in facts.facts)
    return Declared(tuple(declared_inputs(graph)), _decided_at_entry(graph), implied)


def _decided_at_entry(graph: Graph) -> Facts:
    """Facts about sizes that the graph computes stay with the body: no call decides them."""
    facts, late = entry_facts(graph), graph.body.born
    early = tuple(fact for fact in facts.facts if not fact.predicate.symbols & late)
    return replace(facts, facts=early)
