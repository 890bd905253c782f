"""What may come before a dot in one kernel: cheap elementwise ops on one of its operands.

A task of a matrix product computes the part of the operand that it needs into scratch, and uses it
for several panels of columns, or blocks of rows. It is computed again by every task that has the
same rows, or columns, so that only what costs little joins: a pass over memory is saved, and a step
with the wait for it, which counts where the product is short. Ops whose operands are read in runs
of memory are computed in vectors.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyshape.analysis.matrix_sides import Side
from anyshape.families.dot.match import MatmulMatch, is_prologue_op
from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Refusal
from anyshape.sym import Answer, Dim, FactScope, LessEqual

MOST_OPS = 8
"""Elementwise ops of a prologue: from about as many on, a pass over memory takes no longer."""

LONG = 768
"""Uses of an element from which on its product takes about a hundred times as long as a pass over
memory: sparing that gains less than it costs to compute some elements twice."""


def objection_to_prologue(
    sides: MatmulMatch, side: Side, nodes: Iterable[Node], scope: FactScope
) -> Refusal | None:
    """Why a dot had better not compute this operand by these ops, although it could."""
    if sides.rows.view.base == sides.columns.view.base:
        return Refusal("both operands of a dot are computed from it")
    is_run = side.is_run_of_depth if side is sides.rows else side.is_run_of_free
    run = side.depth if side is sides.rows else side.free
    if not is_run or sum(side.view.shape[axis] != 1 for axis in run) > 1:
        return Refusal("a dot would compute it one element here and one there")
    if _repeats(side):
        return Refusal("it would be computed again for each use")
    other = sides.columns if side is sides.rows else sides.rows
    if scope.proves(LessEqual(Dim.of(LONG), other.size(other.free))) is Answer.TRUE:
        return Refusal("a dot uses each element so often that a pass over memory costs nothing")
    return _objection_to_ops(nodes)


def _repeats(side: Side) -> bool:
    """Whether an element of what is computed stands in several places of the operand."""
    pairs = zip(side.view.shape, side.view.strides, strict=True)
    return any(stride == 0 and size != 1 for size, stride in pairs)


def _objection_to_ops(nodes: Iterable[Node]) -> Refusal | None:
    left = MOST_OPS
    for node in nodes:
        if not is_prologue_op(node):
            return Refusal(f"{node.op.name} in front of a dot reads elements here and there")
        if node.op.has(Trait.ELEMENTWISE) and not node.op.is_cheap:
            why = "costs more than a pass over memory if a dot computes it"
            return Refusal(f"{node.op.name} {why}")
        left -= node.op.has(Trait.ELEMENTWISE)
    if left >= 0:
        return None
    return Refusal("so many ops in front of a dot cost more than a pass over memory")
