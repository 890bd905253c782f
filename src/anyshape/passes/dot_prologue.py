"""What may come before a dot in one kernel: cheap elementwise ops on one of its operands.

A task of a matrix product computes the part of the operand that it needs into scratch, and uses it
for several panels of columns, or blocks of rows. It is computed again by every task that has the
same rows, or columns, so that only what costs little joins: a pass over memory is saved, and a step
with the wait for it, which counts where the product is short. Ops whose operands are read in runs
of memory are computed in vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.passes.dot_epilogue import epilogue_orders, has_run_at_end
from anyshape.passes.matrix_sides import Side, side_of
from anyshape.passes.strided_view import Through, is_view
from anyshape.sym import Answer, Dim, FactScope, LessEqual

MOST_OPS = 8
"""Elementwise ops of a prologue: from about as many on, a pass over memory takes no longer."""

LONG = 768
"""Uses of an element from which on its product takes about a hundred times as long as a pass over
memory: sparing that gains less than it costs to compute some elements twice."""


class DotSides(NamedTuple):
    """The operands of a dot by what they bring to the product."""

    rows: Side
    columns: Side


def dot_sides(dot: Node, nodes: Sequence[Node], through: Through) -> DotSides | None:
    """The operands, if the dot is a matrix product; `nodes` are those of its kernel, last first.

    The columns are those of lhs where a transpose puts them last in the result.
    """
    lhs, rhs = (side_of(dot, side, through) for side in range(2))
    orders = epilogue_orders(dot, reversed(nodes))
    if isinstance(orders, str) or not lhs.depth or not (lhs.is_matrix and rhs.is_matrix):
        return None
    batch, rank, order = len(lhs.batch), dot.result().tensor.rank, orders[nodes[0]]
    if has_run_at_end(order, tuple(range(rank - len(rhs.free), rank))):
        return DotSides(lhs, rhs)
    if has_run_at_end(order, tuple(range(batch, batch + len(lhs.free)))):
        return DotSides(rhs, lhs)
    return None


def objection_to_prologue(
    sides: DotSides, side: Side, nodes: Iterable[Node], scope: FactScope
) -> str:
    """Why a dot had better not compute this operand by these ops, or ''."""
    if sides.rows.view.base == sides.columns.view.base:
        return "both operands of a dot are computed from it"
    is_run = side.is_run_of_depth if side is sides.rows else side.is_run_of_free
    run = side.depth if side is sides.rows else side.free
    if not is_run or sum(side.view.shape[axis] != 1 for axis in run) > 1:
        return "a dot would compute it one element here and one there"
    if _repeats(side):
        return "it would be computed again for each use"
    other = sides.columns if side is sides.rows else sides.rows
    if scope.proves(LessEqual(Dim.of(LONG), other.size(other.free))) is Answer.TRUE:
        return "a dot uses each element so often that a pass over memory costs nothing"
    return _objection_to_ops(nodes)


def _repeats(side: Side) -> bool:
    """Whether an element of what is computed stands in several places of the operand."""
    pairs = zip(side.view.shape, side.view.strides, strict=True)
    return any(stride == 0 and size != 1 for size, stride in pairs)


def _objection_to_ops(nodes: Iterable[Node]) -> str:
    left = MOST_OPS
    for node in nodes:
        if not is_prologue_op(node):
            return f"{node.op.name} in front of a dot reads elements here and there"
        if node.op.has(Trait.ELEMENTWISE) and not node.op.is_cheap:
            return f"{node.op.name} costs more than a pass over memory if a dot computes it"
        left -= node.op.has(Trait.ELEMENTWISE)
    return "" if left >= 0 else "so many ops in front of a dot cost more than a pass over memory"


def is_prologue_op(node: Node) -> bool:
    """Whether neighbours in the last axis of its result are made from neighbours in memory."""
    match node.attrs:
        case TransposeAttrs(perm):
            return perm[-1:] == (len(perm) - 1,)
        case SliceAttrs() as attrs:
            return attrs.steps[-1:] == (1,)
        case _:
            return node.op.has(Trait.ELEMENTWISE) or (node.op.name == "broadcast" and is_view(node))
