"""Executables: compiled graphs that run at any shape, and the executors that run them."""

from anyshape.execute.background import BackgroundSpecialization
from anyshape.execute.branches import BranchedExecutable
from anyshape.execute.call_profile import CallProfile
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.cases import Case
from anyshape.execute.compile import EXECUTORS, compile_graph
from anyshape.execute.compile_branches import BranchedGraphs, compile_branches
from anyshape.execute.compile_options import CompileKeywords, CompileOptions, ExecutorName
from anyshape.execute.executable import Executable
from anyshape.execute.executor import ExecutableMemory, Run, StepRun
from anyshape.execute.hot import Hot
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.likely import ObservedSizes
from anyshape.execute.reports import CostReport, MemoryReport, StepCost, StepReport, VariantCost
from anyshape.execute.result_cache import ResultCache
from anyshape.execute.specialization import Specialization

__all__ = [
    "EXECUTORS",
    "BackgroundSpecialization",
    "BranchedExecutable",
    "BranchedGraphs",
    "CallProfile",
    "Capabilities",
    "Case",
    "CompileKeywords",
    "CompileOptions",
    "CostReport",
    "Executable",
    "ExecutableMemory",
    "ExecutorName",
    "Hot",
    "KernelView",
    "MemoryReport",
    "ObservedSizes",
    "ResultCache",
    "Run",
    "Specialization",
    "StepCost",
    "StepReport",
    "StepRun",
    "VariantCost",
    "compile_branches",
    "compile_graph",
]
