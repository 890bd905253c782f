"""Along which axes reductions, and compounds that are made of some, combine elements."""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ops.compound import NormAttrs
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.reduce import ArgReduceAttrs, ReduceAttrs


def reduced_axes(node: Node) -> frozenset[int] | None:
    """The axes of the first operand; None for an op that reduces nothing."""
    match node.attrs:
        case ReduceAttrs(axes=axes) if node.op.has(Trait.REDUCTION):
            return frozenset(axes)
        case ArgReduceAttrs(axis=axis):
            return frozenset({axis})
        case NormAttrs(axis=axis):
            return frozenset(range(axis, node.operands[0].tensor.rank))
        case AxisAttrs(axis=axis) if node.op.has(Trait.ROWWISE):
            return frozenset({axis})
        case _:
            return None
