"""Rows: reductions, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from anyshape.families.body import LOOPS, Body
from anyshape.families.family import Family, Job, Lowered, kernel_of_loops
from anyshape.families.followers import not_elementwise
from anyshape.families.map.loops import map_work
from anyshape.families.row.blocks import (
    are_short,
    blocks_of_rows,
    blocks_of_runs,
    efforts,
    efforts_of_runs,
    may_be_blocks,
    runs_of,
)
from anyshape.families.row.loops import Arrangement, kept_indices, row_by_row, row_work
from anyshape.families.row.space import objection_to_rows, space_of
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.loop import Buffer
from anyshape.lower.context import Lowering
from anyshape.lower.effort import Variant, region_effort
from anyshape.lower.tasks import Indices, Work
from anyshape.lower.tiling import Caches
from anyshape.sym import Answer


class Row(Family[Body]):
    """Kernels of reductions, and of whatever else has loops: it computes one element after the
    other, by index, and so takes anything."""

    name: ClassVar[str] = "row"
    takes_the_rest: ClassVar[bool] = True

    def anchors(self, node: Node) -> bool:
        return bool(node.op.traits & LOOPS)

    def match(self, body: Body) -> Body | Refusal:
        return body

    def objection(self, body: Body, anchor: Node) -> Refusal | None:
        in_rows = space_of(anchor) is not None
        return objection_to_rows(body) if in_rows else not_elementwise(body, anchor)

    def lower(self, match: Body, job: Job) -> Lowered:
        work = partial(_work, caches=job.tiling.caches)
        kernel = kernel_of_loops(job, work)
        short = are_short(kernel) if may_be_blocks(kernel) else Answer.FALSE
        if short is Answer.FALSE:
            return Lowered(kernel, job.dims)
        in_blocks = kernel_of_loops(job, partial(work, arrangement=blocks_of_rows))
        if short is Answer.TRUE:
            return Lowered(in_blocks, job.dims)
        one_each, of_blocks = efforts(kernel, region_effort(job.region))
        others = [Variant("rows in blocks", in_blocks, of_blocks)]
        if runs_of(kernel.body[-1]) is not None:
            in_runs = kernel_of_loops(job, partial(work, arrangement=blocks_of_runs))
            along, across = efforts_of_runs(kernel, of_blocks)
            others = [replace(others[0], effort=along), Variant("runs in lanes", in_runs, across)]
        return Lowered(kernel, job.dims, {}, "row by row", one_each, tuple(others))


def _work(
    low: Lowering,
    outputs: Sequence[Buffer],
    space: Indices,
    caches: Caches,
    arrangement: Arrangement = row_by_row,
) -> Work:
    """Where all reductions go over a few elements without a loop, a row has nothing to share."""
    probe = Lowering(low.region, low.buffers, low.scope)
    kept = kept_indices(probe, space)
    if not probe.reduced:
        return map_work(low, outputs, space, caches)
    return row_work(low, outputs, space, kept, arrangement)
