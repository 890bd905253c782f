"""Between which dims the elements of an integer tensor are known to lie.

    arange(n)            0 .. n - 1
    argmax(x, axis=1)    0 .. x.shape[1] - 1
    clip(i, 0, n - 1)    0 .. n - 1, whatever `i` is

An index with a proven range needs no check while the program runs. Each value of a region is looked
at once (`RangeTable`), its operands before it, without recursion. What is not known is None: a
range is never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Value
from anyshape.ir.opdef import PARAM, AnyOp
from anyshape.ir.types import DType, Shape, TensorType, bool_, i64
from anyshape.ops import (
    cumulative,
    elementwise,
    indexing,
    late,
    movement,
    reduce,
    sort,
    source,
    worklist,
)
from anyshape.sym import Answer, Dim, Predicate, maximum, minimum, product

LARGEST: Final = 1 << 40
"""Beyond this nothing is claimed, so that no sum of a few numbers wraps in 64 bits."""


@dataclass(frozen=True, slots=True)
class Range:
    """`low <= element <= high`, where these are known.

    If it is `attained`, both ends are elements, unless there are no elements at all.
    """

    low: Dim | None = None
    high: Dim | None = None
    attained: bool = False

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high


UNKNOWN: Final = Range()


def proves(builder: Builder, predicate: Predicate) -> bool:
    return builder.scope.proves(predicate) is Answer.TRUE


class RangeTable:
    """What is known of the values of one region, as far as they were asked for.

    `of_param` says what is known of a parameter.
    """

    def __init__(self, of_param: Callable[[Value], Range | None] = lambda _: None) -> None:
        self._known: dict[Value, Range] = {}
        self._of_param = of_param

    def find(self, builder: Builder, value: Value) -> Range:
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
            elif (known := self._at_once(current)) is not None:
                self._known[current] = known
            elif missing := [o for o in current.node.operands if o not in self._known]:
                stack.extend(missing)
            else:
                self._known[current] = self._by_rule(builder, current)
        return self._known[value]

    def _at_once(self, value: Value) -> Range | None:
        """What needs no look at operands."""
        if not isinstance(value.type, TensorType) or value.type.dtype.is_float:
            return UNKNOWN
        if value.type.dtype == bool_:
            return Range(Dim.of(0), Dim.of(1))
        if value.node.op is PARAM:
            return self._of_param(value) or _of_dtype(value.type.dtype)
        return None if value.node.op in RULES else _of_dtype(value.type.dtype)

    def _by_rule(self, builder: Builder, value: Value) -> Range:
        operands = [self._known[operand] for operand in value.node.operands]
        rule = RULES.get(value.node.op)
        found = UNKNOWN if rule is None else rule(builder, value, operands)
        return _held(builder, found, value.tensor.dtype)


def _of_dtype(dtype: DType) -> Range:
    """Every number of a narrow type; unsigned ones are never below 0."""
    limits = np.iinfo(dtype.numpy)
    low = Dim.of(int(limits.min)) if limits.min >= -LARGEST else None
    return Range(low, Dim.of(int(limits.max)) if limits.max <= LARGEST else None)


def _held(builder: Builder, found: Range, dtype: DType) -> Range:
    """The range of a result, if its type has all of these numbers: else they have wrapped."""
    if dtype == i64:
        return found
    low, high, limits = found.low, found.high, np.iinfo(dtype.numpy)
    if low is None or high is None or not proves(builder, low >= int(limits.min)):
        return _of_dtype(dtype)
    return found if proves(builder, high <= int(limits.max)) else _of_dtype(dtype)


# --- sources --------------------------------------------------------------------------------------

Rule = Callable[[Builder, Value, Sequence[Range]], Range]


def _constant(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    literal = value.node.attrs_as(source.ConstantAttrs).value
    array = literal.array if isinstance(literal, TensorLiteral) else None
    array = builder.weights.array(literal) if array is None else array  # pyright: ignore[reportArgumentType]
    if not array.size:
        return Range(Dim.of(0), Dim.of(-1))
    low, high = int(array.min()), int(array.max())
    if low < -LARGEST or high > LARGEST:
        return UNKNOWN
    return Range(Dim.of(low), Dim.of(high), attained=True)


def _below(size: Dim, *, attained: bool = False) -> Range:
    return Range(Dim.of(0), size - 1, attained)


def _iota(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    attrs = value.node.attrs_as(source.IotaAttrs)
    return _below(builder.scope.resolve(attrs.shape[attrs.axis]), attained=True)


def _dim_value(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    size = builder.scope.resolve(value.node.attrs_as(source.DimAttrs).value)
    return Range(size, size, attained=True)


def _shape(builder: Builder, value: Value) -> Shape:
    return tuple(map(builder.scope.resolve, value.tensor.shape))


def _arg_reduced(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    axis = value.node.attrs_as(reduce.ArgReduceAttrs).axis
    return _below(_shape(builder, value.node.operands[0])[axis])


def _sorted(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Elements in another order, or where they were."""
    attrs = value.node.attrs
    if value.index == 0:
        return Range(operands[0].low, operands[0].high)
    assert isinstance(attrs, sort.SortAttrs | sort.TopKAttrs)
    return _below(_shape(builder, value.node.operands[0])[attrs.axis])


