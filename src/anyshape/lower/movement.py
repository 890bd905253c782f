"""Movement ops: an index of the result becomes an index of an operand."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.ir.node import Node, Value
from anyshape.ir.types import Shape, bool_
from anyshape.loop import Apply, Guard, Number, Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.ops.movement import (
    AxesAttrs,
    AxisAttrs,
    PadAttrs,
    SliceAttrs,
    TransposeAttrs,
)
from anyshape.sym import Answer, Dim, Equal, Less, LessEqual, product


@rule("transpose")
def transpose(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    perm = node.attrs_as(TransposeAttrs).perm
    source = [Dim.of(0)] * len(perm)
    for axis, old in enumerate(perm):
        source[old] = index[axis]
    return low.at(node.operands[0], tuple(source), conditions)


@rule("broadcast")
def broadcast(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    (x,) = node.operands
    shape = node.result().tensor.shape
    return low.at(x, low.operand_index(x.tensor.shape, shape, index), conditions)


@rule("reverse")
def reverse(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    axes = node.attrs_as(AxesAttrs).axes
    (x,) = node.operands
    source = (
        size - 1 - i if axis in axes else i
        for axis, (i, size) in enumerate(zip(index, x.tensor.shape, strict=True))
    )
    return low.at(x, tuple(source), conditions)


@rule("slice")
def slice_(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(SliceAttrs)
    bounds = zip(attrs.starts, attrs.steps, index, strict=True)
    source = tuple(start + step * i for start, step, i in bounds)
    return low.at(node.operands[0], source, conditions)


# --- reshape --------------------------------------------------------------------------------------


@rule("reshape")
def reshape(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    (x,) = node.operands
    source = reshaped_index(low, x.tensor.shape, node.result().tensor.shape, index)
    return low.at(x, source, conditions)


def reshaped_index(low: Lowering, old: Shape, new: Shape, index: Index) -> Index:
    """The index in `old` of the element at `index` in `new`, group by group from the right.

    A group is a run of axes on each side with provably the same number of elements; a group of
    one axis each is the identity, so most reshapes need no division.
    """
    source: list[Dim] = []
    left, right = len(old), len(new)
    while left or right:
        old_start, new_start = _group(low, old, new, left, right)
        flat = linear(new[new_start:right], index[new_start:right])
        source = [*delinear(old[old_start:left], flat), *source]
        left, right = old_start, new_start
    return tuple(source)


def _group(low: Lowering, old: Shape, new: Shape, left: int, right: int) -> tuple[int, int]:
    """The shortest groups that end at `left` and `right` and have the same size."""
    for taken in range(1, left + right + 1):
        for a in range(max(0, taken - right), min(taken, left) + 1):
            sizes = product(old[left - a : left]), product(new[right - (taken - a) : right])
            if low.scope.proves(Equal(*sizes)) is Answer.TRUE and taken > 0:
                return left - a, right - (taken - a)
    return 0, 0


def linear(shape: Shape, index: Sequence[Dim]) -> Dim:
    """Position in row-major order."""
    flat = Dim.of(0)
    for size, i in zip(shape, index, strict=True):
        flat = flat * size + i
    return flat


def delinear(shape: Shape, flat: Dim) -> list[Dim]:
    """The index of a position in row-major order; the first axis takes what is left."""
    index: list[Dim] = []
    for size in reversed(shape[1:]):
        if size == 0:  # nothing is ever read
            return [Dim.of(0)] * len(shape)
        index.append(flat % size)
        flat = flat // size
    if shape:
        index.append(flat)
    return index[::-1]


# --- concat, pad ----------------------------------------------------------------------------------


@rule("concat")
def concat(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    axis = node.attrs_as(AxisAttrs).axis
    return _pick(low, node.operands, axis, index, conditions)


def _pick(
    low: Lowering, parts: Sequence[Value], axis: int, index: Index, conditions: Conditions
) -> Scalar:
    """The part that the index falls into, each seen with the index moved to its own start.

    Sizes are not negative, so an index behind the last part is behind all that come before: each
    part needs two comparisons, however many there are.
    """
    places: list[tuple[Scalar, Dim, Dim]] = []  # of all parts but the last: value, index, size
    behind: Conditions = ()
    moved = index
    for part in parts[:-1]:
        i, size = moved[axis], part.tensor.shape[axis]
        value = low.at(part, moved, (*conditions, *behind, Less(i, size)))
        places.append((value, i, size))
        behind = (LessEqual(size, i),)
        moved = (*index[:axis], i - size, *index[axis + 1 :])
    picked = low.at(parts[-1], moved, (*conditions, *behind))
    for value, i, size in reversed(places):
        test = low.let(Apply("lt", (Number(i), Number(size)), bool_))
        picked = low.apply("select", (test, value, picked), value.dtype)
    return picked


@rule("pad")
def pad(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(PadAttrs)
    x, fill = node.operands
    source = tuple(i - before for i, before in zip(index, attrs.low, strict=True))
    inside = tuple(
        test
        for i, size, before, after in zip(
            source, x.tensor.shape, attrs.low, attrs.high, strict=True
        )
        for test in _inside(i, size, before, after)
    )
    if not inside:
        return low.at(x, source, conditions)
    around = low.at(fill, (), conditions)
    if not conditions and low.is_loaded(x):  # one test, for the load and for what is around it
        return low.let(Guard(inside, low.load(x, source), around))
    return low.let(Guard(inside, low.at(x, source, (*conditions, *inside)), around))


def _inside(i: Dim, size: Dim, before: Dim, after: Dim) -> list[LessEqual]:
    """The tests that an axis needs: none on a side without padding."""
    low = [LessEqual(Dim.of(0), i)] if before != 0 else []
    return low + ([LessEqual(i, size - 1)] if after != 0 else [])
