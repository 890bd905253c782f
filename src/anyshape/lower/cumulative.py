"""Cumulative ops: a loop that walks along the axis in order, and stores as it goes.

for j < strip                     a vector loop, if another axis is the last
  for i < n with total
    total <- x[i, j]
    y[i, j] = total

In parts, a task walks along one part of the axis, and adds the totals of those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from anyshape.ir.node import Node
from anyshape.loop import Buffer, For, Scalar, Statement
from anyshape.loop.ir import Index
from anyshape.loop.merge import flattened
from anyshape.lower.context import RULES, Conditions, Level, Lowering, rule
from anyshape.lower.parts import part_range
from anyshape.lower.reduce import COMBINE as FUNCTIONS
from anyshape.lower.row import STRIP_WIDTH, stores
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, place_of, strips
from anyshape.ops.cumulative import CumulativeAttrs, running_dtype
from anyshape.ops.parts import PartCumulativeAttrs
from anyshape.sym import Dim, Symbol, minimum

COMBINE = {"cumsum": "add", "cumprod": "mul", "cummax": "maximum", "cummin": "minimum"}
PART = Symbol("p")


def cumulative(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The total so far, at the index that the loop around has come to."""
    attrs, dtype = cast(CumulativeAttrs, node.attrs), node.result().tensor.dtype
    wide = running_dtype(node.op.name, dtype)
    value = low.cast(low.at(node.operands[0], index, conditions), wide)
    total = low.running(COMBINE[node.op.name], value, exclusive=attrs.exclusive)
    return low.cast(total, dtype)


for _name in COMBINE:
    RULES[_name] = cumulative


@rule("part_cumulative")
def part_cumulative(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The total within the part so far, and those of the parts before the one that the task is."""
    attrs, dtype = cast(PartCumulativeAttrs, node.attrs), node.result().tensor.dtype
    x, totals = node.operands
    wide, op = totals.tensor.dtype, FUNCTIONS[attrs.function]
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


def cumulative_node(nodes: Sequence[Node]) -> Node | None:
    """The cumulative op of a region; fusion puts no two into one."""
    named = (*COMBINE, "part_cumulative")
    return next((node for node in nodes if node.op.name in named), None)


def cumulative_work(low: Lowering, outputs: Sequence[Buffer], indices: Indices, node: Node) -> Work:
    """The results have the shape of the op: what follows it is elementwise."""
    attrs = cast(CumulativeAttrs | PartCumulativeAttrs, node.attrs)
    walked = indices[attrs.axis]
    last = indices[-1:] if attrs.axis != len(indices) - 1 else ()
    outer = tuple(pair for pair in indices if pair != walked and pair not in last)
    if isinstance(attrs, PartCumulativeAttrs):
        outer = (*outer, (PART, attrs.parts))
    low.levels += [Level({index for index, _ in part}) for part in (outer, last, (walked,))]
    start, extent = Dim.of(0), walked[1]
    if isinstance(attrs, PartCumulativeAttrs):
        start, extent = part_range(low, extent, attrs.length, Dim.of(PART))
    step = Dim.of(walked[0])
    at = start + (extent - 1 - step if attrs.reverse else step)
    place = place_of(indices)
    place = (*place[: attrs.axis], at, *place[attrs.axis + 1 :])
    low.levels[-1].body += stores(low, outputs, place)
    before = flattened([s for level in low.levels[:-1] for s in level.body])
    loop = For(walked[0], extent, flattened(low.levels[-1].body), tuple(low.totals))
    body: tuple[Statement, ...] = (*before, loop)
    if not last:
        return one_each(outer, body)
    return one_each((*outer, strips(last[0], STRIP_WIDTH)), (of_strip(last[0], STRIP_WIDTH, body),))
