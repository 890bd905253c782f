"""Which masks are bands: true exactly where `low <= key - query <= high`.

A mask stands for the pairs of a query and a key, its last two axes. It is a band if it compares
positions that are counted along these axes (`key <= query + past`, `|query - key| < window`), if it
is a triangle or the negation of a triangle, or if it is a constant that lies so, cut to size. The
content of constants is looked at, once for each.

Bounds are dims, so an answer holds for every size, 0 and 1 included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import AnyOp
from anyshape.ir.rewrite.match import constant_array
from anyshape.ir.types import Array, bool_, i32, i64
from anyshape.ops.elementwise import abs_, eq, gt, logical_not, lt, ne, neg, select, sub
from anyshape.ops.known import (
    ADD,
    BROADCAST,
    CAST,
    CONSTANT,
    GE,
    IOTA,
    LE,
    LOGICAL_AND,
    RESHAPE,
    SLICE,
)
from anyshape.ops.movement import SliceAttrs
from anyshape.ops.source import DimAttrs, IotaAttrs
from anyshape.passes.attention_score import uniform_number
from anyshape.sym import Dim, minimum

WIDE = (i64, i32)  # what counts all keys there can be
DEEPEST = 24  # ops between a mask and its positions
ZERO = Dim.of(0)


@dataclass(frozen=True, slots=True)
class Band:
    """The pairs with `low <= key - query <= high`; None is no bound."""

    low: Dim | None = None
    high: Dim | None = None

    @property
    def negation(self) -> Band | None:
        """The pairs that are not in it, if they are a band."""
        if self.low is None and self.high is not None:
            return Band(low=self.high + 1)
        if self.high is None and self.low is not None:
            return Band(high=self.low - 1)
        return None

    def shifted(self, by: Dim) -> Band:
        low, high = (None if bound is None else bound + by for bound in (self.low, self.high))
        return Band(low, high)

    def both(self, other: Band) -> Band | None:
        """The pairs in both, where each bound is one of theirs."""
        if None not in (self.low, other.low) or None not in (self.high, other.high):
            return None
        low = self.low if other.low is None else other.low
        return Band(low, self.high if other.high is None else other.high)


@dataclass(frozen=True, slots=True)
class _Linear:
    """`key * key position + query * query position + offset`."""

    key: int
    query: int
    offset: Dim

    def __add__(self, other: _Linear) -> _Linear:
        return _Linear(self.key + other.key, self.query + other.query, self.offset + other.offset)

    def __neg__(self) -> _Linear:
        return _Linear(-self.key, -self.query, -self.offset)


@dataclass
class MaskBands:
    """Bands among the masks for so many queries and keys."""

    queries: Dim
    keys: Dim
    weights: WeightStore
    contents: dict[Node, Band | None] = field(default_factory=dict[Node, "Band | None"])
    numbers: dict[Value, tuple[Band, float] | None] = field(
        default_factory=dict[Value, "tuple[Band, float] | None"]
    )
    bands: dict[Value, Band | None] = field(default_factory=dict[Value, "Band | None"])
    lines: dict[Value, _Linear | None] = field(default_factory=dict[Value, "_Linear | None"])

    def of(self, mask: Value, depth: int = DEEPEST) -> Band | None:
        """The band that a bool mask is, if it is one. Values are looked at once each."""
        if mask not in self.bands:
            self.bands[mask] = self._made(mask, depth)
        return self.bands[mask]

    def _made(self, mask: Value, depth: int) -> Band | None:
        node = mask.node
        if depth == 0 or mask.tensor.dtype != bool_:
            return None
        if node.op in _COMPARISONS:
            return self._compared(node, depth) or self._of_content(mask)
        if node.op is logical_not:
            inner = self.of(node.operands[0], depth - 1)
            return inner.negation if inner else self._of_content(mask)
        if node.op in (BROADCAST, RESHAPE):
            (inner,) = node.operands
            same = inner.tensor.shape[-2:] == mask.tensor.shape[-2:]
            return self.of(inner, depth - 1) if same else None
        return self._chosen(node, depth) or self._of_content(mask)

    def _chosen(self, node: Node, depth: int) -> Band | None:
        """What is true and false by a choice: of numbers, or as a number."""
        if node.op is LOGICAL_AND:
            bands = [self.of(value, depth - 1) for value in node.operands]
            return bands[0].both(bands[1]) if bands[0] and bands[1] else None
        if node.op is CAST:
            return self._where(node.operands[0], lambda number: number != 0, depth)
        return self._where(node.result(), lambda number: number != 0, depth)

    def _where(self, value: Value, holds: Callable[[float], bool], depth: int) -> Band | None:
        """Where a value that is one of two numbers is one for which something holds."""
        if value.node.op is not select:
            return None
        condition, *numbers = value.node.operands
        answers = [None if n is None else holds(n) for n in map(uniform_number, numbers)]
        if None in answers or answers[0] == answers[1]:
            return None
        band = self.of(condition, depth - 1)
        return band if band is None or answers[0] else band.negation

    # --- comparisons --------------------------------------------------------------------------

    def _compared(self, node: Node, depth: int) -> Band | None:
        left, right = node.operands
        number = uniform_number(right)
        if number is not None:
            test = _COMPARISONS[node.op]
            found = self._where(left, lambda x: test(x, number), depth)
            if found is not None:
                return found
        if left.node.op is abs_ and node.op in (lt, LE):
            return self._near(left.node.operands[0], right, node.op)
        difference = self._difference(left, right)
        return None if difference is None else _bounded(difference, node.op)

    def _near(self, value: Value, limit: Value, op: AnyOp) -> Band | None:
        """Of `|key - query + offset| <= limit`."""
        below = self._difference(value, limit)
        above = self._difference(value, limit, sign=-1)
        if below is None or above is None:
            return None
        upper = _bounded(below, op)
        lower = _bounded(above, gt if op is lt else GE)
        return upper.both(lower) if upper and lower else None

    def _difference(self, left: Value, right: Value, sign: int = 1) -> _Linear | None:
        x, y = self._linear(left, DEEPEST), self._linear(right, DEEPEST)
        if x is None or y is None:
            return None
        return x + (-y if sign == 1 else y)

    def _linear(self, value: Value, depth: int) -> _Linear | None:
        """A value that counts along queries, keys or both."""
        if value not in self.lines:
            self.lines[value] = self._counted(value, depth)
        return self.lines[value]

    def _counted(self, value: Value, depth: int) -> _Linear | None:
        node = value.node
        if depth == 0 or value.tensor.dtype not in WIDE:
            return None
        size = _size(value)
        if size is not None:
            return _Linear(0, 0, size)
        line = self._line(value, depth)
        if line is not None:
            return line
        if node.op in (ADD, sub):
            x, y = (self._linear(operand, depth - 1) for operand in node.operands)
            if x is None or y is None:
                return None
            return x + y if node.op is ADD else x + -y
        if node.op in (neg, BROADCAST, CAST):
            inner = self._linear(node.operands[0], depth - 1)
            return -inner if inner and node.op is neg else inner
        return self._plane(node)

    def _line(self, value: Value, depth: int) -> _Linear | None:
        """A value with one axis that counts, however many others there are of size 1."""
        shape = value.tensor.shape
        counting = [axis - len(shape) for axis, size in enumerate(shape) if size != 1]
        if len(counting) != 1:
            return None
        found = _count(value, depth)
        if found is None:
            return None
        factor, offset = found
        if counting[0] == -1 and shape[-1] == self.keys:
            return _Linear(factor, 0, offset)
        if counting[0] == -2 and shape[-2] == self.queries:
            return _Linear(0, factor, offset)
        return None

    def _plane(self, node: Node) -> _Linear | None:
        """Positions along one of the axes of a whole plane."""
        if node.op is not IOTA:
            return None
        attrs = node.attrs_as(IotaAttrs)
        if attrs.shape[-2:] != (self.queries, self.keys):
            return None
        axis = attrs.axis - len(attrs.shape)
        return _Linear(int(axis == -1), int(axis == -2), ZERO) if axis >= -2 else None

    # --- constants ----------------------------------------------------------------------------

    def _of_content(self, mask: Value) -> Band | None:
        if mask.node not in self.contents:
            self.contents[mask.node] = self._looked_at(mask)
        return self.contents[mask.node]

    def _looked_at(self, mask: Value) -> Band | None:
        found = _content(mask, self.weights, DEEPEST)
        return None if found is None else self._cut(mask, *found)

    def _cut(self, mask: Value, array: Array, row: Dim, column: Dim) -> Band | None:
        """The band that a mask is which begins at a row and a column of a stored matrix."""
        sizes = zip(mask.tensor.shape[-2:], (self.queries, self.keys), array.shape, strict=True)
        # What is cut to fewer than there are does not broadcast, as it has more than one row.
        fits = all(own in (full, minimum(full, stored)) for own, full, stored in sizes)
        band = _band_of(array) if fits else None
        return None if band is None else band.shifted(row - column)

    def stored(self, mask: Value) -> tuple[Band, float] | None:
        """Where a stored matrix is 0, and the one negative number that it is elsewhere."""
        if mask not in self.numbers:
            self.numbers[mask] = self._read(mask)
        return self.numbers[mask]

    def _read(self, mask: Value) -> tuple[Band, float] | None:
        found = _content(mask, self.weights, DEEPEST)
        if found is None or not mask.tensor.dtype.is_float:
            return None
        array, row, column = found
        inside = np.asarray(array == 0)
        others = np.unique(array[~inside])
        if len(others) != 1 or not others[0] < 0:
            return None
        band = self._cut(mask, inside, row, column)
        return None if band is None else (band, float(others[0]))


def _bounded(difference: _Linear, op: AnyOp) -> Band | None:
    """Where a difference is negative, not positive and so on, by the op that compares with 0."""
    if (difference.key, difference.query) == (-1, 1):
        return _bounded(-difference, _MIRRORED[op])
    if (difference.key, difference.query) != (1, -1) or op not in _MIRRORED:
        return None
    bound = -difference.offset
    bands = {
        LE: Band(high=bound),
        lt: Band(high=bound - 1),
        GE: Band(low=bound),
        gt: Band(low=bound + 1),
    }
    return bands[op]


_MIRRORED: Final[dict[AnyOp, AnyOp]] = {LE: GE, lt: gt, GE: LE, gt: lt}

_COMPARISONS: Final[dict[AnyOp, Callable[[float, float], bool]]] = {
    LE: lambda x, y: x <= y,
    lt: lambda x, y: x < y,
    GE: lambda x, y: x >= y,
    gt: lambda x, y: x > y,
    eq: lambda x, y: x == y,
    ne: lambda x, y: x != y,
}


def _count(value: Value, depth: int) -> tuple[int, Dim] | None:
    """Factor and offset of a value that counts along its only axis of another size than 1."""
    node = value.node
    if depth == 0 or value.tensor.dtype not in WIDE:
        return None
    if node.op is IOTA:
        attrs = node.attrs_as(IotaAttrs)
        return (1, ZERO) if attrs.shape[attrs.axis] != 1 else None
    if node.op in (RESHAPE, CAST):
        return _count(node.operands[0], depth - 1)
    if node.op is neg:
        inner = _count(node.operands[0], depth - 1)
        return None if inner is None else (-inner[0], -inner[1])
    if node.op in (ADD, sub):
        return _moved(node, depth)
    return None


def _moved(node: Node, depth: int) -> tuple[int, Dim] | None:
    """A count and a number that is known when sizes are."""
    x, y = node.operands
    sign = 1 if node.op is ADD else -1
    size = _size(y)
    if size is not None:
        inner = _count(x, depth - 1)
        return None if inner is None else (inner[0], inner[1] + sign * size)
    size, inner = _size(x), _count(y, depth - 1)
    if size is None or inner is None:
        return None
    return sign * inner[0], size + sign * inner[1]


def _size(value: Value) -> Dim | None:
    """A number that is known when sizes are."""
    while value.node.op in (BROADCAST, RESHAPE, CAST):
        (value,) = value.node.operands
    if isinstance(value.node.attrs, DimAttrs):
        return value.node.attrs.value
    number = uniform_number(value)
    return None if number is None or not number.is_integer() else Dim.of(int(number))


# --- constants ------------------------------------------------------------------------------------

_Content = tuple[Array, Dim, Dim]
"""A stored matrix, and the row and column of it that a mask begins at."""


def _content(value: Value, weights: WeightStore, depth: int) -> _Content | None:
    """A value of two axes that is a part of a constant, elementwise ops with numbers applied."""
    node = value.node
    if depth == 0:
        return None
    if node.op is CONSTANT:
        array = constant_array(value, weights)
        if array is None or array.ndim < 2 or math.prod(array.shape[:-2]) != 1:
            return None
        return array.reshape(array.shape[-2:]), ZERO, ZERO
    if node.op not in (SLICE, RESHAPE, CAST, logical_not, *_COMPARISONS):
        return None
    inner = _content(node.operands[0], weights, depth - 1)
    return None if inner is None else _changed(node, inner)


def _changed(node: Node, inner: _Content) -> _Content | None:
    array, row, column = inner
    before, after = (v.tensor.shape for v in (node.operands[0], node.result()))
    if node.op is SLICE:
        attrs = node.attrs_as(SliceAttrs)
        *outer, first, second = attrs.starts
        is_plain = all(step == 1 for step in attrs.steps) and all(dim == 0 for dim in outer)
        return (array, row + first, column + second) if is_plain else None
    if node.op is RESHAPE:
        return inner if before[-2:] == after[-2:] else None
    if node.op is logical_not:
        return ~array, row, column
    if node.op is CAST:
        is_truth = node.result().tensor.dtype == bool_
        return (array.astype(np.bool_), row, column) if is_truth else None
    number = uniform_number(node.operands[1])
    if number is None:
        return None
    return np.asarray(_NUMPY[node.op](array, number)), row, column


_NUMPY: Final[dict[AnyOp, np.ufunc]] = {
    LE: np.less_equal,
    lt: np.less,
    GE: np.greater_equal,
    gt: np.greater,
    eq: np.equal,
    ne: np.not_equal,
}


def _band_of(array: Array) -> Band | None:
    """The band that a matrix of truths is; of less than two rows and columns nothing is said."""
    if array.dtype != np.bool_ or min(array.shape) < 2:
        return None
    rows, columns = array.shape
    by_distance: Array = np.concatenate((array[:0:-1, 0], array[0]))  # from 1 - rows on
    inside: list[int] = (np.flatnonzero(by_distance) + 1 - rows).tolist()
    if len(inside) in (0, rows + columns - 1):
        return None
    low, high = inside[0], inside[-1]
    if not np.array_equal(array, np.tri(rows, columns, high) > np.tri(rows, columns, low - 1)):
        return None
    return Band(
        None if low == 1 - rows else Dim.of(low), None if high == columns - 1 else Dim.of(high)
    )
