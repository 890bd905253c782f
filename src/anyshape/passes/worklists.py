"""Rows sorted by group, in the forms that models write, become worklists.

    sort(keys), cumsum(counts of keys)            worklist(keys): order and ends, in one kernel
    scatter(0, order, arange), argsort(order)     its third result: where each row went
    scatter-add(base, order // k, h)              base + sum(h[position]), which threads share
    reshape(x[i])                                 x[reshape(i)]: rows are summed where they are read
    x @ wa, x @ wb by group                       x @ [wa wb]: the halves of one product

Keys must be groups by what they are (the places of a `topk`, of an `argmax`): a sort puts other
keys before them or between them, where a worklist puts them last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anyshape.analysis.integer_ranges import proves
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import i32, i64
from anyshape.ops import elementwise, sort
from anyshape.ops.known import (
    CAST,
    CONSTANT,
    GATHER,
    GROUPED_DOT,
    IOTA,
    RESHAPE,
    SCATTER,
    TRANSPOSE,
    WORKLIST,
)
from anyshape.ops.movement import AxisAttrs, TransposeAttrs
from anyshape.ops.scatter import ScatterAttrs
from anyshape.ops.sort import SortAttrs
from anyshape.ops.source import DimAttrs
from anyshape.ops.worklist import WorklistAttrs
from anyshape.passes.constant_work import weights_of
from anyshape.passes.group_pattern import ends_of, literal, same_counts
from anyshape.passes.infra import PassContext
from anyshape.passes.known_indices import IndexAsker
from anyshape.passes.sibling_parts import array_of
from anyshape.sym import Dim, product


@dataclass(frozen=True)
class Worklists:
    """Brings rows by group into the form that kernels know."""

    name: str = "worklists"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        nodes = graph.nodes()
        if not any(node.op in (GROUPED_DOT, WORKLIST) for node in nodes):
            return graph
        new = rebuild_graph(_Former(self.name, ctx, dict(_sorted_keys(nodes))), graph)
        pairs = dict(_pairs(new))
        if not pairs:
            return new
        joined = rebuild_graph(_Joiner(self.name, ctx, pairs), new)
        return replace(joined, weights=joined.weights.subset(weights_of(joined.body)))


def _sorted_keys(nodes: Sequence[Node]) -> Iterator[tuple[Node, int]]:
    """Sorts whose keys, or what they become, are counted: with the number of groups."""
    sorts = {
        value: node
        for node in nodes
        if node.op is sort.sort and node.attrs == SortAttrs(0) and _is_keys(node.operands[0])
        for value in (node.operands[0], node.result(0))
    }
    for node in nodes:
        ends = ends_of(node)
        if ends is not None and ends.keys in sorts:
            yield sorts[ends.keys], ends.groups


def _is_keys(value: Value) -> bool:
    return value.tensor.rank == 1 and value.tensor.dtype in (i32, i64)


class _Former(IndexAsker):
    """Recognises nodes on their new operands, so that one finding leads to the next: rows that are
    a worklist's are indices in range."""

    def __init__(self, name: str, ctx: PassContext, sorts: Mapping[Node, int]) -> None:
        super().__init__(name, ctx)
        self.sorts = sorts
        self.groups: dict[Node, int] = {}  # of sorts, as they are now
        self.lists: dict[Value, Node] = {}  # the worklist of these keys

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        if node in self.sorts:
            self.groups[new] = self.sorts[node]
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node in self.groups:
            return self._of_sort(node, builder)
        made = self._ends(node, builder) or _position(node, builder) or _sums(node, builder)
        made = made or _of_indices(node, builder) or _put_together(node) or _source(node)
        made = made or _of_own_ends(node, builder) or _with_tokens(node, builder)
        if made is None or tuple(value.type for value in made) != node.types:
            return super().replace(node, builder)  # or a literal of size 1 adds axes
        self._decide(node, builder, "it is of rows by group")
        return made

    def _decide(self, node: Node, builder: Builder, why: str, *, taken: bool = True) -> None:
        self.ctx.decisions.record(Decision(self.name, taken, why, node, builder.location))

    def _of_sort(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        keys, groups = node.operands[0], self.groups[node]
        known = self.ranges.find(builder, keys)
        low = known.low is not None and proves(builder, known.low >= 0)
        if not low or known.high is None or not proves(builder, known.high < groups):
            self._decide(node, builder, "a key may be no group", taken=False)
            return node.results
        attrs = WorklistAttrs(Dim.of(groups), keys.tensor.shape[0])
        made = self.lists[keys] = builder.node(WORKLIST, [_of_tokens(keys)], attrs)
        self._decide(node, builder, "its keys are groups")
        return builder.emit("gather", keys, made.result(0), axis=0), made.result(0)

    def _ends(self, node: Node, builder: Builder) -> tuple[Value, ...] | None:
        ends = ends_of(node)
        if ends is None:
            return None
        keys, read = ends.keys, ends.keys.node
        if read.op is GATHER and read.operands[1].node in self.lists.values():
            keys = read.operands[0]  # in another order, of which there are as many
        made = self.lists.get(keys)
        if made is None or made.attrs_as(WorklistAttrs).groups != ends.groups:
            return None
        dtype = node.result().tensor.dtype
        where = made.result(1)
        return (where if dtype == i64 else builder.emit("cast", where, to=dtype),)


def _is_order(value: Value) -> bool:
    return value.node.op is WORKLIST and value.index == 0


def _of_tokens(keys: Value) -> Value:
    """Keys as they were before they were made flat, if they are [tokens, choices]."""
    old = keys.node.operands[0] if keys.node.op is RESHAPE else keys
    return old if old.tensor.rank == 2 and keys.tensor.rank == 1 else keys


def _with_tokens(node: Node, builder: Builder) -> tuple[Value, ...] | None:
    """A worklist of flat keys, as that of tokens with choices."""
    if node.op is not WORKLIST or _of_tokens(node.operands[0]) == node.operands[0]:
        return None
    made = builder.node(WORKLIST, [_of_tokens(node.operands[0])], node.attrs)
    order, ends, _, _ = made.results
    return order, ends, _flat_position(made, builder), order


def _flat_position(made: Node, builder: Builder) -> Value:
    position, rows = made.result(2), made.result(0).tensor.shape
    if position.tensor.shape == rows:
        return position
    return builder.emit("reshape", position, shape=rows)


def _source(node: Node) -> tuple[Value, ...] | None:
    """The token of each row, as models compute it."""
    if node.op is not elementwise.floordiv:
        return None
    order, each = _divided(node.result())
    if not _is_order(order):
        return None
    keys = order.node.operands[0].tensor
    return (order.node.result(3),) if keys.rank == 2 and keys.shape[1] == each else None


def _of_own_ends(node: Node, builder: Builder) -> tuple[Value, ...] | None:
    """A grouped product with ends as they are, in no other dtype."""
    if node.op is not GROUPED_DOT or node.operands[2].node.op is not CAST:
        return None
    ends = same_counts(node.operands[2])
    if ends.node.op is not WORKLIST:
        return None
    return (builder.emit("grouped_dot", *node.operands[:2], ends),)


def _position(node: Node, builder: Builder) -> tuple[Value, ...] | None:
    """Where rows went: numbers written at the order of rows, or that order sorted."""
    if node.op is sort.sort and node.attrs == SortAttrs(0) and _is_order(node.operands[0]):
        return node.result(0), _flat_position(node.operands[0].node, builder)
    if node.op is not SCATTER or node.attrs != ScatterAttrs(0):
        return None
    into, order, numbers = node.operands
    whole = into.tensor == order.tensor and _is_order(order)
    counted = whole and numbers.node.op is IOTA
    return (_flat_position(order.node, builder),) if counted else None


def _sums(node: Node, builder: Builder) -> tuple[Value, ...] | None:
    """Rows that are added to where they came from, as many for each."""
    if node.op is not SCATTER or node.attrs != ScatterAttrs(0, "add"):
        return None
    base, tokens, updates = node.operands
    made = tokens.node
    if made.op is not WORKLIST or base.tensor.rank != 2:
        return None
    keys = made.operands[0].tensor
    own = tokens.index == 3 or (_is_order(tokens) and keys.rank == 1)
    if not own or keys.shape[0] != base.tensor.shape[0]:
        return None
    rows = builder.emit("gather", updates, made.result(2), axis=0)
    total = builder.emit("sum", rows, axes=[1]) if keys.rank == 2 else rows
    return (builder.emit("add", base, total),)


def _divided(indices: Value) -> tuple[Value, int]:
    """`order // k` as order and k."""
    if indices.node.op is not elementwise.floordiv:
        return indices, 1
    order, divisor = indices.node.operands
    number = _number(divisor)
    return (indices, 1) if number is None else (order, number)


def _of_indices(node: Node, builder: Builder) -> tuple[Value, ...] | None:
    """Rows gathered and then taken apart, as rows gathered by indices that were taken apart."""
    read = node.operands[0].node if node.op is RESHAPE else node
    if read is node or read.op is not GATHER or not read.operands[0].tensor.rank:
        return None
    (x, indices), axis = read.operands, read.attrs_as(AxisAttrs).axis
    before, (size, *after) = x.tensor.shape[:axis], x.tensor.shape[axis:]
    shape = node.result().tensor.shape
    rows = len(shape) - len(after)
    if not after or any(dim != 1 for dim in before) or rows < 0 or shape[rows:] != tuple(after):
        return None
    if product(shape[:rows]) != product(indices.tensor.shape):
        return None
    if before:
        x = builder.emit("reshape", x, shape=[size, *after])
    if shape[:rows] != indices.tensor.shape:
        indices = builder.emit("reshape", indices, shape=shape[:rows])
    return (builder.emit("gather", x, indices, axis=0),)


def _put_together(node: Node) -> tuple[Value, ...] | None:
    """`(i // k) * k + i % k`, as two axes of keys are read by the rows that they are of."""
    if node.op is not elementwise.add:
        return None
    for quotient, rest in (node.operands, node.operands[::-1]):
        if quotient.node.op is elementwise.mul and rest.node.op is elementwise.mod:
            whole, factor = quotient.node.operands
            index, size = _divided(whole)
            same = rest.node.operands[0] == index and index != whole
            if same and _number(factor) == _number(rest.node.operands[1]) == size != 0:
                return (index,)
    return None


def _number(value: Value) -> int | None:
    if isinstance(value.node.attrs, DimAttrs):
        return value.node.attrs.value.constant
    array = literal(value)
    if array is None or array.size != 1 or array.dtype.kind not in "iu":
        return None
    return int(array.ravel()[0])


# --- halves of one product ------------------------------------------------------------------------


def _pairs(graph: Graph) -> Iterator[tuple[Node, tuple[Node, Node]]]:
    """Two products of the same rows with as many constant columns, that one op puts together."""
    alike: defaultdict[object, list[Node]] = defaultdict(list)
    users: defaultdict[Node, list[Node]] = defaultdict(list)
    for node in graph.nodes():
        for value in node.operands:
            users[value.node].append(node)
        if node.op is GROUPED_DOT and _constant(node.operands[1]) is not None:
            x, weights, ends = node.operands
            alike[x, ends, weights.tensor].append(node)
    for products in alike.values():
        if len(products) == 2 and _meet(products[0], products[1], users):
            pair = (products[0], products[1])
            yield from ((product, pair) for product in pair)


def _meet(first: Node, second: Node, users: Mapping[Node, list[Node]]) -> bool:
    """Whether elementwise ops, each the only reader of the one before, lead to one op."""
    behind = [set(_behind(node, users)) for node in (first, second)]
    return bool(behind[0] & behind[1])


def _behind(node: Node, users: Mapping[Node, list[Node]]) -> Iterator[Node]:
    while len(readers := set(users.get(node, ()))) == 1:
        (node,) = readers
        if not node.op.has(Trait.ELEMENTWISE):
            return
        yield node


def _constant(weights: Value) -> Node | None:
    """The constant [groups, k, n] that weights are, or are a transpose of."""
    node = weights.node
    if node.op is TRANSPOSE:
        node = node.operands[0].node
    return node if node.op is CONSTANT else None


class _Joiner(Rebuilder):
    """Makes one product where the first of a pair is, and slices of it."""

    def __init__(
        self, name: str, ctx: PassContext, pairs: Mapping[Node, tuple[Node, Node]]
    ) -> None:
        self.name = name
        self.ctx = ctx
        self.pairs = pairs
        self.old: dict[Node, Node] = {}
        self.made: dict[tuple[Node, Node], Value] = {}

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        new = super().rebuilt(node, operands, builder)
        self.old[new] = node
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        pair = self.pairs.get(self.old[node])
        if pair is None:
            return node.results
        if pair not in self.made:
            why = "two products of the same rows are one"
            self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
            arrays = [_array(each.operands[1], builder) for each in pair]
            weights = builder.constant(np.concatenate(arrays, axis=2))
            x, _, ends = node.operands
            self.made[pair] = builder.emit("grouped_dot", x, weights, ends)
        width = node.result().tensor.shape[1]
        first = width * pair.index(self.old[node])
        whole = self.made[pair]
        starts, stops = [Dim.of(0), first], [whole.tensor.shape[0], first + width]
        return (builder.emit("slice", whole, starts=starts, stops=stops, steps=[1, 1]),)


def _array(weights: Value, builder: Builder) -> np.ndarray:
    if weights.node.op is not TRANSPOSE:
        return array_of(weights.node, builder.weights)
    array = array_of(weights.node.operands[0].node, builder.weights)
    return array.transpose(weights.node.attrs_as(TransposeAttrs).perm)
