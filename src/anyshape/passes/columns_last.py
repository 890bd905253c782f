"""Operands of a dot in an order in which matrix products can read them.

A matrix product needs rows and depth of one operand, and columns and depth of the other, each as
one run of memory. An operand in another order is transposed in front of the dot: that costs one
pass over it, where the dot would read it with gaps many times over. Operands that a kernel can view
in a suitable order stay as they are, and so do constants, which are stored in panels anyway, and
products of a single row, which read everything once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.analysis.constants import is_constant
from anyshape.analysis.matrix_sides import Side, side_of
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.rewrite.rebuild import CountingRebuilder, rebuild_graph
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import DOT
from anyshape.ops.movement import TransposeAttrs
from anyshape.passes.infra import PassContext


@dataclass(frozen=True)
class ColumnsLast:
    """Transposes operands of dots where their order stands in the way."""

    name: str = "columns-last"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Reorder(), graph)


class _Reorder(CountingRebuilder):
    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not DOT:
            return node.results
        lhs, rhs = (side_of(node, side, self._is_seen_through) for side in range(2))
        if not lhs.depth or not rhs.free or lhs.size(lhs.free) == 1:
            return node.results
        orders = (*lhs.batch, *lhs.free, *lhs.depth), (*rhs.batch, *rhs.depth, *rhs.free)
        stays = False, is_constant(node.operands[1])
        moves = [
            not side.is_matrix and not stay and not _is_sorted(order)
            for side, order, stay in zip((lhs, rhs), orders, stays, strict=True)
        ]
        if not any(moves):
            return node.results
        return _reordered(node, (lhs, rhs), orders, moves, builder)

    def _is_seen_through(self, node: Node) -> bool:
        """What others use too is computed on its own."""
        return self.uses[node] == 1


def _is_sorted(order: tuple[int, ...]) -> bool:
    """Whether the operand has this order already, once it is in memory."""
    return list(order) == sorted(order)


def _reordered(
    dot: Node,
    sides: tuple[Side, Side],
    orders: tuple[tuple[int, ...], tuple[int, ...]],
    moves: Sequence[bool],
    builder: Builder,
) -> tuple[Value, ...]:
    """The dot on operands of which some are transposed."""
    operands = list(dot.operands)
    batch, contract = ([side.batch for side in sides], [side.depth for side in sides])
    for side, (order, moved) in enumerate(zip(orders, moves, strict=True)):
        if moved:
            attrs = TransposeAttrs(order)
            operands[side] = builder.node(lookup("transpose"), [operands[side]], attrs).result()
            batch[side] = tuple(map(order.index, sides[side].batch))
            contract[side] = tuple(map(order.index, sides[side].depth))
    attrs = DotAttrs((contract[0], contract[1]), (batch[0], batch[1]))
    return builder.node(dot.op, operands, attrs).results
