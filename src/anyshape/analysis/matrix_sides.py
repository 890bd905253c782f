"""The operands of a dot as matrices: which axes are batch, depth or free, and how far apart.

Axes of one role count as one axis if a step along the outer one is as far as a full round of the
inner one. A dot reads as a matrix product if the rows and the depth of lhs and the columns and the
depth of rhs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from anyshape.analysis.strided_view import StridedView, Through, view_of
from anyshape.ir.node import Node
from anyshape.ops.dot import DotAttrs
from anyshape.sym import Dim, product


@dataclass(frozen=True, slots=True)
class Side:
    """An operand of a dot and the roles of its axes."""

    view: StridedView
    batch: tuple[int, ...]
    depth: tuple[int, ...]
    free: tuple[int, ...]

    @property
    def free_stride(self) -> Dim | None:
        """Of the free axes as one axis; None where they are apart."""
        return self._merged(self.free)

    @property
    def depth_stride(self) -> Dim | None:
        return self._merged(self.depth)

    @property
    def is_matrix(self) -> bool:
        return self.free_stride is not None and self.depth_stride is not None

    @property
    def is_run_of_depth(self) -> bool:
        """Whether what lies next to each other in memory is multiplied one after the other."""
        return self.depth_stride == 1

    @property
    def is_run_of_free(self) -> bool:
        """Whether rows, or columns, lie next to each other in memory."""
        return self.free_stride == 1 and self.depth_stride is not None

    @property
    def is_stored_whole(self) -> bool:
        """Whether the base holds each element of a matrix, once, and nothing else: batches may
        share one matrix, but rows or columns that repeat are in memory once for all of them."""
        repeats = any(self.view.axes[axis] is None for axis in (*self.depth, *self.free))
        return self.view.is_whole and not repeats

    def size(self, axes: Sequence[int]) -> Dim:
        return product(self.view.shape[axis] for axis in axes)

    def _merged(self, axes: Sequence[int]) -> Dim | None:
        """The stride of these axes as one, if they are: 0 if there is none longer than 1."""
        shape, strides = self.view.shape, self.view.strides
        long = [axis for axis in axes if shape[axis] != 1]
        for outer, inner in pairwise(long):
            if strides[outer] != strides[inner] * shape[inner]:
                return None
        return strides[long[-1]] if long else Dim.of(0)


def side_of(dot: Node, side: int, through: Through) -> Side:
    """One operand, seen through the nodes that `through` accepts."""
    attrs = dot.attrs_as(DotAttrs)
    batch, depth = attrs.batch[side], attrs.contract[side]
    rank = dot.operands[side].tensor.rank
    free = tuple(axis for axis in range(rank) if axis not in (*batch, *depth))
    return Side(view_of(dot.operands[side], through), batch, depth, free)
