"""What products take beyond their arithmetic.

Columns that are apart are copied into panels, or met by plain sums. A copy is worth its time if
enough rows use it. A product of few rows reads each column once or twice, and plain sums along the
depth are done sooner.

Weights of a program that has many come from beyond the second level, however few those of one
product are.
"""

from __future__ import annotations

from anyshape.families.dot.plan import MatrixPlan
from anyshape.ir.node import Region
from anyshape.ir.types import TensorType
from anyshape.lower.effort import Effort, region_effort
from anyshape.sym import product

COPIED_ELEMENT = 12
"""Time to copy an element of a panel, in additions: it is read from memory, and written."""

SLOWER_SUMS = 4
"""How much longer plain sums take than register tiles, which load a number for many products."""


def effort_with_far_weights(region: Region, param: int) -> Effort:
    """Of a product whose weights are this parameter."""
    weights = region.params[param]
    assert isinstance(weights, TensorType), "panels are made of a constant"
    size = weights.size * weights.dtype.itemsize
    return region_effort(region, {param}) + Effort(far=size)


def effort_of_panels(region: Region, plan: MatrixPlan) -> Effort:
    copies = product(plan.batches) * plan.blocks * plan.most_depth * plan.form.column_count
    return region_effort(region) + Effort(operations=copies * COPIED_ELEMENT)


def effort_of_sums(region: Region) -> Effort:
    plain = region_effort(region)
    return plain + Effort(flops=plain.flops * (SLOWER_SUMS - 1))
