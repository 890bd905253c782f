"""Cumulative ops: the total so far, at the index that the loop around has come to.

In parts, a task walks along one part of the axis, and adds the totals of those before it.
"""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.opdef import lookup
from anyshape.loop import Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import RULES, Conditions, Lowering, rule
from anyshape.lower.reduce import combine_of
from anyshape.ops.cumulative import (
    CumulativeAttrs,
    cummax,
    cummin,
    cumprod,
    cumsum,
    running_dtype,
)
from anyshape.ops.parts import PartCumulativeAttrs
from anyshape.sym import Dim, Symbol, minimum

PART = Symbol("p")


def cumulative(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The total so far, at the index that the loop around has come to."""
    attrs, dtype = node.attrs_as(CumulativeAttrs), node.result().tensor.dtype
    combine = combine_of(node)
    wide = running_dtype(lookup(combine), dtype)
    value = low.cast(low.at(node.operands[0], index, conditions), wide)
    total = low.running(combine, value, exclusive=attrs.exclusive)
    return low.cast(total, dtype)


for _op in (cumsum, cumprod, cummax, cummin):
    RULES[_op.name] = cumulative


@rule("part_cumulative")
def part_cumulative(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The total within the part so far, and those of the parts before the one that the task is."""
    attrs, dtype = node.attrs_as(PartCumulativeAttrs), node.result().tensor.dtype
    x, totals = node.operands
    wide, op = totals.tensor.dtype, attrs.combine
    part, row = Dim.of(PART), (*index[: attrs.axis], *index[attrs.axis + 1 :])
    others = attrs.parts - 1 - part if attrs.reverse else part

    def element(chosen: list[Dim]) -> Scalar:
        other = attrs.parts - 1 - chosen[0] if attrs.reverse else chosen[0]
        return low.at(totals, (other, *row))

    # What is clear from the part's own range is told again, for proofs.
    extent = minimum(others, attrs.parts)
    before = low.accumulate(op, wide, [extent], (part, *row), element)
    value = low.cast(low.at(x, index, conditions), wide)
    total = low.running(op, value, exclusive=attrs.exclusive)
    return low.cast(low.apply(op, (before, total), wide), dtype)
