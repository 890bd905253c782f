"""Ops with late axes, written with what bears sizes at run time.

    nonzero(x)          counts        = part_counts(x)                    a task for each part
                        places, count = compact_places(x, counts)         rows for all elements
                        prefix(count, places)                             the rows there are

    compress(mask, x…)  counts        = part_counts(mask)
                        rows, count   = compact_rows(mask, x, counts)     for each x
                        prefix(count, rows…)

Kernels compute an upper bound of rows in the segment before the cut; at the cut, `prefix` only
tells their number. Parts are as long as those of other axes (`long_tasks.py`): few elements have
none, are one task and are not counted beforehand. The late symbol stays, so what follows does not
notice.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.compact import CompactAttrs
from anyshape.ops.known import (
    COMPACT_PLACES,
    COMPACT_ROWS,
    COMPRESS,
    NONZERO,
    PART_COUNTS,
    PREFIX,
)
from anyshape.passes.infra import PassContext
from anyshape.passes.long_tasks import LONGEST, PART, TASKS
from anyshape.sym import Dim, ceildiv, maximum, minimum

KERNELS = {NONZERO: COMPACT_PLACES, COMPRESS: COMPACT_ROWS}


@dataclass(frozen=True)
class LateSizes:
    """Gives ops that compact a native form."""

    name: str = "late-sizes"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Compactor(), graph)


def in_parts(size: Dim) -> CompactAttrs:
    """The parts of so many elements."""
    parts = minimum(size // PART, maximum(TASKS, size // LONGEST))
    return CompactAttrs(parts, ceildiv(size, maximum(1, parts)))


class _Compactor(Rebuilder):
    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op not in KERNELS:
            return node.results
        looked_at, *values = node.operands
        attrs = in_parts(looked_at.tensor.size)
        counts = builder.node(PART_COUNTS, (looked_at,), attrs).result()
        operands = [(looked_at, value, counts) for value in values] or [(looked_at, counts)]
        kernels = [builder.node(KERNELS[node.op], each, attrs) for each in operands]
        rows = [kernel.result(0) for kernel in kernels]
        count = kernels[0].result(1)  # any of them: they count the same elements
        return builder.node(PREFIX, (count, *rows), NO_ATTRS, late=node.late).results
