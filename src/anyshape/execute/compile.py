"""Level 1: from a graph to an Executable, once for all shapes.

Passes (`passes/pipeline.py`) make kernels of a graph; these are scheduled, compiled and linked, as
one program or as several with host nodes between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Unpack

from anyshape.base.errors import OptionError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.cache import object_cache
from anyshape.codegen.compiler import Compiler
from anyshape.execute.caching_executor import refuse_effects, with_result_cache
from anyshape.execute.calibrate import CompileGraph, machine_costs
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.compile_options import CompileKeywords, CompileOptions, ExecutorName
from anyshape.execute.donation import binding_plan, donated_inputs
from anyshape.execute.executable import Executable
from anyshape.execute.executor import Executor
from anyshape.execute.host import HostExecutor, refuse_host_nodes
from anyshape.execute.link import assemble
from anyshape.execute.native import NATIVE, NativeExecutor
from anyshape.execute.reference import REFERENCE, ReferenceExecutor
from anyshape.execute.regions import Make
from anyshape.execute.stepwise import STEPWISE, StepwiseExecutor
from anyshape.execute.target import target_for
from anyshape.families.lower_graph import lower_graph
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.observe.debug import DebugPrinter
from anyshape.passes import pipeline, run_passes
from anyshape.passes.donation import NOTHING_DONATED, Donation
from anyshape.passes.native_forms import runs_whole
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import schedule
from anyshape.runtime import machine
from anyshape.runtime.options import RunOptions

EXECUTORS: Final[Mapping[ExecutorName, Capabilities]] = {
    capabilities.executor: capabilities for capabilities in (NATIVE, STEPWISE, REFERENCE)
}
"""What can run a graph, and what each of them is able to do."""


def compile_graph(
    graph: Graph, options: Options | None = None, **chosen: Unpack[CompileKeywords]
) -> Executable:
    """Level 1: passes, lowering, machine code, schedule. `anyshape.compile` explains choices."""
    choices = CompileOptions.of(**chosen)
    EXECUTORS[choices.executor].check(graph, choices)
    if choices.result_cache is not None:
        refuse_effects(graph)
    donated = donated_inputs(graph, choices.donate)
    if choices.executor == "reference":
        return Executable(graph, graph, (), _remembering(graph, ReferenceExecutor(graph), choices))
    if options is None:
        options = options_from_environment()
    elif not isinstance(options, Options):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError("options", repr(options), "an ash.Options")
    passes = pipeline((*options.without, *choices.without))
    debug = DebugPrinter(options.debug)
    passed = run_passes(graph, passes, donated, observe=debug.passed)
    if choices.strict:
        refuse_host_nodes(passed.graph)
    whole = runs_whole(passed.graph)
    donation = passed.donation if whole else NOTHING_DONATED
    assert whole or not passed.donation.input_orders, "arrays are laid out for one native call"
    make = _maker(options, choices, donation)
    executor = make(passed.graph) if whole else HostExecutor(passed.graph, make)
    executor = _remembering(graph, executor, choices)
    bindings = binding_plan(passed.graph, donation)
    return Executable(graph, passed.graph, passed.reports, executor, bindings)


def _remembering(graph: Graph, executor: Executor, choices: CompileOptions) -> Executor:
    """With the cache of results that was chosen, if any."""
    if choices.result_cache is None:
        return executor
    return with_result_cache(graph, executor, choices.result_cache)


def _threads(executor: ExecutorName, options: Options, wanted: int) -> int:
    """What is asked for, as far as executor, process and machine allow it."""
    if executor == "stepwise":
        return 1
    return min(filter(None, (wanted, options.threads, machine().cpus)))


def _maker(options: Options, choices: CompileOptions, donation: Donation) -> Make:
    """What compiles a graph of kernels.

    Costs choose between kernels that round differently, so deterministic programs take the same
    ones everywhere.
    """
    running = RunOptions(
        _threads(choices.executor, options, choices.threads),
        wait_for_team=choices.wait_for_team,
        memory_limit=choices.memory_limit,
    )
    target = target_for(options)
    cpus = options.compile_jobs or machine().cpus
    compiler = Compiler(target, cpus=cpus, cache=object_cache(options))
    costs = (
        MachineCosts()
        if choices.deterministic
        else machine_costs(options, running.threads, _as_probe(options))
    )

    def make(graph: Graph) -> Executor:
        bindings = entry_plan(graph)
        lowered = lower_graph(graph, replace(target.tiling, threads=costs.threads))
        plan = schedule(lowered, costs, donation)
        DebugPrinter(options.debug).scheduled(graph.name, plan.kernels)
        made = assemble(plan, bindings, compiler, running, perf_map=options.perf_map)
        native = NativeExecutor(plan, made, bindings)
        return StepwiseExecutor(native) if choices.executor == "stepwise" else native

    return make


def _as_probe(options: Options) -> CompileGraph:
    """Compiles what costs are measured with: on one thread, with the costs that are given."""
    given = replace(options, calibrate=False)
    return lambda graph: compile_graph(graph, given, threads=1)
