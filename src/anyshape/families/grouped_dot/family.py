"""Grouped dots: rows in groups, each times a matrix of its own."""

from __future__ import annotations

from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.dot.family import packed
from anyshape.families.dot.plan import MatrixPlan
from anyshape.families.family import Family, Job, Lowered
from anyshape.families.grouped_dot.kernel import GroupedPlan, grouped_kernel
from anyshape.families.grouped_dot.match import GroupedMatch, grouped_match
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import GROUPED_DOT


class GroupedDot(Family[GroupedMatch]):
    """Kernels of register tiles, where the group of a row says which panel it meets."""

    name: ClassVar[str] = "grouped dot"

    def anchors(self, node: Node) -> bool:
        return node.op is GROUPED_DOT

    def match(self, body: Body) -> GroupedMatch | Refusal:
        return grouped_match(body)

    def lower(self, match: GroupedMatch, job: Job) -> Lowered:
        plan = MatrixPlan(match.product, job.tiling)
        whole = GroupedPlan(plan, match.offsets_param)
        given = job.inputs, job.outputs, job.facts, job.sizes
        return Lowered(grouped_kernel(job.region, whole, *given), job.dims, packed(plan))
