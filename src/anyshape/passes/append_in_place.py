"""Results that continue a donated input: `present = concat([past, new], axis)`.

    past: f32[batch, heads, seq, width]      as the caller sees it
          f32[seq, batch, heads, width]      as it lies in memory

Such a result need not be written again from its beginning, if the new part can be put behind the
past. That needs two things. In memory the axis that grows is the outermost one, so that new is
behind past: `GrowingAxesFirst` gives the input and the result that order, and the caller sees them
transposed. And the result begins where the input does: an `append` says so to the plan, and the
runtime sees at each call whether there is room (docs/design/0014).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import ParamAttrs, lookup
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import TensorType, Type
from anyshape.ops.control import WhileAttrs
from anyshape.ops.known import APPEND, CONCAT
from anyshape.ops.movement import AxisAttrs, TransposeAttrs
from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.donation import NOTHING_DONATED, Donation, Order
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import is_source, runs_whole
from anyshape.passes.own_results import copied, root_of


@dataclass(frozen=True, slots=True)
class Growth:
    """A donated input, and the result that continues it along an axis."""

    input: int
    result: Value
    axis: int

    @property
    def order(self) -> Order:
        """The axes as they lie in memory, outermost first."""
        others = (axis for axis in range(self.result.tensor.rank) if axis != self.axis)
        return (self.axis, *others)

    @property
    def is_to_append(self) -> bool:
        """Whether it is a concat that an append can be, and is none yet."""
        return self.axis == 0 and self.result.node.op is CONCAT


def growths_of(results: Sequence[Value], donated: Container[int]) -> tuple[Growth, ...]:
    """At most one for each of the `donated` inputs."""
    found: dict[int, Growth] = {}
    for value in dict.fromkeys(results):
        growth = _growth(value)
        if growth is not None and growth.input in donated:
            found.setdefault(growth.input, growth)
    return tuple(found.values())


def _growth(value: Value) -> Growth | None:
    node = value.node
    if node.op not in (CONCAT, APPEND) or len(node.operands) < 2:
        return None
    first = node.operands[0].node
    axis = node.attrs.axis if isinstance(node.attrs, AxisAttrs) else 0
    return Growth(first.attrs.index, value, axis) if isinstance(first.attrs, ParamAttrs) else None


# --- the order in memory --------------------------------------------------------------------------


@dataclass(frozen=True)
class GrowingAxesFirst:
    """Gives donated inputs, and results that continue them, the order that they have in memory.

    Only a graph that is one native call uses what is donated: one with host nodes copies. What a
    loop carries and continues is carried in that order, too.
    """

    name: str = "growing-axes-first"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if any(node.regions for node in graph.nodes()):
            loops = _ReorderInLoops(self.name, ctx)
            inside = rebuild_graph(loops, graph)
            graph = Canonicalize().run(inside, ctx) if loops.changed else graph
        donated = ctx.donation.inputs
        if donated and not runs_whole(graph):
            ctx.donation = NOTHING_DONATED
            return graph
        growths = growths_of(graph.results, donated)
        if not growths:
            return graph
        ctx.donation = _donation(donated, growths, graph.results)
        for growth in growths:
            node = growth.result.node
            why = f"'{graph.inputs[growth.input]}' grows along axis {growth.axis}"
            place = graph.locations.of(node)
            ctx.decisions.record(Decision(self.name, True, why, node, place))
        return reordered(graph, {growth.input: growth.order for growth in growths}, ctx, growths)


def reordered(
    graph: Graph, orders: Mapping[int, Order], ctx: PassContext, growths: tuple[Growth, ...] = ()
) -> Graph:
    """The graph with inputs in other orders, and results that continue them."""
    named = {graph.inputs[number]: order for number, order in orders.items()}
    moved = rebuild_graph(_Reorder(orders, growths), _declared_in_memory(graph, named))
    return Canonicalize().run(moved, ctx)  # transposes meet and cancel


def _declared_in_memory(graph: Graph, orders: Mapping[str, Order]) -> Graph:
    """What callers know of the inputs, in the orders that these get."""
    if graph.declared is None:
        return graph
    inputs = tuple(
        (name, type_.with_shape(tuple(type_.shape[axis] for axis in orders[name])))
        if name in orders
        else (name, type_)
        for name, type_ in graph.declared.inputs
    )
    return replace(graph, declared=replace(graph.declared, inputs=inputs))


def _donation(
    donated: frozenset[int], growths: Sequence[Growth], results: Sequence[Value]
) -> Donation:
    """`results` are those of the graph that the growths are of."""
    moved = {growth.result: growth.order for growth in growths if growth.axis != 0}
    return Donation(
        donated,
        {growth.input: growth.order for growth in growths if growth.axis != 0},
        {number: moved[value] for number, value in enumerate(results) if value in moved},
    )


class _Reorder(Rebuilder):
    """Inside the graph everything stays in the caller's order, behind transposes."""

    def __init__(self, orders: Mapping[int, Order], growths: tuple[Growth, ...]) -> None:
        self.orders = orders
        self.of_result = {growth.result: growth for growth in growths}
        self.inside = False

    def region(self, region: Region, builder: Builder) -> Region:
        if self.inside:  # a region of a node
            return super().region(region, builder)
        self.inside = True
        given = [self._param(i, type_, builder) for i, type_ in enumerate(region.params)]
        values: dict[Value, Value] = {}
        results: dict[Value, Value] = {}
        for node in region.nodes():
            if isinstance(node.attrs, ParamAttrs):
                values[node.result()] = self._as_given(given[node.attrs.index], node.attrs, builder)
            elif node.results[0] in self.of_result:
                grown = self._grown(node, values, given, builder)
                results[node.result()] = grown
                growth = self.of_result[node.result()]
                values[node.result()] = _transposed(grown, _inverse(growth.order), builder)
            else:
                new = self._visit(node, values, builder)
                values.update(zip(node.results, new, strict=True))
        return builder.region([results.get(value, values[value]) for value in region.results])

    def _param(self, index: int, type_: Type, builder: Builder) -> Value:
        order = self.orders.get(index)
        if order is None or not isinstance(type_, TensorType):
            return builder.param(type_)
        shape = tuple(type_.shape[axis] for axis in order)
        return builder.param(replace(type_, shape=shape))

    def _as_given(self, param: Value, attrs: ParamAttrs, builder: Builder) -> Value:
        order = self.orders.get(attrs.index)
        return param if order is None else _transposed(param, _inverse(order), builder)

    def _grown(
        self, node: Node, values: dict[Value, Value], given: list[Value], builder: Builder
    ) -> Value:
        """The result in its order in memory, as a concat along the outermost axis."""
        growth = self.of_result[node.result()]
        builder.location = builder.locations.of(node)
        parts = [_transposed(values[part], growth.order, builder) for part in node.operands[1:]]
        new = parts[0] if len(parts) == 1 else builder.emit("concat", *parts, axis=0)
        return builder.emit("concat", given[growth.input], new, axis=0)


