"""Cumulative ops: a loop that walks along the axis in order, and stores as it goes.

for j < strip                     a vector loop, if another axis is the last
  for i < n with total
    total <- x[i, j]
    y[i, j] = total
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from anyshape.ir.node import Node
from anyshape.loop import Buffer, For, Scalar, Statement
from anyshape.loop.ir import Index
from anyshape.loop.merge import flattened
from anyshape.lower.context import RULES, Conditions, Level, Lowering, wide_of
from anyshape.lower.row import STRIP_WIDTH, stores
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, place_of, strips
from anyshape.ops.cumulative import CumulativeAttrs

COMBINE = {"cumsum": "add", "cumprod": "mul", "cummax": "maximum", "cummin": "minimum"}


def cumulative(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The total so far, at the index that the loop around has come to."""
    attrs, dtype = cast(CumulativeAttrs, node.attrs), node.result().tensor.dtype
    value = low.cast(low.at(node.operands[0], index, conditions), wide_of(dtype))
    total = low.running(COMBINE[node.op.name], value, exclusive=attrs.exclusive)
    return low.cast(total, dtype)


for _name in COMBINE:
    RULES[_name] = cumulative


def cumulative_node(nodes: Sequence[Node]) -> Node | None:
    """The cumulative op of a region; fusion puts no two into one."""
    return next((node for node in nodes if node.op.name in COMBINE), None)


def cumulative_work(low: Lowering, outputs: Sequence[Buffer], indices: Indices, node: Node) -> Work:
    """The results have the shape of the op: what follows it is elementwise."""
    attrs = cast(CumulativeAttrs, node.attrs)
    walked = indices[attrs.axis]
    last = indices[-1:] if attrs.axis != len(indices) - 1 else ()
    outer = tuple(pair for pair in indices if pair != walked and pair not in last)
    low.levels += [Level({index for index, _ in part}) for part in (outer, last, (walked,))]
    place = place_of(indices)
    if attrs.reverse:
        place = (*place[: attrs.axis], walked[1] - 1 - place[attrs.axis], *place[attrs.axis + 1 :])
    low.levels[-1].body += stores(low, outputs, place)
    before = flattened([s for level in low.levels[:-1] for s in level.body])
    loop = For(*walked, flattened(low.levels[-1].body), tuple(low.totals))
    body: tuple[Statement, ...] = (*before, loop)
    if not last:
        return one_each(outer, body)
    return one_each((*outer, strips(last[0], STRIP_WIDTH)), (of_strip(last[0], STRIP_WIDTH, body),))
