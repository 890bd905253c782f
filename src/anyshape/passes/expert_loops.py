"""Loops over groups become grouped products.

    for e in experts:                            _, ends, position, source = worklist(keys)
        rows = nonzero(keys == e)                h = expert(x[source])    grouped products
        out[rows] += expert[e](x[rows])          out += sum(h[position])

In the graph the loop is a chain of scatters, each to rows that a `nonzero` gives: as many late axes
as there are experts. The chain is taken if its masks compare the same keys with 0, 1, 2, … and all
experts compute the same (`all_groups.py`). No late axis is left, and experts without rows cost
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from anyshape.analysis.integer_ranges import RangeTable, proves
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import i64
from anyshape.ops import elementwise, sort
from anyshape.ops.known import GATHER, SCATTER, WORKLIST
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.scatter import ScatterAttrs
from anyshape.ops.sort import TopKAttrs
from anyshape.ops.worklist import WorklistAttrs
from anyshape.passes.all_groups import AllGroups, Kind, NotForAllError, RowsOfGroups
from anyshape.passes.constant_work import weights_of
from anyshape.passes.group_pattern import Mask, column_of, mask_of
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim, product


class Link(NamedTuple):
    """One round of a loop: what was there, the rows it adds to, and what it adds."""

    before: Value
    rows: Value
    added: Value
    mask: Mask
    nonzero: Node
    column: int


@dataclass(frozen=True)
class ExpertLoops:
    """Takes the rows of all experts together, where each expert has had a loop of its own."""

    name: str = "expert-loops"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        links = {node: link for node in graph.nodes() if (link := link_of(node)) is not None}
        inner = {link.before.node for link in links.values()}
        last = {node for node in links if node not in inner}
        if not last:
            return graph
        new = rebuild_graph(_Joiner(self.name, ctx, last), graph)
        return replace(new, weights=new.weights.subset(weights_of(new.body)))


def link_of(node: Node) -> Link | None:
    """A scatter that adds to rows of a mask."""
    if node.op is not SCATTER or node.attrs_as(ScatterAttrs).axis != 0:
        return None
    before, rows, updates = node.operands
    column = column_of(rows)
    mask = None if column is None else mask_of(column[0].operands[0])
    if column is None or mask is None:
        return None
    added = _added(node, updates, distinct=_are_distinct(mask, mask.axes[column[1]]))
    return None if added is None else Link(before, rows, added, mask, *column)


def _are_distinct(mask: Mask, axis: int) -> bool:
    """Whether no row of that axis is found twice. What `topk` takes along the other one differs."""
    if len(mask.axes) == 1:
        return True
    node = mask.keys.node
    is_indices = node.op is sort.topk and mask.keys.index == 1 and len(mask.axes) == 2
    return is_indices and node.attrs_as(TopKAttrs).axis != axis


def _added(node: Node, updates: Value, *, distinct: bool) -> Value | None:
    """What is added to the rows. `out[rows] = out[rows] + h` adds, too, if rows are distinct."""
    combine = node.attrs_as(ScatterAttrs).combine
    if combine == "add":
        return updates
    if combine != "set" or not distinct or updates.node.op is not elementwise.add:
        return None
    old = node.operands[:2]
    for value, other in (updates.node.operands, updates.node.operands[::-1]):
        read = value.node
        if read.op is GATHER and read.operands == old and read.attrs == AxisAttrs(0):
            return other
    return None


def chain_of(node: Node) -> tuple[Link, ...]:
    """The links that end at a node, the first one first."""
    links: list[Link] = []
    while (link := link_of(node)) is not None:
        links.append(link)
        node = link.before.node
    return tuple(reversed(links))


class _Joiner(Rebuilder):
    def __init__(self, name: str, ctx: PassContext, last: set[Node]) -> None:
        self.name = name
        self.ctx = ctx
        self.last = last
        self.ends: set[Node] = set()  # the last links, as they are now

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        if node in self.last:
            self.ends.add(new)
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node not in self.ends:
            return node.results
        made = _joined(chain_of(node), builder)
        taken = not isinstance(made, Refusal)
        why = "rows of all experts are multiplied together" if taken else str(made)
        self.ctx.decisions.record(Decision(self.name, taken, why, node, builder.location))
        return node.results if isinstance(made, Refusal) else (made,)


def _joined(links: Sequence[Link], builder: Builder) -> Value | Refusal:
    first = links[0].mask
    if len(links) < 2:
        return Refusal("it is not a loop")
    if any((link.mask.keys, link.mask.axes) != (first.keys, first.axes) for link in links):
        return Refusal("experts look at different routes")
    if [link.mask.group for link in links] != list(range(len(links))):
        return Refusal("experts are not numbered 0, 1, 2, …")
    if any(link.column != links[0].column for link in links):
        return Refusal("experts add along different axes")
    if first.keys.tensor.dtype.is_float:
        return Refusal("routes are no integers")
    if any(value.tensor.rank != 2 for link in links for value in (link.before, link.added)):
        return Refusal("what is added are no rows")
    try:
        return _all_rows(links, builder)
    except NotForAllError as error:
        return Refusal(str(error))


def _all_rows(links: Sequence[Link], builder: Builder) -> Value:
    mask, count = links[0].mask, product(links[0].mask.keys.tensor.shape)
    rank, keys = mask.keys.tensor.rank, mask.keys
    if rank > 2:
        raise NotForAllError(f"routes have {rank} axes")
    if keys.tensor.dtype != i64:
        keys = builder.emit("cast", keys, to=i64)
    attrs = WorklistAttrs(Dim.of(len(links)), count)
    order, ends, position, source = builder.node(WORKLIST, [keys], attrs).results

    @cache
    def group() -> Value:
        flat = builder.emit("reshape", keys, shape=[count])
        return builder.emit("gather", flat, order, axis=0)

    columns = tuple(_choice(order, keys, builder) if axis else source for axis in mask.axes)
    late = tuple(link.nonzero.late[0].symbol for link in links)
    rows = RowsOfGroups(columns, group, ends, count, late)
    added = AllGroups(rows, builder).of([link.added for link in links])
    if added.kind is not Kind.ROWS or added.axis != 0:
        raise NotForAllError("what is added are no rows")
    everywhere = _are_groups(keys, len(links), builder)
    taken = added.value if everywhere else _of_groups(added.value, ends, builder)
    return _summed(links[0], taken, position, builder)


def _are_groups(keys: Value, groups: int, builder: Builder) -> bool:
    """Whether every row has an expert, whatever the data are."""
    known = RangeTable().find(builder, keys)
    if known.low is None or known.high is None:
        return False
    return proves(builder, known.low >= 0) and proves(builder, known.high < groups)


def _choice(order: Value, keys: Value, builder: Builder) -> Value:
    """Which choice of its token each row is."""
    size = builder.emit("dim_value", value=keys.tensor.shape[1])
    return builder.emit("mod", order, size)


def _of_groups(added: Value, ends: Value, builder: Builder) -> Value:
    """Zeros for rows that no expert has: those behind the last group."""
    rows, last = added.tensor.shape[0], ends.tensor.shape[0]
    end = builder.emit("slice", ends, starts=[last - 1], stops=[last], steps=[1])
    number = builder.emit("iota", shape=[rows, 1], axis=0, dtype=i64)
    inside = builder.emit("lt", number, builder.emit("reshape", end, shape=[1, 1]))
    zero = builder.constant(added.tensor.dtype.numpy.type(0).reshape(()))
    return builder.emit("select", inside, added, zero)


def _summed(first: Link, added: Value, position: Value, builder: Builder) -> Value:
    """What was there, and of each row the sum of all that is added to it."""
    shape = first.mask.keys.tensor.shape
    axis = first.mask.axes[first.column]
    if first.before.tensor.shape[0] != shape[axis]:
        raise NotForAllError("rows are added to a tensor with other rows")
    rows = builder.emit("gather", added, position, axis=0)
    others = [other for other in range(len(shape)) if other != axis]
    total = builder.emit("sum", rows, axes=others) if others else rows
    return builder.emit("add", first.before, total)
