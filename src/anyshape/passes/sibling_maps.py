"""The same ops on neighbouring parts of a value are done once, on both parts.

Queries and keys are parts of one product, and both are rotated by the same angles:

    rotate(y[:, 0:4]), rotate(y[:, 4:6])        z = rotate(y[:, 0:6]);  z[:, 0:4], z[:, 4:6]

The second form is one kernel. Attention reads parts where they are, so that this is never a loss:
it is taken where attention is the only reader of each part, and nothing else needs what is between.
A product might have computed its operand itself, and stays as it is. `strands.py` says which values
are computed from parts in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from anyshape.analysis.strided_view import is_view
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.known import ATTENTION
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import is_alias
from anyshape.passes.strands import Strand, Strands, cut_of, resized

Run = tuple[Strand, ...]
"""Neighbouring parts, in the order of their starts."""


@dataclass(frozen=True)
class SiblingMaps:
    """Joins maps that compute the same of neighbouring parts."""

    name: str = "sibling-maps"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is ATTENTION for node in graph.nodes()):
            return graph
        runs = [run for alike in _alike(graph) for run in _runs(alike)]
        for run in runs:
            node, why = run[0].value.node, f"{len(run)} parts of one value are computed together"
            ctx.decisions.record(Decision(self.name, True, why, node, graph.locations.of(node)))
        return rebuild_graph(_Joiner(runs), graph) if runs else graph


def _alike(graph: Graph) -> Iterator[list[Strand]]:
    """Strands that differ in their parts only, and that attention alone reads."""
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in graph.nodes():
        for value in node.operands:
            users[value.node].append(node)
    found: dict[Hashable, list[Strand]] = defaultdict(list)
    results = {value.node for value in graph.results}
    for strand in Strands(graph):
        readers = users[strand.value.node]
        if len(readers) == 1 and readers[0].op is ATTENTION and strand.value.node not in results:
            inside = {inner.value.node for inner in strand.in_order()}
            computed = {node for node in inside if not is_view(node) and not is_alias(node)}
            between = computed - {strand.value.node}
            own = all(inside.issuperset(users[node]) for node in between)
            if computed and own and between.isdisjoint(results):
                found[strand.template].append(strand)
    yield from found.values()


def _runs(alike: list[Strand]) -> Iterator[Run]:
    """Parts that follow one another, two or more at a time."""
    at = {strand.start: strand for strand in alike if strand.size != 0}  # else it follows itself
    stops = {strand.stop for strand in at.values()}
    for start, strand in at.items():
        run = [strand]
        while start not in stops and run[-1].stop in at:
            run.append(at[run[-1].stop])
        if len(run) > 1:
            yield tuple(run)


class _Joiner(Rebuilder):
    """Computes a run where the first of its parts is."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.run_of = {strand.value.node: (run, strand) for run in runs for strand in run}
        self.joined: dict[Run, Value] = {}
        self.new: dict[Value, Value] = {}

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        self.new.update(zip(node.operands, operands, strict=True))
        if node not in self.run_of:
            return super().rebuilt(node, operands, builder)
        run, own = self.run_of[node]
        if run not in self.joined:
            self.joined[run] = self._of_all(own, run, builder)
        first = own.start - run[0].start
        return cut_of(self.joined[run], own.axis, first, own.size, builder).node

    def _of_all(self, strand: Strand, run: Run, builder: Builder) -> Value:
        """What a strand computes, for all parts of the run."""
        start, size = run[0].start, run[-1].stop - run[0].start
        made: dict[Value, Value] = {}
        for inner in strand.in_order():
            pairs = zip(inner.value.node.operands, inner.operands, strict=True)
            operands = [self.new[value] if s is None else made[value] for value, s in pairs]
            made[inner.value] = resized(inner, start, size, operands, builder)
        return made[strand.value]
