"""What the two ways to compute a product take whose columns are apart: copied panels, or sums.

A copy of the columns is worth its time if enough rows use it. A product of few rows reads each
column once or twice, and plain sums along the depth are done sooner.
"""

from __future__ import annotations

from anyshape.families.dot.plan import MatrixPlan
from anyshape.ir.node import Region
from anyshape.lower.effort import Effort, region_effort
from anyshape.sym import product

COPIED_ELEMENT = 12
"""Time to copy an element of a panel, in additions: it is read from memory, and written."""

SLOWER_SUMS = 4
"""How much longer plain sums take than register tiles, which load a number for many products."""


def effort_of_panels(region: Region, plan: MatrixPlan) -> Effort:
    copies = product(plan.batches) * plan.blocks * plan.most_depth * plan.form.column_count
    return region_effort(region) + Effort(operations=copies * COPIED_ELEMENT)


def effort_of_sums(region: Region) -> Effort:
    plain = region_effort(region)
    return plain + Effort(flops=plain.flops * (SLOWER_SUMS - 1))
