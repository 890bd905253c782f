"""Cumulative ops and what follows them in the same shape."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.cumulative.loops import cumulative_work
from anyshape.families.family import Family, Job, Lowered, kernel_of_loops
from anyshape.families.followers import not_elementwise
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ops.cumulative import CumulativeAttrs
from anyshape.ops.parts import PartCumulativeAttrs


class Cumulative(Family[Node]):
    """Kernels of one cumulative op."""

    name: ClassVar[str] = "cumulative"

    def anchors(self, node: Node) -> bool:
        return isinstance(node.attrs, CumulativeAttrs | PartCumulativeAttrs)

    def match(self, body: Body) -> Node | Refusal:
        found = next(filter(self.anchors, body.nodes), None)
        return found or Refusal("it has no cumulative op")

    def objection(self, body: Body, anchor: Node) -> Refusal | None:
        return not_elementwise(body, anchor)

    def lower(self, match: Node, job: Job) -> Lowered:
        return Lowered(kernel_of_loops(job, partial(cumulative_work, node=match)), job.dims)
