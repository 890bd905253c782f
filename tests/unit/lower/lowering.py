"""Functions as the kernels that they become."""

from __future__ import annotations

from typing import Any

import anyshape as ash
from anyshape.execute import PASSES
from anyshape.loop import Kernel
from anyshape.passes import run_passes
from anyshape.plan.schedule import schedule


def kernels_of(function: ash.Jitted[..., Any]) -> list[Kernel]:
    """The kernel of each step, in order."""
    graph = run_passes(function.graph, PASSES).graph
    return [step.lowered.kernel for step in schedule(graph).steps]


def kernel_of(function: ash.Jitted[..., Any]) -> Kernel:
    """The kernel of a function that becomes a single step."""
    (kernel,) = kernels_of(function)
    return kernel
