"""Indices that are in range by what they are: nothing need be asked about them.

    select(i < 0, i + n, i)      -> i            where i are places of a sort, rows of a worklist, …
    first_outside(i, earlier)    -> earlier

Frontends write both for every index, since a model may index from the end or out of range.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.analysis.integer_ranges import Range, RangeTable, proves
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops import elementwise
from anyshape.ops.checks import CheckAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim


@dataclass(frozen=True)
class KnownIndices:
    """Leaves out what asks whether an index is in range that always is."""

    name: str = "known-indices"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(map(_asks, graph.nodes())):
            return graph
        return rebuild_graph(IndexAsker(self.name, ctx), graph)


def _asks(node: Node) -> bool:
    return node.op is elementwise.select or isinstance(node.attrs, CheckAttrs)


class IndexAsker(Rebuilder):
    """Answers what is asked about indices."""

    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.ranges = RangeTable()

    def region(self, region: Region, builder: Builder) -> Region:
        """Parameters of different regions are one node where they have one type."""
        outer, self.ranges = self.ranges, RangeTable()
        new = super().region(region, builder)
        self.ranges = outer
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        answer = self._answer(node, builder)
        if answer is None or answer.type != node.result().type:
            return node.results
        why = "the index is always in range"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return (answer,)

    def _answer(self, node: Node, builder: Builder) -> Value | None:
        """What a node that asks gives, whatever the data are."""
        if isinstance(node.attrs, CheckAttrs):
            if builder.scope.late_among(node.attrs.live.symbols):
                return None  # it keeps these sizes, and what is asserted of them
            known, size = self.ranges.find(builder, node.operands[0]), node.attrs.size
            low = -size if node.attrs.from_end else Dim.of(0)
            inside = _at_least(known, low, builder) and _at_most(known, size - 1, builder)
            return node.operands[1] if inside else None
        if node.op is not elementwise.select:
            return None
        chosen = self._truth(node.operands[0], builder)
        return None if chosen is None else node.operands[1 if chosen else 2]

    def _truth(self, value: Value, builder: Builder) -> bool | None:
        """Whether all elements of a condition are true, or all are false."""
        node = value.node
        if node.op is elementwise.logical_and:
            both = [self._truth(operand, builder) for operand in node.operands]
            return False if False in both else None if None in both else True
        if node.op not in (elementwise.lt, elementwise.ge):
            return None
        known, number = (self.ranges.find(builder, operand) for operand in node.operands)
        less = _less(known, number.low, builder) if number.is_point else None
        return less if node.op is elementwise.lt or less is None else not less


def _less(known: Range, number: Dim | None, builder: Builder) -> bool | None:
    if number is None:
        return None
    if _at_least(known, number, builder):
        return False
    return True if _at_most(known, number - 1, builder) else None


def _at_least(known: Range, low: Dim, builder: Builder) -> bool:
    return known.low is not None and proves(builder, known.low >= low)


def _at_most(known: Range, high: Dim, builder: Builder) -> bool:
    return known.high is not None and proves(builder, known.high <= high)
