"""Rows as a law: which values are of the same rows, however they are spelled.

A reduction divides the shape of its operand, its *space*, into rows: the reduced axes run along a
row, the others say which row it is. What is computed from reductions has a *layout* in their space:

    FULL       an element for each of the space            x - max(x), softmax(x)
    KEPT       one for each row, the reduced axes are 1    max(x) with keepdims
    DROPPED    one for each row, the reduced axes are gone sum(x)

Elementwise ops, broadcasts, reshapes that add or drop axes of 1, a lookup along a row and further
reductions of the same space stay in it; whatever else reads such a value leaves it. A body whose
loops all have one space, and that never leaves it, is one row kernel: a task computes a row from
end to end. Spaces are compared by their dims: reductions of different operands may share one.

Views of FULL values stay with their rows, too, in a space of their own: transposes that put rows
into another order, and slices and concatenations along a row, as rotations of heads have them
(`views.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from anyshape.analysis.reduced_axes import reduced_axes
from anyshape.families.body import LOOPS, Body
from anyshape.families.row.layout import ONE, InRows, Layout, RowSpace
from anyshape.families.row.views import beside_views, viewed
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import BROADCAST, CONCAT, RESHAPE, SLICE, TAKE_ALONG, TRANSPOSE
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.reduce import ArgReduceAttrs, ReduceAttrs

FOLLOWERS: Final = (BROADCAST, RESHAPE, TAKE_ALONG)
"""Ops that may follow a reduction in its kernel, beside elementwise ones and views."""

VIEWS: Final = (TRANSPOSE, SLICE, CONCAT)

MOST_REPEATED: Final = 8
"""What an op costs at most, in additions, that may be computed again for another element of its
row."""


def space_of(node: Node) -> RowSpace | None:
    """The rows of a reduction, or of a compound that is made of some; other ops have none."""
    axes = reduced_axes(node)
    return RowSpace(node.operands[0].tensor.shape, axes) if axes is not None else None


def rows_of(nodes: Iterable[Node]) -> dict[Node, InRows]:
    """For every node that is made of reductions and has not left their space. Operands first."""
    found: dict[Node, InRows] = {}
    for node in nodes:
        add_to_rows(node, found)
    return found


def add_to_rows(node: Node, found: dict[Node, InRows]) -> None:
    """Adds a node whose operands were asked about before, if it is made of reductions."""
    place = _loop_in_rows(node) or _follower_in_rows(node, found)
    if place is not None:
        found[node] = place


def _loop_in_rows(node: Node) -> InRows | None:
    space = space_of(node)
    if space is None:
        return None
    if node.op.has(Trait.ROWWISE):
        return InRows.of(space, Layout.FULL, node.op.cost <= MOST_REPEATED)
    attrs = node.attrs
    keeps = isinstance(attrs, ReduceAttrs | ArgReduceAttrs) and attrs.keepdims
    return InRows.of(space, Layout.KEPT if keeps else Layout.DROPPED)


def _follower_in_rows(node: Node, found: Mapping[Node, InRows]) -> InRows | None:
    """Where the result of another op lies, given where its operands do."""
    places = [found[value.node] for value in node.operands if value.node in found]
    if not places:
        return None
    if node.op in VIEWS:
        return viewed(node, found)
    if not (node.op.has(Trait.ELEMENTWISE) or node.op in FOLLOWERS):
        return None
    if any(place.is_viewed for place in places):
        place = beside_views(node, places) if node.op.has(Trait.ELEMENTWISE) else None
    else:
        place = _in_their_space(node, places, found)
    return place and place._replace(is_cheap=_is_cheap(node, place, places))


def _is_cheap(node: Node, place: InRows, operands: Sequence[InRows]) -> bool:
    """Whether an element is sooner computed again than stored and read, given numbers of rows."""
    if place.layout is not Layout.FULL:
        return True
    return node.op.cost <= MOST_REPEATED and all(operand.is_cheap for operand in operands)


def _in_their_space(
    node: Node, places: Sequence[InRows], found: Mapping[Node, InRows]
) -> InRows | None:
    """Without views: in the space of the reductions itself."""
    space = _widest(place.space for place in places)
    if not all(space.serves(place.space) for place in places):
        return None
    if node.op is TAKE_ALONG:
        return _looked_up(node, space, found)
    shape = node.result().tensor.shape
    if space.layout_of(shape) is None:  # a number for a strip of rows may be used for each of them
        space = space.widened(shape)
    layout = space.layout_of(shape)
    layouts = {place.layout for place in places}
    if layout is None and node.op.has(Trait.ELEMENTWISE) and layouts == {Layout.KEPT}:
        return beside_views(node, places)
    if layout is None or not _is_aligned(node, space, layouts, layout):
        return None
    return InRows.of(space, layout)


def _is_aligned(node: Node, space: RowSpace, operands: set[Layout], result: Layout) -> bool:
    """Whether each row of the result is made of the same row of the operands."""
    if node.op is RESHAPE:
        return result is not Layout.FULL
    return operands == {result} or Layout.DROPPED not in operands or space.drops_align


def _widest(spaces: Iterable[RowSpace]) -> RowSpace:
    """Of spaces of which one may serve the others."""
    return max(spaces, key=lambda space: sum(dim != ONE for dim in space.shape))


def _looked_up(node: Node, space: RowSpace, found: Mapping[Node, InRows]) -> InRows | None:
    """One element of each row."""
    x = found.get(node.operands[0].node)
    along = space.axes == frozenset({node.attrs_as(AxisAttrs).axis})
    fits = x is not None and x.layout is Layout.FULL and along
    one = node.result().tensor.shape == space.shape_in(Layout.KEPT)
    return InRows.of(space, Layout.KEPT) if fits and one else None


def objection_to_rows(body: Body) -> Refusal | None:
    """Why a body with reductions is not computed row by row."""
    places = rows_of(body.nodes)
    for node in body.loops:
        if space_of(node) is None:
            return Refusal(f"the kernel has {node.op.name} already")
    spaces = {places[node].space for node in body.loops}
    if not all(map(_widest(spaces).serves, spaces)):
        return Refusal("the kernel has rows of another shape or along other axes")
    return _objection_to_followers(body, places)


def _objection_to_followers(body: Body, places: Mapping[Node, InRows]) -> Refusal | None:
    """Why not: an op leaves the rows, or reads across them what no loop needs."""
    behind, needed = set[Node](), set[Node]()
    for node in body.nodes:
        if node in places or any(value.node in behind for value in node.operands):
            behind.add(node)
            if node not in places:
                return Refusal(f"{node.op.name} has another shape")
    for node in reversed(body.nodes):
        if node.op.traits & LOOPS or node in needed:
            needed |= {value.node for value in node.operands}
        elif node.op is TRANSPOSE and node not in places:
            return Refusal("transpose has another shape")
    return None
