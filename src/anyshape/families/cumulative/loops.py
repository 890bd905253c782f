"""A loop that walks along the axis in order, and stores as it goes.

for j < strip                     a vector loop, if another axis is the last
  for i < n with total
    total <- x[i, j]
    y[i, j] = total
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from anyshape.ir.node import Node
from anyshape.loop import Buffer, For, Statement
from anyshape.loop.merge import flattened
from anyshape.lower.context import Level, Lowering
from anyshape.lower.cumulative import PART
from anyshape.lower.parts import part_range
from anyshape.lower.stores import STRIP_WIDTH, stores
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, place_of, strips
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.parts import PartCumulativeAttrs
from anyshape.sym import Dim


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