class _ReorderInLoops(Rebuilder):
    """Loops carry what grows along another axis than the first in its order in memory. Only those
    that are in no other: a loop turns it before and behind, which is not for each iteration."""

    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.depth = 0
        self.changed = False

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        self.depth += 1
        new = super().rebuilt(node, operands, builder)
        self.depth -= 1
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if self.depth or not isinstance(node.attrs, WhileAttrs):
            return node.results
        condition, body = node.regions
        found = growths_of(body.results, range(node.attrs.carried))
        growths = tuple(g for g in found if _is_carried_in_order(g, node, body))
        if not growths:
            return node.results
        self.changed = True
        orders = {growth.input: growth.order for growth in growths}
        for growth in growths:
            grown, why = growth.result.node, f"the loop carries what grows along axis {growth.axis}"
            place = builder.locations.of(grown)
            self.ctx.decisions.record(Decision(self.name, True, why, grown, place))
        regions = [
            _Reorder(orders, growths).region(r, builder.nested(r.facts)) for r in (condition, body)
        ]
        operands = [
            _transposed(value, orders[i], builder) if i in orders else value
            for i, value in enumerate(node.operands)
        ]
        new = builder.node(node.op, operands, node.attrs, regions, node.late)
        return tuple(
            _transposed(value, _inverse(orders[i]), builder) if i in orders else value
            for i, value in enumerate(new.results)
        )


