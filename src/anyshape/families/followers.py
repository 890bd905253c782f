"""What follows the op that a kernel is for: in its order or another, or at all."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from anyshape.analysis.epilogue import Order, epilogue_orders
from anyshape.families.body import Body
from anyshape.ir.node import Node
from anyshape.ir.opdef import AnyOp, Trait
from anyshape.ir.rewrite import Refusal


class Anchored(NamedTuple):
    """The only loop of a body, and the orders in which results have its axes."""

    node: Node
    orders: tuple[Order, ...]


def only_loop(
    body: Body, ops: Container[AnyOp], name: str, starts: Sequence[Node] = ()
) -> Anchored | Refusal:
    """One of `ops`, if a body has no other loop and all its results are made of it, or of `starts`,
    which are slices of it."""
    loops = body.loops
    if len(loops) != 1 or loops[0].op not in ops:
        return Refusal(f"it is not a single {name}")
    orders = epilogue_orders(loops[0], body.nodes, starts)
    if isinstance(orders, Refusal):
        return orders
    if any(result.node not in orders for result in body.results):
        return Refusal("a result does not depend on it")
    return Anchored(loops[0], tuple(orders[result.node] for result in body.results))


def not_elementwise(body: Body, anchor: Node) -> Refusal | None:
    """Why not: an op beside it has another shape than the result of the anchor."""
    shape = anchor.result().tensor.shape
    for node in reversed(body.nodes):
        same = node.op.has(Trait.ELEMENTWISE) and node.result().tensor.shape == shape
        if node is not anchor and not same:
            return Refusal(f"{node.op.name} has another shape")
    return None
