"""Level 1: from a graph to an Executable, once for all shapes.

The pipeline is one tuple with a reason beside each position. What is left of the graph is
scheduled, compiled and linked, as one program or as several with host nodes between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from anyshape.base.errors import OptionError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.cache import object_cache
from anyshape.codegen.compiler import Compiler
from anyshape.codegen.llvm.target import host_target
from anyshape.execute.assemble import assemble
from anyshape.execute.calibrate import CompileGraph, machine_costs
from anyshape.execute.capabilities import Capabilities, ExecutorName
from anyshape.execute.executable import Executable
from anyshape.execute.executor import Executor
from anyshape.execute.host import HostExecutor, refuse_host_nodes
from anyshape.execute.native import NATIVE, NativeExecutor
from anyshape.execute.reference import REFERENCE, ReferenceExecutor, refuse_memory_limit
from anyshape.execute.regions import Make
from anyshape.execute.stepwise import STEPWISE, StepwiseExecutor
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import entry_plan
from anyshape.lower.tiling import tiling_for
from anyshape.passes import PIPELINE, Pass, run_passes
from anyshape.passes.columns_last import ColumnsLast
from anyshape.passes.expand import Expand
from anyshape.passes.fuse import Fuse
from anyshape.passes.results import OwnResults
from anyshape.passes.segments import Segments, runs_whole
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import schedule
from anyshape.runtime import cpu_identity, machine
from anyshape.runtime.program import RunOptions

KERNELS: tuple[Pass, ...] = (
    ColumnsLast(),  # first: transpositions, which may join what comes before them
    Fuse(),  # then: what is computed together
)

PASSES: tuple[Pass, ...] = (
    Expand(),  # first: what no kernel takes whole becomes primitives
    *PIPELINE,
    *KERNELS,
    OwnResults(),  # then: what callers keep has memory of its own
    Segments(inside=KERNELS),  # last: which kernels run in one native call
)

EXECUTORS: Final[Mapping[ExecutorName, Capabilities]] = {
    capabilities.executor: capabilities for capabilities in (NATIVE, STEPWISE, REFERENCE)
}
"""What can run a graph, and what each of them is able to do."""


def compile_graph(
    graph: Graph,
    options: Options | None = None,
    *,
    executor: ExecutorName = "native",
    threads: int = 0,
    strict: bool = False,
    deterministic: bool = False,
    wait_for_team: bool = False,
    memory_limit: int | None = None,
) -> Executable:
    """Level 1: passes, lowering, machine code, schedule.

    `threads` is the most that a call may use, 0 means the CPUs allowed to the process. With
    `strict`, an op without a native form is an error. `deterministic` makes results the same bits
    for any number of threads. A call that finds the team of threads busy runs on its own thread,
    or is to `wait_for_team`. One that needs more bytes than `memory_limit` is refused.
    """
    if executor not in EXECUTORS:
        raise OptionError("executor", executor, f"one of {', '.join(EXECUTORS)}")
    if threads < 0:
        raise OptionError("threads", str(threads), "a number of threads, or 0 for all CPUs")
    if memory_limit is not None and memory_limit < 0:
        raise OptionError("memory_limit", str(memory_limit), "a number of bytes")
    EXECUTORS[executor].check(graph, threads)
    if executor == "reference":
        refuse_memory_limit(memory_limit)
        return Executable(graph, graph, (), ReferenceExecutor(graph))
    options = options or options_from_environment()
    passed = run_passes(graph, PASSES)
    if strict:
        refuse_host_nodes(passed.graph)
    allowed = _threads(executor, options, threads)
    running = RunOptions(allowed, wait_for_team=wait_for_team, memory_limit=memory_limit)
    make = _maker(executor, options, running, deterministic)
    whole = runs_whole(passed.graph)
    chosen = make(passed.graph) if whole else HostExecutor(passed.graph, make)
    return Executable(graph, passed.graph, passed.reports, chosen)


def _threads(executor: ExecutorName, options: Options, wanted: int) -> int:
    """What is asked for, as far as executor, process and machine allow it."""
    if executor == "stepwise":
        return 1
    return min(filter(None, (wanted, options.threads, machine().cpus)))


def _maker(
    executor: ExecutorName, options: Options, running: RunOptions, deterministic: bool
) -> Make:
    """What compiles a graph of kernels.

    Costs choose between kernels that round differently, so deterministic programs take the same
    ones everywhere.
    """
    compiler = Compiler(
        host_target(cpu_identity()), cpus=machine().cpus, cache=object_cache(options)
    )
    costs = (
        MachineCosts()
        if deterministic
        else machine_costs(options, running.threads, _as_probe(options))
    )

    def make(graph: Graph) -> Executor:
        bindings = entry_plan(graph)
        plan = schedule(graph, tiling_for(machine().vector_isa), costs)
        native = NativeExecutor(plan, assemble(plan, bindings, compiler, running), bindings)
        return StepwiseExecutor(native) if executor == "stepwise" else native

    return make


def _as_probe(options: Options) -> CompileGraph:
    """Compiles what costs are measured with: on one thread, with the costs that are given."""
    given = replace(options, calibrate=False)
    return lambda graph: compile_graph(graph, given, threads=1)
