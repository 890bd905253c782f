"""Scatters: updates in order, each at its own place."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.family import Family, Job, Lowered, kernel_of_loops
from anyshape.families.scatter.loops import scatter_work
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ops.scatter import ScatterAttrs


class Scatter(Family[Node]):
    """Kernels of one scatter."""

    name: ClassVar[str] = "scatter"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, ScatterAttrs)

    def match(self, body: Body) -> Node | Refusal:
        found = next(filter(self.anchors, body.nodes), None)
        return found or Refusal("it has no scatter")

    def lower(self, match: Node, job: Job) -> Lowered:
        return Lowered(kernel_of_loops(job, partial(scatter_work, node=match)), job.dims)
