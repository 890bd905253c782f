"""Matrix products, with what comes before and after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from anyshape.families.body import Body
from anyshape.families.dot.effort import (
    effort_of_panels,
    effort_of_sums,
    effort_with_far_weights,
)
from anyshape.families.dot.kernel import matrix_kernel
from anyshape.families.dot.match import (
    DOTS,
    MatmulMatch,
    Panels,
    matmul_match,
    param_of,
    with_columns_apart,
)
from anyshape.families.dot.plan import MatrixPlan
from anyshape.families.dot.task_runs import RUNS
from anyshape.families.family import Family, Job, Lowered
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.lower.effort import Effort, Variant
from anyshape.lower.packing import Packing
from anyshape.sym import Axis


class Dot(Family[MatmulMatch]):
    """Kernels of register tiles. Where each task copies its panels, there is a variant for few rows
    that does not."""

    name: ClassVar[str] = "dot"

    def anchors(self, node: Node) -> bool:
        return node.op in DOTS

    def match(self, body: Body) -> MatmulMatch | Refusal:
        return matmul_match(body)

    def lower(self, match: MatmulMatch, job: Job) -> Lowered:
        plan = MatrixPlan(match, job.tiling)
        if plan.run is not None:
            facts = replace(job.facts, axes=(*job.facts.axes, Axis(RUNS.name)))
            dims = (*job.dims, plan.run.count(job.tiling.threads))
            job = replace(job, facts=facts, sizes=(*job.sizes, RUNS), dims=dims)
        given = job.inputs, job.outputs, job.facts, job.sizes
        kernel = matrix_kernel(job.region, plan, *given)
        apart = with_columns_apart(match)
        if apart is None:
            return Lowered(kernel, job.dims, packed(plan), effort=_effort(job, plan))
        few = matrix_kernel(job.region, MatrixPlan(apart, job.tiling), *given)
        others = (Variant("sums", few, effort_of_sums(job.region)),)
        effort = effort_of_panels(job.region, plan)
        return Lowered(kernel, job.dims, {}, "panels", effort, others)


def _effort(job: Job, plan: MatrixPlan) -> Effort | None:
    """None: what the region's ops say."""
    if plan.form.panels is not Panels.STORED or not job.tiling.far_weights:
        return None
    return effort_with_far_weights(job.region, param_of(plan.form.columns))


def packed(plan: MatrixPlan) -> Mapping[int, Packing]:
    """The constant that a product reads in panels, if it does."""
    stored = plan.form.panels is Panels.STORED
    return {param_of(plan.form.columns): plan.packing()} if stored else {}
