"""What may follow an op whose kernel ends in one pass over its result."""

from __future__ import annotations

from anyshape.families.body import Body
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal


def not_elementwise(body: Body, anchor: Node) -> Refusal | None:
    """Why not: an op beside it has another shape than the result of the anchor."""
    shape = anchor.result().tensor.shape
    for node in reversed(body.nodes):
        same = node.op.has(Trait.ELEMENTWISE) and node.result().tensor.shape == shape
        if node is not anchor and not same:
            return Refusal(f"{node.op.name} has another shape")
    return None