def _worklist(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Rows, where groups of them end, or tokens."""
    shape = _shape(builder, value.node.operands[0])
    if value.index == 1:
        return Range(Dim.of(0), product(shape))
    return _below(shape[0] if value.index == 3 else product(shape))


def _nonzero(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    shape = _shape(builder, value.node.operands[0])
    return _below(maximum(*shape)) if shape else UNKNOWN


# --- elements in other places ---------------------------------------------------------------------


def _same(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    return operands[0]


def _some(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    return Range(operands[0].low, operands[0].high, operands[0].is_point)


def _sliced(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Some elements; of one column of `nonzero`, what lies along one axis."""
    origin = value.node.operands[0].node
    if origin.op is late.nonzero:
        column = value.node.attrs_as(movement.SliceAttrs).starts[1].constant
        one_column = _shape(builder, value)[1].constant == 1
        if one_column and column is not None:
            return _below(_shape(builder, origin.operands[0])[column])
    return _some(builder, value, operands)


def _selected(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Some elements of the operand that a result is of, behind a mask or a count."""
    given = operands[value.index + 1]
    return Range(given.low, given.high, given.is_point)


def _any_of(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Elements of either operand; the condition of a select is none of them."""
    chosen = operands[1:] if value.node.op is elementwise.select else operands
    lows, highs = [each.low for each in chosen], [each.high for each in chosen]
    return Range(_least(builder, lows), _greatest(builder, highs))


def _least(builder: Builder, dims: Sequence[Dim | None]) -> Dim | None:
    known = [dim for dim in dims if dim is not None]
    if len(known) < len(dims) or not known:
        return None
    proven = (dim for dim in known if all(proves(builder, dim <= other) for other in known))
    least = next(proven, None)
    return minimum(*known) if least is None else least


def _greatest(builder: Builder, dims: Sequence[Dim | None]) -> Dim | None:
    known = [dim for dim in dims if dim is not None]
    if len(known) < len(dims) or not known:
        return None
    proven = (dim for dim in known if all(proves(builder, dim >= other) for other in known))
    greatest = next(proven, None)
    return maximum(*known) if greatest is None else greatest


# --- arithmetic -----------------------------------------------------------------------------------


def _sum(left: Dim | None, right: Dim | None) -> Dim | None:
    return None if left is None or right is None else left + right


def _negated(x: Range) -> Range:
    low = None if x.high is None else -x.high
    return Range(low, None if x.low is None else -x.low, x.attained)


def _plus(left: Range, right: Range) -> Range:
    attained = left.attained and right.attained and (left.is_point or right.is_point)
    return Range(_sum(left.low, right.low), _sum(left.high, right.high), attained)


def _added(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    return _plus(*operands)


def _subtracted(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    return _plus(operands[0], _negated(operands[1]))


def _neg(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    return _negated(operands[0])


def _abs(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    (x,) = operands
    highs = (x.high, _negated(x).high)
    return Range(Dim.of(0), None if x.low is None else _greatest(builder, highs))


def _multiplied(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """By a number."""
    x, factor = operands if operands[1].is_point else reversed(operands)
    by = None if factor.low is None or not factor.is_point else factor.low.constant
    if by is None or abs(by) > LARGEST:
        return UNKNOWN
    x = x if by >= 0 else _negated(x)
    low = None if x.low is None else x.low * abs(by)
    return Range(low, None if x.high is None else x.high * abs(by), x.attained)


def _divided(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Rounded down, by a number above 0."""
    x, divisor = operands
    by = divisor.low
    if not divisor.is_point or by is None or not proves(builder, by >= 1):
        return UNKNOWN
    low = None if x.low is None else x.low // by
    return Range(low, None if x.high is None else x.high // by, x.attained)


def _remainder(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """By numbers above 0."""
    low, high = operands[1].low, operands[1].high
    if low is None or high is None or not proves(builder, low >= 1):
        return UNKNOWN
    return _below(high)


def _minimum(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    low = _least(builder, [each.low for each in operands])
    return Range(low, _least(builder, [each.high for each in operands if each.high is not None]))


def _maximum(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    high = _greatest(builder, [each.high for each in operands])
    return Range(_greatest(builder, [each.low for each in operands if each.low is not None]), high)


def _cumulated(builder: Builder, value: Value, operands: Sequence[Range]) -> Range:
    """Sums of numbers that are not below 0."""
    low, high = operands[0].low, operands[0].high
    if low is None or high is None or not proves(builder, low >= 0):
        return UNKNOWN
    axis = value.node.attrs_as(cumulative.CumulativeAttrs).axis
    return Range(Dim.of(0), high * _shape(builder, value)[axis])


RULES: Final[Mapping[AnyOp, Rule]] = {
    source.constant: _constant, source.iota: _iota, source.dim_value: _dim_value,
    reduce.argmax: _arg_reduced, reduce.argmin: _arg_reduced, sort.sort: _sorted,
    sort.topk: _sorted, late.nonzero: _nonzero,
    late.compress: _selected, late.prefix: _selected, worklist.worklist: _worklist,
    movement.reshape: _same, movement.transpose: _same, movement.broadcast: _same,
    movement.reverse: _same, elementwise.cast: _same, movement.slice_: _sliced,
    indexing.gather: _some, indexing.take_along: _some,
    movement.concat: _any_of, movement.pad: _any_of, elementwise.select: _any_of,
    elementwise.add: _added, elementwise.sub: _subtracted, elementwise.neg: _neg,
    elementwise.abs_: _abs, elementwise.mul: _multiplied, elementwise.floordiv: _divided,
    elementwise.mod: _remainder, elementwise.minimum: _minimum, elementwise.maximum: _maximum,
    cumulative.cumsum: _cumulated,
}  # fmt: skip
