"""What may follow a dot in one kernel: elementwise ops on its elements, and transposes.

Every value that depends on the dot has an *order*: its axis `i` is axis `order[i]` of the dot.
Where ops follow slices of it and never all of it, the *starts* are these slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import TRANSPOSE
from anyshape.ops.movement import TransposeAttrs

Order = tuple[int, ...]


def epilogue_orders(
    dot: Node, nodes: Iterable[Node], starts: Sequence[Node] = ()
) -> Mapping[Node, Order] | Refusal:
    """The orders of the dot and of those nodes that depend on it, or which of them is in the way.

    `nodes` come operands first. `starts` are of one shape, and all that reads the dot.
    """
    starts = starts or (dot,)
    shape = starts[0].result().tensor.shape
    orders: dict[Node, Order] = dict.fromkeys(starts, tuple(range(len(shape))))
    for node in nodes:
        found = {orders[value.node] for value in node.operands if value.node in orders}
        if not found or node in starts:
            continue
        order = _order_after(node, found)
        if order is None or node.result().tensor.shape != tuple(shape[axis] for axis in order):
            return Refusal(f"{node.op.name} follows, which is not elementwise of the same shape")
        orders[node] = order
    return orders


def _order_after(node: Node, operands: set[Order]) -> Order | None:
    if len(operands) != 1:
        return None
    (order,) = operands
    if node.op is TRANSPOSE:
        return tuple(order[axis] for axis in node.attrs_as(TransposeAttrs).perm)
    return order if node.op.has(Trait.ELEMENTWISE) else None


def has_run_at_end(order: Order, axes: tuple[int, ...]) -> bool:
    """Whether a value of this order ends in these axes of the dot: they are one run in memory."""
    return bool(axes) and order[-len(axes) :] == axes
