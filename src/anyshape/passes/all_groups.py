"""The same computation for each group, written once for the rows of all groups.

    h0 = f(x[rows0], w0)        rows0 = nonzero(keys == 0)            h = f(x[rows], w)
    h1 = f(x[rows1], w1)        rows1 = nonzero(keys == 1)

Values of the groups are walked together. Where they are one value, it is *shared*; where they are
weights, these become one tensor with an axis of groups; anything else is the same op for all, with
the rows of a group along one axis. An op is taken if each row of its result depends on the same row
of its operands. Products with weights are grouped products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from anyshape.ir.attrs import Attrs, map_dims
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp, Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Array, Shape
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import BROADCAST, CONSTANT, DOT, GATHER, RESHAPE, SLICE, TRANSPOSE
from anyshape.ops.movement import AxisAttrs, ShapeAttrs, SliceAttrs, TransposeAttrs
from anyshape.passes.group_pattern import column_of
from anyshape.passes.sibling_parts import array_of
from anyshape.sym import Dim, Symbol, product


class Kind(Enum):
    """How a value of all groups relates to those of each."""

    SHARED = "the same for all"
    WEIGHTS = "one for each group, along axis 0"
    ROWS = "rows of all groups along one axis"


@dataclass(frozen=True, slots=True)
class Whole:
    """A value for all groups."""

    value: Value
    kind: Kind
    axis: int = 0  # of rows


class NotForAllError(Exception):
    """Values of the groups have no form for all of them."""


@dataclass(frozen=True, slots=True)
class RowsOfGroups:
    """All rows by group: one index for each axis of the keys, the group of each row, the ends."""

    columns: tuple[Value, ...]  # of a mask, in its order
    group: Callable[[], Value]
    ends: Value
    count: Dim
    late: tuple[Symbol, ...]  # the rows of each group, as they were


class AllGroups:
    """Makes values for all groups with `builder`; see the module."""

    def __init__(self, rows: RowsOfGroups, builder: Builder) -> None:
        self.rows = rows
        self.builder = builder
        self._made: dict[tuple[Value, ...], Whole] = {}

    def of(self, values: Sequence[Value]) -> Whole:
        """The value for all groups, or `NotForAllError`."""
        key = tuple(values)
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, values: tuple[Value, ...]) -> Whole:
        first = values[0]
        if all(value == first for value in values):
            return Whole(first, Kind.SHARED)
        columns = [column_of(value) for value in values]
        if columns[0] is not None and all(c and c[1] == columns[0][1] for c in columns):
            return Whole(self.rows.columns[columns[0][1]], Kind.ROWS)
        nodes = [value.node for value in values]
        if any(node.op is not first.node.op for node in nodes):
            raise NotForAllError("groups compute different ops")
        if first.node.op is CONSTANT:
            return Whole(self._stacked(nodes), Kind.WEIGHTS)
        if first.node.op is SLICE and (whole := _elements_of_one(nodes)) is not None:
            return Whole(self._groups_of(whole), Kind.WEIGHTS)
        return self._same_op(nodes, first.index)

    def _stacked(self, constants: Sequence[Node]) -> Value:
        arrays = [array_of(node, self.builder.weights) for node in constants]
        if any(array.shape != arrays[0].shape for array in arrays):
            raise NotForAllError("weights of groups have different shapes")
        return self.builder.constant(_joined(arrays))

    def _groups_of(self, whole: Value) -> Value:
        """Elements along axis 0, which a slice has left there."""
        groups, *rest = whole.tensor.shape
        return self.builder.emit("reshape", whole, shape=[groups, 1, *rest])

    # --- the same op for all ------------------------------------------------------------------

    def _same_op(self, nodes: Sequence[Node], index: int) -> Whole:
        attrs = self._attrs(nodes)
        operands = [self.of([node.operands[i] for node in nodes])
                    for i in range(len(nodes[0].operands))]  # fmt: skip
        kinds = {operand.kind for operand in operands}
        if Kind.ROWS not in kinds and nodes[0].op in (RESHAPE, TRANSPOSE):
            return self._of_weights(nodes[0], operands[0])
        make = next((make for test, make in _MAKERS if test(nodes[0].op)), None)
        if Kind.ROWS not in kinds or make is None or index:
            raise NotForAllError(f"{nodes[0].op.name} is not computed row by row")
        return make(self, nodes[0], attrs, operands)

    def _attrs(self, nodes: Sequence[Node]) -> Attrs:
        """Those of one group are those of all, but for how many rows each has."""
        count = self.rows.count

        def counted(node: Node, late: Symbol) -> Attrs:
            return map_dims(node.attrs, lambda dim: dim.substitute({late: count}))

        each = [counted(node, late) for node, late in zip(nodes, self.rows.late, strict=True)]
        if any(attrs != each[0] for attrs in each):
            raise NotForAllError(f"groups have different attributes of {nodes[0].op.name}")
        return each[0]

    def _of_weights(self, node: Node, weights: Whole) -> Whole:
        groups = weights.value.tensor.shape[0]
        if node.op is RESHAPE:
            shape = (groups, *node.attrs_as(ShapeAttrs).shape)
            moved = self.builder.emit("reshape", weights.value, shape=shape)
        else:
            perm = (0, *(axis + 1 for axis in node.attrs_as(TransposeAttrs).perm))
            moved = self.builder.emit("transpose", weights.value, perm=perm)
        return Whole(moved, Kind.WEIGHTS)

    def elementwise(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        behind = {op.value.tensor.rank - op.axis for op in operands if op.kind is Kind.ROWS}
        if len(behind) != 1:
            raise NotForAllError(f"rows meet columns in {node.op.name}")
        (left,) = behind  # the axis of rows, counted from the end
        values = [self._aligned(operand, left) for operand in operands]
        made = self.builder.node(node.op, values, attrs).result()
        return Whole(made, Kind.ROWS, made.tensor.rank - left)

    def _aligned(self, operand: Whole, left: int) -> Value:
        """An operand of an elementwise op, where rows are `left` axes from the end."""
        value = operand.value
        if operand.kind is Kind.ROWS:
            return value
        shape = value.tensor.shape if operand.kind is Kind.SHARED else value.tensor.shape[1:]
        if len(shape) >= left and (len(shape) > left or shape[0] != 1):
            raise NotForAllError("an operand for each row is the same for all groups")
        if operand.kind is Kind.SHARED:
            return value
        ones = [Dim.of(1)] * (left - 1 - len(shape[-(left - 1) :] if left > 1 else ()))
        columns = shape[-(left - 1) :] if left > 1 else ()
        flat = self.builder.emit("reshape", value, shape=[value.tensor.shape[0], *ones, *columns])
        return self.builder.emit("gather", flat, self.rows.group(), axis=0)

    def gather(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        x, indices = operands
        if x.kind is not Kind.SHARED or indices.kind is not Kind.ROWS:
            raise NotForAllError("rows are gathered from what differs between groups")
        made = self.builder.node(node.op, [x.value, indices.value], attrs).result()
        return Whole(made, Kind.ROWS, node.attrs_as(AxisAttrs).axis + indices.axis)

    def reshape(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        """Rows stay whole, and what is before them stays as much."""
        (x,), late = operands, self.rows.late[0]
        before = product(x.value.tensor.shape[: x.axis])
        old = node.attrs_as(ShapeAttrs).shape
        axis = next((axis for axis, dim in enumerate(old) if dim == Dim.of(late)), None)
        if axis is None or product(old[:axis]) != before:
            raise NotForAllError("rows are taken apart, or put together with others")
        return Whole(self.builder.node(node.op, [x.value], attrs).result(), Kind.ROWS, axis)

    def transpose(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        axis = node.attrs_as(TransposeAttrs).perm.index(operands[0].axis)
        made = self.builder.node(node.op, [operands[0].value], attrs).result()
        return Whole(made, Kind.ROWS, axis)

    def slice(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        (x,), bounds = operands, node.attrs_as(SliceAttrs)
        late = Dim.of(self.rows.late[0])
        whole = bounds.starts[x.axis] == 0 and bounds.stops[x.axis] == late
        if not whole or bounds.steps[x.axis] != 1:
            raise NotForAllError("some rows of a group are taken")
        return Whole(self.builder.node(node.op, [x.value], attrs).result(), Kind.ROWS, x.axis)

    def broadcast(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        (x,) = operands
        made = self.builder.node(node.op, [x.value], attrs).result()
        return Whole(made, Kind.ROWS, x.axis + made.tensor.rank - x.value.tensor.rank)

    def dot(self, node: Node, attrs: Attrs, operands: Sequence[Whole]) -> Whole:
        x, weights = operands
        order = _ORDERS.get(node.attrs_as(DotAttrs))
        ranks = x.value.tensor.rank, weights.value.tensor.rank
        are_rows = x.kind is Kind.ROWS and x.axis == 0 and weights.kind is Kind.WEIGHTS
        if order is None or not are_rows or ranks != (2, 3):
            raise NotForAllError("a product is not of rows and weights")
        matrices = weights.value
        if order != (0, 1, 2):
            matrices = self.builder.emit("transpose", matrices, perm=order)
        made = self.builder.emit("grouped_dot", x.value, matrices, self.rows.ends)
        return Whole(made, Kind.ROWS)


_ORDERS: Final = {DotAttrs(((1,), (0,))): (0, 1, 2), DotAttrs(((1,), (1,))): (0, 2, 1)}
"""By what a product contracts: the order of axes in which its weights are [groups, k, n]."""

Make = Callable[[AllGroups, Node, Attrs, Sequence[Whole]], Whole]


def _is(op: AnyOp) -> Callable[[AnyOp], bool]:
    return lambda other: other is op


_MAKERS: Final[tuple[tuple[Callable[[AnyOp], bool], Make], ...]] = (
    (lambda op: op.has(Trait.ELEMENTWISE), AllGroups.elementwise),
    (_is(GATHER), AllGroups.gather),
    (_is(RESHAPE), AllGroups.reshape),
    (_is(TRANSPOSE), AllGroups.transpose),
    (_is(SLICE), AllGroups.slice),
    (_is(BROADCAST), AllGroups.broadcast),
    (_is(DOT), AllGroups.dot),
)


def _joined(arrays: Sequence[Array]) -> Array:
    return np.stack(arrays)


def _elements_of_one(nodes: Sequence[Node]) -> Value | None:
    """The value whose elements along axis 0 are taken, each by one slice, in order and all."""
    whole = nodes[0].operands[0]
    groups, *rest = whole.tensor.shape
    if groups != len(nodes) or any(node.operands[0] != whole for node in nodes):
        return None
    for place, node in enumerate(nodes):
        if node.attrs != _element(place, tuple(rest)):
            return None
    return whole


def _element(place: int, rest: Shape) -> SliceAttrs:
    zeros, ones = (Dim.of(0),) * len(rest), (1,) * (len(rest) + 1)
    return SliceAttrs((Dim.of(place), *zeros), (Dim.of(place + 1), *rest), ones)


def refusal_of(error: NotForAllError) -> Refusal:
    return Refusal(str(error))
