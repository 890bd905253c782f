"""Elements at places that data decide: the data become an index."""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.loop import Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.ops.movement import AxisAttrs


@rule("gather")
def gather(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    axis = node.attrs_as(AxisAttrs).axis
    x, indices = node.operands
    width = indices.tensor.rank
    chosen = low.at(indices, index[axis : axis + width], conditions)
    row = low.bind(chosen, x.tensor.shape[axis])
    return low.at(x, (*index[:axis], row, *index[axis + width :]), conditions)


@rule("take_along")
def take_along(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    axis = node.attrs_as(AxisAttrs).axis
    x, indices = node.operands
    place = low.bind(low.at(indices, index, conditions), x.tensor.shape[axis])
    return low.at(x, (*index[:axis], place, *index[axis + 1 :]), conditions)
