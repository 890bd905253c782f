"""Executables: compiled graphs that run at any shape, and the executors that run them."""

from anyshape.execute.capabilities import Capabilities, ExecutorName
from anyshape.execute.compile import EXECUTORS, PASSES, compile_graph
from anyshape.execute.executable import Executable
from anyshape.execute.executor import ExecutableMemory, Run, StepRun
from anyshape.execute.reports import CostReport, MemoryReport, StepCost, StepReport, VariantCost
from anyshape.execute.specialization import Specialization

__all__ = [
    "EXECUTORS",
    "PASSES",
    "Capabilities",
    "CostReport",
    "Executable",
    "ExecutableMemory",
    "ExecutorName",
    "MemoryReport",
    "Run",
    "Specialization",
    "StepCost",
    "StepReport",
    "StepRun",
    "VariantCost",
    "compile_graph",
]
