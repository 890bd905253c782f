"""Operands of attention from those of two products, whatever the order of their axes.

A score has *leading* axes, then queries, then keys. Leading axes that keys have too come first
(*batch* axes), then those of queries alone, which share keys (*groups*). Attention has two leading
axes, so several become one by a reshape, and missing ones have size 1:

    scores  [batch axes..., groups..., q, kv]     ->  [batch, heads, q, kv]
    keys    [batch axes..., kv, width]            ->  [batch, kv heads, kv, width]

Transposes and reshapes that meet others on the way become one, so that later passes see through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape
from anyshape.ops.attention import own_axes
from anyshape.ops.dot import DotAttrs, free_axes
from anyshape.ops.known import BROADCAST, RESHAPE, TRANSPOSE
from anyshape.ops.movement import TransposeAttrs
from anyshape.sym import Answer, Dim, FactScope, LessEqual, product

ONE = Dim.of(1)


# --- views ----------------------------------------------------------------------------------------


def transposed(value: Value, perm: Sequence[int], builder: Builder) -> Value:
    """The value with its axes in this order."""
    while value.node.op is TRANSPOSE:
        inner = value.node.attrs_as(TransposeAttrs).perm
        perm, (value,) = [inner[axis] for axis in perm], value.node.operands
    if list(perm) == list(range(value.tensor.rank)):
        return value
    if value.node.op is BROADCAST and value.node.operands[0].tensor.rank == len(perm):
        shape = [value.tensor.shape[axis] for axis in perm]
        return builder.emit(
            "broadcast", transposed(value.node.operands[0], perm, builder), shape=shape
        )
    return builder.emit("transpose", value, perm=tuple(perm))


def reshaped(value: Value, shape: Shape, builder: Builder) -> Value:
    """The value in this shape."""
    while value.tensor.shape != shape:
        inner = _before_reshape(value, builder)
        if inner is None:
            return builder.emit("reshape", value, shape=shape)
        value = inner
    return value


def below_views(value: Value) -> tuple[Value, list[Node]]:
    """What transposes and reshapes are of, and those, the last one first."""
    views: list[Node] = []
    while value.node.op in (TRANSPOSE, RESHAPE):
        views.append(value.node)
        (value,) = value.node.operands
    return value, views


def with_views(value: Value, views: Sequence[Node], builder: Builder) -> Value:
    """The same transposes and reshapes of another value."""
    for view in reversed(views):
        value = builder.node(view.op, [value], view.attrs).result()
    return value


def _before_reshape(value: Value, builder: Builder) -> Value | None:
    """A value with the same elements in the same order, and a reshape less."""
    node = value.node
    if node.op is RESHAPE:
        return node.operands[0]
    if node.op is not TRANSPOSE or node.operands[0].node.op is not RESHAPE:
        return None
    between, (x,) = node.operands[0], node.operands[0].node.operands
    runs = _runs(x.tensor.shape, between.tensor.shape)
    if runs is None:
        return None
    order = [own for axis in node.attrs_as(TransposeAttrs).perm for own in runs[axis]]
    ones = [axis for axis in range(x.tensor.rank) if axis not in order]
    return transposed(x, [*ones, *order], builder)


def _runs(shape: Shape, merged: Shape) -> list[list[int]] | None:
    """Neighbouring axes of a shape, but for those of 1, that each axis of its reshape is of."""
    axes = [axis for axis, dim in enumerate(shape) if dim != 1]
    runs: list[list[int]] = []
    for dim in merged:
        run, size = list[int](), ONE
        while axes and size != dim:
            run.append(axes.pop(0))
            size *= shape[run[-1]]
        if size != dim:
            return None
        runs.append(run)
    return None if axes else runs


# --- the first product ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sides:
    """Queries and keys of a score, with their axes in its order.

    `queries` is [batch axes..., groups..., q, width] and `keys` is [batch axes..., kv, width].
    """

    queries: Value
    keys: Value
    batch: Shape
    groups: Shape

    @property
    def leading(self) -> Shape:
        return (*self.batch, *self.groups)

    @property
    def count(self) -> Dim:
        """Of the queries."""
        return self.queries.tensor.shape[-2]

    @property
    def keys_count(self) -> Dim:
        return self.keys.tensor.shape[-2]

    @property
    def shape(self) -> Shape:
        """Of the scores."""
        return (*self.leading, self.count, self.keys_count)

    def with_leading(self, leading: Shape, builder: Builder) -> Sides | Refusal:
        """The same with other leading axes of the same size."""
        if leading == self.leading:
            return self
        if self.groups:
            return Refusal("its scores are reshaped, and heads share keys")
        queries = (*leading, *self.queries.tensor.shape[-2:])
        keys = (*leading, *self.keys.tensor.shape[-2:])
        return Sides(
            reshaped(self.queries, queries, builder),
            reshaped(self.keys, keys, builder),
            leading,
            self.groups,
        )


Origins = list[tuple[int | None, int | None]]
"""For each axis of a product's result the axis of lhs and of rhs that it comes from."""


def origins(dot: Node) -> Origins:
    attrs = dot.attrs_as(DotAttrs)
    left, right = (
        free_axes(value.tensor.rank, attrs, side) for side, value in enumerate(dot.operands)
    )
    pairs: Origins = [*zip(*attrs.batch, strict=True)]
    return [*pairs, *((axis, None) for axis in left), *((None, axis) for axis in right)]


