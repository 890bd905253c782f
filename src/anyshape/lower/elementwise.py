"""Elementwise ops: the same op on scalars, operands read where they broadcast to."""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait, all_ops
from anyshape.loop import Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import RULES, Conditions, Lowering


def elementwise(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    args = [low.at(*read) for read in low.operand_reads(node, index, conditions)]
    return low.apply(node.op.name, args, node.result().tensor.dtype)


def register_rules() -> None:
    """One rule serves every elementwise primitive of the registry."""
    for op in all_ops():
        if op.has(Trait.ELEMENTWISE) and not op.is_compound:
            RULES[op.name] = elementwise


register_rules()
