"""Views of what is made of rows: other orders of rows, and parts of each.

Heads are normalised, rotated and put in front of positions:

    y = rms_norm(x)                        [batch, seq, heads, width]
    t = transpose(y, (0, 2, 1, 3))         the same rows in another order
    t[..., :half], concat(-t[..., half:])  parts of the same rows

Every element is made of one row still, by whichever index, so all of this is one row kernel. Rows
stay whole runs of memory where the last axis stays the last. Parts of rows meet other elements of
their row than the one that a loop is at, so what is costly cannot be kept for them: it comes before
no slice or concatenation. A row is one task, so no concatenation makes it longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.families.row.layout import InRows, Layout, RowSpace
from anyshape.ir.node import Node
from anyshape.ir.types import Shape
from anyshape.ops.known import CONCAT, SLICE, TRANSPOSE
from anyshape.ops.movement import AxisAttrs, SliceAttrs, TransposeAttrs
from anyshape.sym import is_at_most


def viewed(node: Node, found: Mapping[Node, InRows]) -> InRows | None:
    """How a view of rows lies among them, if each of its elements is of one row."""
    places = [found[value.node] for value in node.operands if value.node in found]
    first = places[0]
    if any(place.layout is not Layout.FULL for place in places) or not _are_alike(places):
        return None
    if node.op is TRANSPOSE:
        return _transposed(first, node.attrs_as(TransposeAttrs).perm)
    along = _is_along_rows(node, first.space)
    if not along or not all(place.is_cheap for place in places):
        return None
    shape = node.result().tensor.shape
    return first.moved(shape, first.space.axes) if node.op is SLICE else _in_part(first, shape)


def beside_views(node: Node, places: Sequence[InRows]) -> InRows | None:
    """How an elementwise op lies, some of whose operands are views of rows, or whose result is a
    part of each row."""
    full = [place for place in places if place.layout is Layout.FULL]
    rest = [place for place in places if place.layout is not Layout.FULL]
    shape = node.result().tensor.shape
    if not full:
        part = _in_part(rest[0], shape)
        return part if part and all(map(part.has_numbers_of, rest)) else None
    first = full[0]
    if any(place.space.shape != shape for place in full) or not _are_alike(full):
        return None
    if rest and (first.is_reordered or not all(map(first.has_numbers_of, rest))):
        return None
    return first


def _are_alike(places: Sequence[InRows]) -> bool:
    """Whether values have the same rows in the same order, perhaps other parts of each."""
    orders = {(place.loops, place.order) for place in places}
    return len(orders) == 1 and len({place.kept_dims for place in places}) == 1


def _in_part(place: InRows, shape: Shape) -> InRows | None:
    """In rows of another length: no longer than those of the reductions, for a task is a row."""
    old, axes = place.space.shape, place.space.axes
    if len(shape) != len(old):
        return None
    lengths = place.loops.shape
    for axis, (size, before) in enumerate(zip(shape, old, strict=True)):
        most = lengths[place.order[axis]] if axis in axes else None
        if size != before and (most is None or not is_at_most(size, most)):
            return None
    return place.moved(shape, axes)._replace(layout=Layout.FULL)


def _transposed(place: InRows, perm: tuple[int, ...]) -> InRows | None:
    if not perm or perm[-1] != len(perm) - 1:
        return None
    shape = tuple(place.space.shape[axis] for axis in perm)
    axes = frozenset(axis for axis, old in enumerate(perm) if old in place.space.axes)
    order = tuple(place.order[axis] for axis in perm)
    return place.moved(shape, axes)._replace(order=order)


def _is_along_rows(node: Node, space: RowSpace) -> bool:
    """Whether a slice or a concatenation leaves alone which row is which."""
    if node.op is CONCAT:
        return node.attrs_as(AxisAttrs).axis in space.axes
    return node.op is SLICE and _leaves_rows(node.attrs_as(SliceAttrs), space)


def _leaves_rows(attrs: SliceAttrs, space: RowSpace) -> bool:
    bounds = zip(space.shape, attrs.starts, attrs.stops, attrs.steps, strict=True)
    wholes = [bound[1:] == (0, bound[0], 1) for bound in bounds]
    return all(whole or axis in space.axes for axis, whole in enumerate(wholes))