def _is_carried_in_order(growth: Growth, loop: Node, body: Region) -> bool:
    """Whether it stands at its own place, and no other of its sizes changes: a loop's late sizes
    are named in the order of axes."""
    born = {axis.symbol for axis in loop.late} & loop.results[growth.input].tensor.symbols
    at_its_place = body.results[growth.input] == growth.result
    return growth.axis != 0 and at_its_place and len(born) == 1


def _transposed(value: Value, order: Order, builder: Builder) -> Value:
    if order == tuple(range(len(order))):
        return value
    return builder.node(lookup("transpose"), [value], TransposeAttrs(order)).result()


def _inverse(order: Order) -> Order:
    return tuple(order.index(axis) for axis in range(len(order)))


# --- the same memory ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Append:
    """Makes an `append` of each concat that continues a donated input along its first axis, and of
    each that a loop carries from one iteration to the next.

    What is appended is computed where it belongs, behind the input: it must be a value that some
    kernel computes, and that has no other place. Anything else is copied.
    """

    name: str = "append"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if any(node.regions for node in graph.nodes()):
            graph = rebuild_graph(_InLoops(self.name, ctx), graph)
        growths = growths_of(graph.results, ctx.donation.inputs)
        outermost = [growth for growth in growths if growth.is_to_append]
        if not outermost:
            return graph
        return rebuild_graph(_Appender(outermost, graph.results), graph)


class _InLoops(Rebuilder):
    """What a loop carries is its own: an iteration goes on where the one before has ended, if the
    runtime sees that nobody else needs it."""

    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)  # inner loops first
        if not isinstance(new.attrs, WhileAttrs):
            return new
        condition, body = new.regions
        growths = growths_of(body.results, range(new.attrs.carried))
        outermost = [g for g in growths if g.is_to_append and body.results[g.input] == g.result]
        if not outermost:
            return new
        for growth in outermost:
            grown, why = growth.result.node, "the loop carries what it continues"
            place = builder.locations.of(grown)
            self.ctx.decisions.record(Decision(self.name, True, why, grown, place))
        appender = _Appender(outermost, body.results, always=True)
        region = appender.region(body, builder.nested(body.facts))
        return builder.node(new.op, operands, new.attrs, (condition, region), new.late)


class _Appender(Rebuilder):
    """With `always`, parts are copied whoever computes them: in a region that may be another
    segment than that of the append."""

    def __init__(
        self, growths: list[Growth], results: Sequence[Value], always: bool = False
    ) -> None:
        nodes = [growth.result.node for growth in growths]
        taken = {root_of(value) for value in results}
        self.copies: dict[Node, bool] = {}
        for node in nodes:
            root = root_of(node.operands[1])
            is_placed = is_source(root.node) or root in taken or len(node.operands) > 2
            self.copies[node] = always or is_placed
            taken.add(root)
        self.placed: set[Value] = set()

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        copy = self.copies.get(node)
        if copy is None:
            return super().rebuilt(node, operands, builder)
        past, *parts = operands
        new = parts[0] if len(parts) == 1 else builder.emit("concat", *parts, axis=0)
        new = copied(new, builder) if copy else new
        while new in self.placed:  # equal nodes are one: a second copy is a copy of the first
            new = copied(new, builder)
        self.placed.add(new)
        return builder.node(lookup("append"), [past, new], NO_ATTRS)


def appends(graph: Graph) -> Iterator[Node]:
    """The nodes that continue an input."""
    return (node for node in graph.nodes() if node.op is APPEND)
