"""What rows by group look like in models: one-hot masks, their counts, columns of `nonzero`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node, Value
from anyshape.ir.types import bool_
from anyshape.ops import cumulative, elementwise, late
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.known import CAST, IOTA, RESHAPE, SLICE, SUM, TRANSPOSE
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.ops.source import ConstantAttrs, IotaAttrs
from anyshape.sym import Dim

MOST_GROUPS: Final = 1 << 20
"""Numbers of groups are compared as f32, too, which holds these."""

ONE: Final = Dim.of(1)


def uncast(value: Value) -> Value:
    """Before all casts: of zeros and ones, which any dtype holds."""
    while value.node.op is CAST:
        value = value.node.operands[0]
    return value


def same_groups(value: Value) -> Value:
    """Before casts after which it has the same group, and no group where it had none."""
    while value.node.op is CAST and _keeps_groups(value.node):
        value = value.node.operands[0]
    return value


def _keeps_groups(cast: Node) -> bool:
    """An f32 rounds integers, but none to a number below `MOST_GROUPS`."""
    old, new = cast.operands[0].tensor.dtype, cast.result().tensor.dtype
    rounded = not old.is_float and new.is_float and new.bits >= 32
    return rounded or np.can_cast(old.numpy, new.numpy, "safe")


def same_counts(value: Value) -> Value:
    """Before casts to dtypes that hold numbers of rows."""
    while value.node.op is CAST and value.tensor.dtype.bits >= 32:
        value = value.node.operands[0]
    return value


def literal(value: Value) -> np.ndarray | None:
    attrs = value.node.attrs
    if isinstance(attrs, ConstantAttrs) and isinstance(attrs.value, TensorLiteral):
        return attrs.value.array
    return None


def counts_up_to(value: Value) -> int | None:
    """How many numbers from 0 on, one after the other, are the last axis of a value."""
    value, size = same_groups(value), value.tensor.shape[-1].constant if value.tensor.rank else None
    if size is None or any(dim != ONE for dim in value.tensor.shape[:-1]):
        return None
    if value.node.op is RESHAPE:
        return counts_up_to(value.node.operands[0])
    if value.node.op is IOTA:
        return size if value.node.attrs_as(IotaAttrs).axis == value.tensor.rank - 1 else None
    array = literal(value)
    if array is None or not np.array_equal(array.ravel(), np.arange(size)):
        return None
    return size


# --- ends of groups -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ends:
    """Where each of so many groups ends, if rows are sorted by these keys."""

    keys: Value
    groups: int


def ends_of(node: Node) -> Ends | None:
    """`cumsum(sum(keys[:, None] == arange(groups), axis=0))`."""
    if node.op is not cumulative.cumsum or node.attrs != CumulativeAttrs(0):
        return None
    total = same_counts(node.operands[0]).node
    if total.op is not SUM or total.attrs != ReduceAttrs((0,)):
        return None
    hits = same_counts(total.operands[0])
    if hits.node.op is not elementwise.eq or hits.tensor.rank != 2:
        return None
    for keys, numbers in (hits.node.operands, hits.node.operands[::-1]):
        groups, column = counts_up_to(numbers), same_groups(keys)
        flat = column.node.operands[0] if column.node.op is RESHAPE else None
        if groups and groups < MOST_GROUPS and flat is not None and flat.tensor.rank == 1:
            return Ends(same_groups(flat), groups)
    return None


# --- masks of one group ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mask:
    """`keys == group`, with the axes of the keys in some order: axis i of the mask is `axes[i]`."""

    keys: Value
    group: int
    axes: tuple[int, ...]


Place = int | None
"""Of an axis of a value: which axis of the mask it is; None if it has one element."""


def mask_of(value: Value) -> Mask | None:
    """The keys and the group that a mask compares, through views of a one-hot tensor."""
    places: tuple[Place, ...] = tuple(range(value.tensor.rank))
    fixed: int | None = None
    while True:
        node = value.node
        if node.op is elementwise.eq:
            return _compared(node, places, fixed)
        if node.op is elementwise.ne and _is_zero(node.operands[1]):
            value = node.operands[0]
            continue
        if node.op is SLICE and fixed is None:
            at = _picked(node)
            if at is None:
                return None
            fixed = at[1]
            places = tuple(_AT if axis == at[0] else p for axis, p in enumerate(places))
        elif node.op is TRANSPOSE:
            perm = node.attrs_as(TransposeAttrs).perm
            places = tuple(places[perm.index(axis)] for axis in range(len(perm)))
        elif node.op is RESHAPE:
            moved = _unsqueezed(value, places)
            if moved is None:
                return None
            places = moved
        elif node.op is not CAST or not _keeps_truth(node):
            return None
        value = node.operands[0]


_AT: Final = -1
"""In the place of an axis of a mask: the axis of groups, of which one element is picked."""


def _is_zero(value: Value) -> bool:
    array = literal(value)
    return array is not None and array.size == 1 and not array.any()


def _keeps_truth(node: Node) -> bool:
    """Of a mask of zeros and ones any dtype does; nothing else may become 0."""
    return uncast(node.result()).tensor.dtype == bool_


def _picked(node: Node) -> tuple[int, int] | None:
    """The only axis that a slice takes one element of, and which; all else is whole."""
    attrs, shape = node.attrs_as(SliceAttrs), node.operands[0].tensor.shape
    if set(attrs.steps) != {1}:
        return None
    cut = [
        axis
        for axis, (start, stop, size) in enumerate(
            zip(attrs.starts, attrs.stops, shape, strict=True)
        )
        if start != 0 or stop != size
    ]
    if len(cut) != 1:
        return None
    first, last = attrs.starts[cut[0]].constant, attrs.stops[cut[0]].constant
    return (cut[0], first) if first is not None and last == first + 1 else None


def _unsqueezed(value: Value, places: tuple[Place, ...]) -> tuple[Place, ...] | None:
    """The axes before a reshape that only adds or leaves out axes of size 1."""
    old = value.node.operands[0].tensor.shape
    longer = [place for place, dim in zip(places, value.tensor.shape, strict=True) if dim != ONE]
    if [dim for dim in old if dim != ONE] != [dim for dim in value.tensor.shape if dim != ONE]:
        return None
    left = iter(longer)
    return tuple(None if dim == ONE else next(left) for dim in old)


def _compared(node: Node, places: tuple[Place, ...], fixed: int | None) -> Mask | None:
    for keys, number in (node.operands, node.operands[::-1]):
        group = _group(number, places, fixed)
        axes = None if group is None else _axes_of_keys(keys, places)
        of_mask = sum(place is not None and place != _AT for place in places)
        if group is not None and axes is not None and len(axes[1]) == of_mask:
            return Mask(axes[0], group, axes[1])
    return None


def _group(number: Value, places: tuple[Place, ...], fixed: int | None) -> int | None:
    """The number that the picked elements are compared with."""
    array = literal(same_groups(number))
    if array is not None and array.size == 1 and fixed is None:
        group = float(array.ravel()[0])
        return int(group) if group.is_integer() and 0 <= group < MOST_GROUPS else None
    groups = counts_up_to(number)
    if groups is None or fixed is None or not places or places[-1] != _AT:
        return None
    return fixed


def _axes_of_keys(keys: Value, places: tuple[Place, ...]) -> tuple[Value, tuple[int, ...]] | None:
    """The keys, as they are before views, and which of their axes each axis of the mask is."""
    keys = same_groups(keys)
    of_keys = places[len(places) - keys.tensor.rank :]
    while keys.node.op is RESHAPE:
        ones = tuple(None if dim == ONE else place
                     for dim, place in zip(keys.tensor.shape, of_keys, strict=True))  # fmt: skip
        moved = _unsqueezed(keys, ones)
        if moved is None:
            break
        keys, of_keys = same_groups(keys.node.operands[0]), moved
    known = [place for place in of_keys if place is not None and place != _AT]
    if len(known) != len(of_keys) or sorted(known) != list(range(len(known))):
        return None
    return keys, tuple(known.index(axis) for axis in range(len(known)))


# --- columns of nonzero ---------------------------------------------------------------------------


def column_of(value: Value) -> tuple[Node, int] | None:
    """The `nonzero` and its column that a vector of indices is."""
    node = value.node
    if node.op is not RESHAPE or value.tensor.rank != 1:
        return None
    column, index = node.operands[0], 0
    if column.node.op is SLICE:
        attrs, shape = column.node.attrs_as(SliceAttrs), column.node.operands[0].tensor.shape
        whole = attrs.starts[0] == 0 and attrs.stops[0] == shape[0]
        first, last = attrs.starts[1].constant, attrs.stops[1].constant
        if not whole or first is None or last != first + 1 or attrs.steps != (1, 1):
            return None
        column, index = column.node.operands[0], first
    elif column.tensor.shape[1:] != (ONE,):
        return None
    return (column.node, index) if column.node.op is late.nonzero else None
