"""Division into segments: pieces of the graph that are one native call each.

Ops without a native form are *host* nodes: those whose result sizes depend on the data, effects,
and control flow, whose regions are divided in the same way. A graph without host nodes is one
native call and stays as it is. In any other, kernels are gathered into `segment` nodes, and the
host nodes stand between them.

Segments and host nodes take turns. A kernel belongs to the first segment that starts when all it
needs has been computed, so there are as few segments as the longest chain through host nodes
allows. Constants and aliases cost nothing: every segment that uses one has its own, and only what
kernels or host nodes compute crosses from one segment to the next. The first segment of a graph,
its *entry*, takes all inputs, so that running it checks them all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.graph import Graph
from anyshape.ir.node import Locations, Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, lookup
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import TensorType, Type
from anyshape.ops.known import CONSTANT
from anyshape.passes.infra import Pass, PassContext
from anyshape.passes.native_forms import GATHERED, STEPS, is_alias, is_host, runs_whole
from anyshape.sym import Dim, Fact, Facts, LessEqual, Origin


def tensor_params(region: Region) -> tuple[Value, ...]:
    """The parameters that are tensors, as values."""
    nodes = (
        Node.make(PARAM, (), ParamAttrs(index), (type_,))
        for index, type_ in enumerate(region.params)
        if isinstance(type_, TensorType)
    )
    return tuple(node.result() for node in nodes)


def facts_inside(region: Region, outer: Facts) -> Facts:
    """What holds in a region: around it, in it, and the bounds of the sizes that it computes."""
    bounds = (
        Fact(LessEqual(Dim.of(late.symbol), late.upper), Origin.OP, f"{node.op.name}: late axis")
        for node in region.nodes()
        for late in node.late
        if late.upper is not None
    )
    axes = dict.fromkeys((*outer.axes, *region.facts.axes))
    return Facts(tuple(axes), tuple(dict.fromkeys((*outer.facts, *region.facts.facts, *bounds))))


@dataclass(frozen=True)
class Segments:
    """Divides a fused graph that is not one native call; `inside` are passes that fuse regions."""

    inside: tuple[Pass, ...]
    name: str = "segments"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if runs_whole(graph):
            return graph
        facts = facts_inside(graph.body, Facts())
        entry = _Division(graph.body, graph.locations, tensor_params(graph.body))
        return replace(graph, body=self._divided(graph, entry, facts, ctx))

    def _divided(self, graph: Graph, division: _Division, facts: Facts, ctx: PassContext) -> Region:
        """The region of a division; `facts` are all that hold in it."""
        for node in filter(is_host, division.order):
            if node.op not in STEPS:
                place, why = graph.locations.of(node), "it has no native form"
                ctx.decisions.record(Decision(self.name, False, why, node, place))
            inner = (self._inner(graph, region, facts, ctx) for region in node.regions)
            division.regions[node] = tuple(inner)
        return division.region()

    def _inner(self, graph: Graph, region: Region, outer: Facts, ctx: PassContext) -> Region:
        """A region of a host node, fused as if it were a graph of its own, and divided."""
        facts = facts_inside(region, outer)
        names = tuple(f"p{number}" for number in range(len(region.params)))
        body = replace(region, facts=facts)
        alone = Graph(graph.name, names, body, graph.weights, graph.locations)
        for step in self.inside:
            alone = step.run(alone, ctx)
        fused = replace(alone.body, facts=region.facts)
        return self._divided(graph, _Division(fused, graph.locations), facts, ctx)


class _Division:
    """The nodes of one region in turns: kernels at even ones, host nodes at odd ones."""

    def __init__(self, region: Region, locations: Locations, entry: Sequence[Value] = ()) -> None:
        self.old = region
        self.locations = locations
        self.entry = entry  # what the first segment takes, used or not
        self.regions: dict[Node, tuple[Region, ...]] = {}  # of host nodes, divided
        self.order = region.nodes()
        self.bearers = {late.symbol: node for node in self.order for late in node.late}
        self.turns: dict[Node, int] = {}
        self.users: dict[Value, list[Node]] = defaultdict(list)
        self.values: dict[Value, Value] = {}  # what stands for an old value in the new region
        for node in self.order:
            self.turns[node] = self._turn(node)
            for value in node.operands:
                self.users[value].append(node)

    def _turn(self, node: Node) -> int:
        """The first turn at which everything is there that `node` needs, sizes included."""
        sizes = (self.bearers[symbol] for symbol in node.all_symbols if symbol in self.bearers)
        needed = {*(value.node for value in node.operands), *sizes} - {node}
        ready = max((self.turns[other] for other in needed), default=0)
        if is_host(node):
            return ready if ready % 2 else ready + 1
        return ready + ready % 2 if node.op in GATHERED else ready

    # --- the new region -----------------------------------------------------------------------

    def region(self) -> Region:
        work: dict[int, list[Node]] = defaultdict(list)
        for node in self.order:
            if is_host(node) or node.op in GATHERED:
                work[self.turns[node]].append(node)
        for turn in sorted(work):
            if turn % 2:
                for node in work[turn]:
                    self._place_host(node)
            else:
                self._place_segment(turn, work[turn])
        results = tuple(self._value(value) for value in self.old.results)
        bearers = tuple(self._value(node.result()).node for node in self.old.size_bearers)
        return replace(self.old, results=results, size_bearers=bearers)

    def _value(self, old: Value) -> Value:
        """The new value; sources and aliases are made where they are used."""
        if old in self.values:
            return self.values[old]
        operands = [self._value(value) for value in old.node.operands]
        self.values[old] = self._copied(old.node, operands).result(old.index)
        return self.values[old]

    def _copied(self, node: Node, operands: list[Value]) -> Node:
        regions = self.regions.get(node, node.regions)
        new = Node.make(node.op, operands, node.attrs, node.types, regions, node.late)
        self.locations.record(new, self.locations.of(node))
        return new

    def _place_host(self, node: Node) -> None:
        new = self._copied(node, [self._value(value) for value in node.operands])
        self.values.update(zip(node.results, new.results, strict=True))

    def _place_segment(self, turn: int, kernels: list[Node]) -> None:
        body = _Body(self, () if turn else self.entry)
        for node in kernels:
            body.add(node)
        leaving = [v for node in kernels for v in node.results if self._leaves(v, turn)]
        operands = [self._value(value) for value in body.operands]
        types = [value.type for value in leaving]
        new = Node.make(lookup("segment"), operands, NO_ATTRS, types, [body.region(leaving)])
        self.locations.record(new, self.locations.of(kernels[-1]))
        self.values.update(zip(leaving, new.results, strict=True))

    def _leaves(self, value: Value, turn: int) -> bool:
        """Whether something outside of the segment of `turn` uses a value, perhaps by an alias."""
        return value in self.old.results or any(
            self._leaves(user.result(), turn) if is_alias(user) else self.turns[user] != turn
            for user in self.users[value]
        )


class _Body:
    """The closed region of one segment under construction."""

    def __init__(self, division: _Division, operands: Sequence[Value]) -> None:
        self.division = division
        self.operands: list[Value] = []  # old values that come from outside, a parameter for each
        self.values: dict[Value, Value] = {}
        for value in operands:
            self._value(value)

    def add(self, kernel: Node) -> None:
        new = self._copied(kernel)
        self.values.update(zip(kernel.results, new.results, strict=True))

    def region(self, results: list[Value]) -> Region:
        params: tuple[Type, ...] = tuple(value.type for value in self.operands)
        return Region(params, tuple(self.values[value] for value in results), Facts())

    def _copied(self, node: Node) -> Node:
        operands = [self._value(value) for value in node.operands]
        new = Node.make(node.op, operands, node.attrs, node.types, node.regions)
        self.division.locations.record(new, self.division.locations.of(node))
        return new

    def _value(self, old: Value) -> Value:
        if old not in self.values:
            inside = is_alias(old.node) or old.node.op is CONSTANT
            new = self._copied(old.node) if inside else self._param(old)
            self.values[old] = new.result()
        return self.values[old]

    def _param(self, old: Value) -> Node:
        self.operands.append(old)
        return Node.make(PARAM, (), ParamAttrs(len(self.operands) - 1), (old.type,))
