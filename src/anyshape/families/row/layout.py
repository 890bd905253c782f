"""How values that are made of reductions lie in the shape that these divide into rows.

FULL       an element for each of the space            x - max(x), softmax(x)
KEPT       one for each row, the reduced axes are 1    max(x) with keepdims
DROPPED    one for each row, the reduced axes are gone sum(x)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from anyshape.ir.types import Shape
from anyshape.sym import Dim

ONE = Dim.of(1)


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
    """A value that is made of reductions: how it lies in a space, which is theirs or, behind views
    of rows, one with the same rows."""

    space: RowSpace
    layout: Layout
    loops: RowSpace  # the space of the reductions
    order: tuple[int, ...]  # which axis of theirs each axis of the space is
    is_cheap: bool = True  # what makes an element of numbers of its row

    @classmethod
    def of(cls, space: RowSpace, layout: Layout, is_cheap: bool = True) -> InRows:
        """In the space of the reductions themselves."""
        return cls(space, layout, space, tuple(range(len(space.shape))), is_cheap)

    @property
    def is_reordered(self) -> bool:
        """Whether transpositions lie between it and the reductions."""
        return self.order != tuple(range(len(self.order)))

    @property
    def is_viewed(self) -> bool:
        """Whether views do."""
        return self.space != self.loops or self.is_reordered

    @property
    def kept_dims(self) -> Shape:
        """The sizes of the axes that tell rows apart."""
        return self.space.shape_in(Layout.DROPPED)

    def has_numbers_of(self, other: InRows) -> bool:
        """Whether each of its rows may use the number that another value has for that row."""
        same = self.space.axes == other.space.axes and self.kept_dims == other.kept_dims
        return same and other.layout is Layout.KEPT and self.loops == other.loops

    def moved(self, shape: Shape, axes: frozenset[int]) -> InRows:
        """In another shape behind the same reductions."""
        return self._replace(space=RowSpace(shape, axes))
