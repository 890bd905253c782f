"""Inputs that callers have in memory as the graph reads them, transposed.

torch's `channels_last` images are [batch, channels, height, width] by their axes, and lie in memory
as [batch, height, width, channels]: that is what convolutions read. An input that is expected to
lie so, and that nothing reads but by the transpose to that order, is taken in it:

    image: f32[n, c, h, w]      transpose [n, h, w, c] -> conv
    image: f32[n, h, w, c]      conv

Whoever passes it in another order pays for a copy, and gets the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ir.opdef import ParamAttrs
from anyshape.ir.rewrite import Decision
from anyshape.ops.known import TRANSPOSE
from anyshape.ops.movement import TransposeAttrs
from anyshape.passes.append_in_place import reordered
from anyshape.passes.donation import Order
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import runs_whole


@dataclass(frozen=True)
class CallerOrders:
    """Takes inputs in the order that callers have them in, where only that one is read."""

    name: str = "caller-orders"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not ctx.lying or not runs_whole(graph):
            return graph
        taken = {n: order for n, order in ctx.lying.items() if self._is_read(graph, ctx, n, order)}
        if not taken:
            return graph
        orders = {**ctx.donation.input_orders, **taken}
        ctx.donation = replace(ctx.donation, input_orders=orders)
        return reordered(graph, taken, ctx)

    def _is_read(self, graph: Graph, ctx: PassContext, number: int, order: Order) -> bool:
        """Whether an input is read in this order, and in no other."""
        name = f"'{graph.inputs[number]}'"
        if number in ctx.donation.inputs or number in ctx.donation.input_orders:
            return False  # its memory is a result's, too
        users = [node for node in graph.nodes() if _reads(node, number)]
        is_result = any(_is_param(value.node, number) for value in graph.results)
        only = all(node.attrs == TransposeAttrs(order) for node in users) and not is_result
        why = f"{name} lies as it is read" if only else f"{name} is read in its own order, too"
        for node in users[:1]:
            place = graph.locations.of(node)
            ctx.decisions.record(Decision(self.name, only, why, node, place))
        return bool(users) and only and all(node.op is TRANSPOSE for node in users)


def _reads(node: Node, number: int) -> bool:
    return any(_is_param(value.node, number) for value in node.operands)


def _is_param(node: Node, number: int) -> bool:
    return isinstance(node.attrs, ParamAttrs) and node.attrs.index == number
