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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from anyshape.analysis.reduced_axes import reduced_axes
from anyshape.families.body import LOOPS, Body
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape
from anyshape.ops.known import BROADCAST, RESHAPE, TAKE_ALONG, TRANSPOSE
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.reduce import ArgReduceAttrs, ReduceAttrs
from anyshape.sym import Dim

ONE = Dim.of(1)

FOLLOWERS: Final = (BROADCAST, RESHAPE, TAKE_ALONG)
"""Ops that may follow a reduction in its kernel, beside elementwise ones."""


class Layout(Enum):
    """How a value lies in a space of rows."""

    FULL = "an element for each of the space"
    KEPT = "one for each row, with reduced axes of 1"
    DROPPED = "one for each row, without the reduced axes"


@dataclass(frozen=True, slots=True)
class RowSpace:
    """A shape, and those of its axes that run along a row."""

    shape: Shape
    axes: frozenset[int]

    def shape_in(self, layout: Layout) -> Shape:
        """That of a value of this layout."""
        dims = enumerate(self.shape)
        if layout is Layout.FULL:
            return self.shape
        if layout is Layout.KEPT:
            return tuple(ONE if axis in self.axes else dim for axis, dim in dims)
        return tuple(dim for axis, dim in dims if axis not in self.axes)

    def layout_of(self, shape: Shape) -> Layout | None:
        """How a value of this shape lies here, if it does."""
        return next((layout for layout in Layout if self.shape_in(layout) == shape), None)

    def widened(self, shape: Shape) -> RowSpace:
        """With as many rows side by side as a shape has, if this has one in their place."""
        last = len(self.shape) - 1
        is_one = bool(self.shape and shape) and self.shape[last] == ONE and last not in self.axes
        return RowSpace((*self.shape[:last], shape[-1]), self.axes) if is_one else self

    @property
    def drops_align(self) -> bool:
        """Whether a value without the reduced axes broadcasts as if it had them."""
        return self.axes == frozenset(range(len(self.axes)))

    def serves(self, other: RowSpace) -> bool:
        """Whether a task that has rows of this space has those of the other one too: they are the
        same, or the other is the same for all neighbours of a strip."""
        last = len(self.shape) - 1
        strip = last not in self.axes and (*self.shape[:last], ONE) == other.shape
        return self.axes == other.axes and (self.shape == other.shape or strip)


class InRows(NamedTuple):
    """A value that is made of reductions: their space, and how it lies there."""

    space: RowSpace
    layout: Layout


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
        return InRows(space, Layout.FULL)
    attrs = node.attrs
    keeps = isinstance(attrs, ReduceAttrs | ArgReduceAttrs) and attrs.keepdims
    return InRows(space, Layout.KEPT if keeps else Layout.DROPPED)


def _follower_in_rows(node: Node, found: Mapping[Node, InRows]) -> InRows | None:
    """Where the result of another op lies, given where its operands do."""
    places = [found[value.node] for value in node.operands if value.node in found]
    if not places or not (node.op.has(Trait.ELEMENTWISE) or node.op in FOLLOWERS):
        return None
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
    if layout is None or not _is_aligned(node, space, layouts, layout):
        return None
    return InRows(space, layout)


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
    return InRows(space, Layout.KEPT) if fits and one else None


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
        elif node.op is TRANSPOSE:
            return Refusal("transpose has another shape")
    return None
