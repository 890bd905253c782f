"""Maps: straight-line code for each element."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered, kernel_of_loops
from anyshape.families.map.loops import map_work
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal


class Map(Family[Body]):
    """Kernels of elementwise and indexed ops. No op is for a map alone: any other kernel may take
    it along."""

    name: ClassVar[str] = "map"

    def anchors(self, node: Node) -> bool:
        return False

    def match(self, body: Body) -> Body | Refusal:
        return Refusal(f"{body.loops[0].op.name} is a loop of its own") if body.loops else body

    def lower(self, match: Body, job: Job) -> Lowered:
        return Lowered(kernel_of_loops(job, partial(map_work, caches=job.tiling.caches)), job.dims)
