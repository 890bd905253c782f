"""Compaction: a function of the runtime."""

from __future__ import annotations

from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.compact.kernels import Compaction, compaction
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ops.compact import CompactAttrs


class Compact(Family[Compaction]):
    """Kernels of `part_counts`, `compact_places` and `compact_rows`."""

    name: ClassVar[str] = "compact"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, CompactAttrs)

    def match(self, body: Body) -> Compaction | Refusal:
        if len(body.nodes) == 1 and self.anchors(body.nodes[0]):
            return compaction(body.nodes[0])
        return Refusal("it is not a single compaction")

    def lower(self, match: Compaction, job: Job) -> Lowered:
        names = dict(zip(job.sizes, job.dims, strict=True))
        sizes = tuple(dim.substitute(names) for dim in match.sizes)
        return Lowered(match.kernel, sizes, effort=match.effort)
