"""Level 1 of a model with several cases: a program for each, and the selector between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from anyshape.base.options import Options
from anyshape.codegen.target import Target
from anyshape.execute.branches import BranchedExecutable, BranchExecutor
from anyshape.execute.cases import Case, Cases, NativeSelector, native_selector
from anyshape.execute.compile import ProgramCompiler, checked_options, compile_graph
from anyshape.execute.compile_options import CompileKeywords, CompileOptions
from anyshape.execute.result_cache import ResultCache
from anyshape.execute.static_axes import refuse_static
from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType
from anyshape.observe.progress import ProgressLine
from anyshape.passes.donation import NOTHING_DONATED
from anyshape.program import Input
from anyshape.sym import BindingPlan, Facts


@dataclass(frozen=True, slots=True)
class BranchedGraphs:
    """A graph for each of the first cases; all take `inputs`, in which cases may have numbers in
    place of axes."""

    graphs: tuple[Graph, ...]
    cases: tuple[Case, ...]
    inputs: tuple[tuple[str, TensorType], ...]
    facts: Facts  # what the user says of sizes


def compile_branches(
    source: BranchedGraphs,
    options: Options | None = None,
    *,
    progress: ProgressLine | None = None,
    target: Target | None = None,
    **chosen: Unpack[CompileKeywords],
) -> BranchedExecutable:
    """Compiles each graph as `compile_graph` does. They share what is kept of results."""
    for graph in source.graphs:
        fix = "drop static, or compile with branches=1"
        refuse_static(graph, "the model's code branches on sizes", fix)
    cache = CompileOptions.of(**chosen).result_cache
    if isinstance(cache, int):
        chosen["result_cache"] = ResultCache(cache)
    executables = [
        compile_graph(graph, options, progress=progress, target=target, **chosen)
        for graph in source.graphs
    ]
    patterns = [(f"input '{name}'", type_.shape) for name, type_ in source.inputs]
    cases = Cases(BindingPlan.make(patterns, source.facts, frozenset()), source.cases)
    select = _selector(cases, source, options, CompileOptions.of(**chosen), target)
    executable = BranchedExecutable(BranchExecutor(cases, executables, select))
    executable.again = lambda other: compile_branches(source, options, target=other, **chosen)
    return executable


def _selector(
    cases: Cases,
    source: BranchedGraphs,
    options: Options | None,
    choices: CompileOptions,
    target: Target | None,
) -> NativeSelector | None:
    """None where the interpreter runs the programs: it evaluates the cases itself."""
    if choices.executor == "reference":
        return None
    compiler = ProgramCompiler.of(checked_options(options), choices, NOTHING_DONATED, target=target)
    inputs = [Input(name, type_.dtype.numpy, type_.rank) for name, type_ in source.inputs]
    return native_selector(cases, inputs, compiler.target, compiler.generator)
