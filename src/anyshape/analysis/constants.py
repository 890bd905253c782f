"""What is known before anything runs."""

from __future__ import annotations

from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.node import Node, Value
from anyshape.ops.source import ConstantAttrs


def is_constant(value: Value) -> bool:
    return isinstance(value.node.attrs, ConstantAttrs)


def is_number(node: Node) -> bool:
    """A constant of one element: part of the program text rather than an operand."""
    if not isinstance(node.attrs, ConstantAttrs):
        return False
    return isinstance(node.attrs.value, TensorLiteral) and len(node.attrs.value.array.ravel()) == 1


def weight_of(node: Node) -> WeightRef | None:
    """The weight that a node is; None for anything else, literals too."""
    content = node.attrs.value if isinstance(node.attrs, ConstantAttrs) else None
    return content if isinstance(content, WeightRef) else None
