"""Dead code: what nobody needs of ops with regions, of the weights and of the facts.

A node that no result reaches does not exist by construction. What is left to drop is

  - results of `cond`, `while` and `scan` that nobody uses, and what the bodies compute for them;
  - values a loop carries only for themselves;
  - captures and scanned sequences that no body reads;
  - weights that no constant refers to, and facts that are said twice or about sizes that are gone.

An op with an effect stays as long as its token is used, which is what tokens are for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anyshape.ir.graph import Graph
from anyshape.ir.literal import WeightRef
from anyshape.ir.node import Node, Region, Value, keeping_sizes
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.passes.infra import PassContext
from anyshape.passes.liveness import region_layout, shrink
from anyshape.sym import Facts, Symbol


@dataclass(frozen=True)
class EliminateDead:
    """Drops what nobody needs."""

    name: str = "dce"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        eliminator = _Eliminator(graph, ctx.decisions)
        body = graph.body
        # Dropping a result inside may free a capture, which may free a result outside.
        while (new := eliminator.region(body, frozenset())) != body:
            body = new
        weights = graph.weights.subset(_weights(body))
        return replace(graph, body=body, weights=weights)


class _Eliminator:
    def __init__(self, graph: Graph, log: DecisionLog) -> None:
        self.locations = graph.locations
        self.log = log

    def region(self, region: Region, outer: frozenset[Symbol]) -> Region:
        """The region with every op in it reduced to what is used; `outer` symbols have sizes."""
        bound = outer.union(*(type_.symbols for type_ in region.params), region.born)
        used = _used(region)
        values: dict[Value, Value] = {}
        for node in region.nodes():
            values.update(self._node(node, values, used, bound))
        results = tuple(values[value] for value in region.results)
        bearers = {late.symbol: v.node for v in values.values() for late in v.node.late}
        new = Region(region.params, results, _facts_needed(region, outer))
        return keeping_sizes(new, bearers)

    def _node(
        self, node: Node, values: dict[Value, Value], used: set[Value], bound: frozenset[Symbol]
    ) -> dict[Value, Value]:
        """The old results that are used, each with the new one."""
        operands = [values[value] for value in node.operands]
        regions = [self.region(inner, bound) for inner in node.regions]
        new = Node.make(node.op, operands, node.attrs, node.types, regions, node.late)
        live = [index for index, value in enumerate(node.results) if value in used]
        layout = region_layout(new)
        if layout is None:
            live = list(range(len(node.types)))
        else:
            new, live = shrink(new, layout, live, bound)
        self._keep_track(node, new)
        return {node.result(old): new.result(index) for index, old in enumerate(live)}

    def _keep_track(self, old: Node, new: Node) -> None:
        place = self.locations.of(old)
        self.locations.record(new, place)
        gone = len(old.operands) - len(new.operands), len(old.types) - len(new.types)
        if any(gone):
            why = f"{gone[0]} operands and {gone[1]} results are not used"
            self.log.record(Decision("dce", True, why, old, place))


def _used(region: Region) -> set[Value]:
    """Values that are needed: as operands, as results, or because they bear a size in use."""
    nodes = region.nodes()
    used = {value for node in nodes for value in node.operands} | set(region.results)
    mentions = Counter(symbol for node in nodes for symbol in node.all_symbols)
    for node in nodes:
        elsewhere = {late.symbol for late in node.late if mentions[late.symbol] > 1}
        used.update(value for value in node.results if value.type.symbols & elsewhere)
    return used


# --- facts and weights ----------------------------------------------------------------------------


def _facts_needed(region: Region, outer: frozenset[Symbol]) -> Facts:
    """Each fact once, and no requirement of an op about a size that nothing has any more."""
    facts = region.facts
    stated = (fact.predicate.symbols for fact in facts.facts if not fact.origin.is_required)
    present = (outer | region.symbols).union(*stated, {axis.symbol for axis in facts.axes})
    kept = {
        fact.predicate: fact
        for fact in facts.facts
        if not fact.origin.is_required or fact.predicate.symbols <= present
    }
    return replace(facts, facts=tuple(kept.values()))


def _weights(region: Region) -> Iterator[WeightRef]:
    for node in region.nodes():
        content = getattr(node.attrs, "value", None)
        if isinstance(content, WeightRef):
            yield content
        for inner in node.regions:
            yield from _weights(inner)
