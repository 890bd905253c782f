"""Operands of a dot in the order in which matrix products read them.

A matrix product needs the rows and the depth of lhs, and the depth of rhs, each as one run of axes,
and the columns of rhs as its last axes. An operand in another order is transposed in front of the
dot: that costs one pass over it, where the dot would read it with gaps many times over. Constants
are stored in panels anyway and stay as they are, and so do products of a single row, which read
everything once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.dot import DotAttrs
from anyshape.ops.movement import TransposeAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import product


@dataclass(frozen=True)
class ColumnsLast:
    """Transposes operands of dots where their order stands in the way."""

    name: str = "columns-last"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Reorder(), graph)


@dataclass(frozen=True, slots=True)
class _Roles:
    """The axes of one operand."""

    batch: tuple[int, ...]
    free: tuple[int, ...]
    depth: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.batch) + len(self.free) + len(self.depth)


class _Reorder(Rebuilder):
    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op.name != "dot" or not node.result().tensor.dtype.is_float:
            return node.results
        lhs, rhs = _roles(node, 0), _roles(node, 1)
        shape = node.operands[0].tensor.shape
        if not rhs.free or not rhs.depth or product(shape[axis] for axis in lhs.free) == 1:
            return node.results
        wanted = (*lhs.batch, *lhs.free, *lhs.depth), (*rhs.batch, *rhs.depth, *rhs.free)
        moves = not _is_run(lhs.free) or not _is_run(lhs.depth), _has_gaps(node, rhs)
        return _reordered(node, (lhs, rhs), wanted, moves, builder)


def _roles(dot: Node, side: int) -> _Roles:
    attrs = cast(DotAttrs, dot.attrs)
    batch, depth = attrs.batch[side], attrs.contract[side]
    rank = dot.operands[side].tensor.rank
    return _Roles(batch, tuple(a for a in range(rank) if a not in (*batch, *depth)), depth)


def _is_run(axes: Sequence[int]) -> bool:
    """Whether the axes follow each other."""
    return not axes or list(axes) == list(range(axes[0], axes[0] + len(axes)))


def _has_gaps(dot: Node, rhs: _Roles) -> bool:
    if dot.operands[1].node.op.name == "constant":
        return False
    columns_last = _is_run(rhs.free) and rhs.free[-1] == rhs.rank - 1
    return not columns_last or not _is_run(rhs.depth)


Sides = tuple[tuple[int, ...], tuple[int, ...]]


def _reordered(
    dot: Node, roles: tuple[_Roles, _Roles], wanted: Sides, moves: Sequence[bool], builder: Builder
) -> tuple[Value, ...]:
    """The dot on operands of which some are transposed."""
    operands, batch, contract = (
        list(dot.operands),
        [r.batch for r in roles],
        [r.depth for r in roles],
    )
    for side in range(2):
        if moves[side]:
            order = wanted[side]
            transpose = builder.node(lookup("transpose"), [operands[side]], TransposeAttrs(order))
            operands[side] = transpose.result()
            batch[side] = tuple(map(order.index, roles[side].batch))
            contract[side] = tuple(map(order.index, roles[side].depth))
    if not any(moves):
        return dot.results
    attrs = DotAttrs((contract[0], contract[1]), (batch[0], batch[1]))
    return builder.node(dot.op, operands, attrs).results
