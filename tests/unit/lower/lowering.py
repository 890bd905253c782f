"""Functions as the kernels that they become."""

from __future__ import annotations

from typing import Any

from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.loop import Kernel
from anyshape.passes import PASSES, run_passes
from anyshape.plan.schedule import StepPlan


def kernels_of(function: ash.Jitted[..., Any]) -> list[Kernel]:
    """The kernel of each step, in order, where no axis is so long that it is divided."""
    graph = run_passes(function.graph, PASSES).graph
    return [step.lowered.kernel for step in scheduled(graph).steps if not _is_of_parts(step)]


def all_kernels_of(function: ash.Jitted[..., Any]) -> list[Kernel]:
    """Every variant of every step."""
    steps = scheduled(run_passes(function.graph, PASSES).graph).steps
    return [choice.variant.kernel for step in steps for choice in step.variants]


def _is_of_parts(step: StepPlan) -> bool:
    parts = ("part_reduce", "part_dot", "part_attention")
    return any(node.op.name in parts for node in step.node.regions[0].nodes())


def kernel_of(function: ash.Jitted[..., Any]) -> Kernel:
    """The kernel of a function that becomes a single step."""
    (kernel,) = kernels_of(function)
    return kernel