def sides_of(dot: Node, order: Sequence[int], builder: Builder) -> Sides | Refusal:
    """Queries and keys of a product whose axes are then brought into an order, keys last."""
    axes = [origins(dot)[axis] for axis in order]
    of_keys = 0 if axes[-1][1] is None else 1
    of_queries = 1 - of_keys
    attrs = dot.attrs_as(DotAttrs)
    if axes[-1][of_queries] is not None:
        return Refusal("its softmax is along an axis that queries have too")
    if len(attrs.contract[0]) != 1:
        return Refusal("its scores are sums over several axes")
    shared = [None not in pair for pair in axes[:-1]]
    if len(shared) == sum(shared):
        return Refusal("it has no axis of queries")
    is_sorted = shared == sorted(shared, reverse=True)
    own = [pair[of_queries] for pair in axes[:-1]]
    if not is_sorted or None in own:
        return Refusal("its keys have two axes, or axes that queries share with them come late")
    theirs = [pair[of_keys] for pair, both in zip(axes[:-1], shared, strict=True) if both]
    queries, keys = dot.operands[of_queries], dot.operands[of_keys]
    perm = [axis for axis in own if axis is not None]
    key_perm = [axis for axis in (*theirs, axes[-1][of_keys]) if axis is not None]
    queries = transposed(queries, [*perm, attrs.contract[of_queries][0]], builder)
    keys = transposed(keys, [*key_perm, attrs.contract[of_keys][0]], builder)
    count = len(theirs)
    shape = queries.tensor.shape
    return Sides(queries, keys, shape[:count], shape[count:-2])


# --- the second product ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Values:
    """Values of the second product as [batch axes..., kv, out], and where its axes come from."""

    values: Value
    order: tuple[int, ...]  # axis i of the product is axis order[i] of [weights' axes but kv, out]


def values_of(dot: Node, weights: int, batch: int, builder: Builder) -> Values | Refusal:
    """What the weights, one operand of a product, are multiplied with."""
    attrs = dot.attrs_as(DotAttrs)
    own, other = dot.operands[weights], 1 - weights
    last = own.tensor.rank - 1
    if attrs.contract[weights] != (last,):
        return Refusal("its weights are not summed over the keys")
    axes = origins(dot)
    pairs = {pair[weights]: pair[other] for pair in axes if None not in pair}
    columns = [pair[other] for pair in axes if pair[weights] is None]
    if sorted(axis for axis in pairs if axis is not None) != list(range(batch)):
        return Refusal("its values are not for the heads that its keys are for")
    if len(columns) != 1:
        return Refusal("its values have no columns, or several axes of them")
    perm = [*(pairs[axis] for axis in range(batch)), attrs.contract[other][0], columns[0]]
    values = transposed(dot.operands[other], [axis for axis in perm if axis is not None], builder)
    order = (pair[weights] for pair in axes)
    return Values(values, tuple(last if axis is None else axis for axis in order))


# --- two leading axes -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leading:
    """Leading axes as those of attention, batch and heads: how many of them are either."""

    shape: Shape
    batches: int
    shared: int  # axes that keys have too
    rank: int  # of attention's operands

    @staticmethod
    def of(sides: Sides, scope: FactScope) -> Leading:
        """Attention has at least one kv head, so an axis that may be empty is no axis of heads."""
        batch, groups = sides.batch, sides.groups
        own = batch[-1:] if len(batch) > 1 else ()
        is_there = all(scope.proves(LessEqual(ONE, dim)) is Answer.TRUE for dim in own)
        heads = len(own) if is_there else 0
        batches = len(batch) - heads
        rank = 4 if heads or groups else 2 + min(batches, 1)
        return Leading(sides.leading, batches, len(batch), rank)

    def of_queries(self, value: Value, builder: Builder) -> Value:
        return self._merged(value, self.shape[self.batches :], builder)

    def of_keys(self, value: Value, builder: Builder) -> Value:
        return self._merged(value, self.shape[self.batches : self.shared], builder)

    def _merged(self, value: Value, heads: Shape, builder: Builder) -> Value:
        batch = self.shape[: self.batches]
        shape = (product(batch), product(heads), *value.tensor.shape[-2:])
        return reshaped(value, own_axes(shape, self.rank), builder)

    def of_mask(self, mask: Value, builder: Builder) -> Value:
        """A mask that broadcasts to the scores; axes of size 1 stay so where all of them are."""
        heads = len(self.shape) - self.batches
        if (self.batches <= 1 and heads == self.rank - 3) or self.rank == 2:  # axes align already
            return mask
        sizes = (*[ONE] * (len(self.shape) + 2 - mask.tensor.rank), *mask.tensor.shape)
        mask = reshaped(mask, sizes, builder)
        groups = (slice(0, self.batches), slice(self.batches, len(self.shape)))
        if any(_is_mixed(sizes[group], self.shape[group]) for group in groups):
            mask = builder.emit("broadcast", mask, shape=(*self.shape, *sizes[-2:]))
            sizes = mask.tensor.shape
        merged = (*(product(sizes[group]) for group in groups), *sizes[-2:])
        return reshaped(mask, own_axes(merged, self.rank), builder)


def _is_mixed(sizes: Shape, full: Shape) -> bool:
    """Whether some of these axes repeat and others do not, or may not."""
    return any(size != 1 for size in sizes) and sizes != full
