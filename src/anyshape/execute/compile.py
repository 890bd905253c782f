"""Level 1: from a graph to an Executable, once for all shapes.

The pipeline is one tuple with a reason beside each position. What is left of the graph is
scheduled, compiled and linked, as one program or as several with host nodes between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Unpack

from anyshape.base.errors import OptionError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.cache import object_cache
from anyshape.codegen.compiler import Compiler
from anyshape.execute.assemble import assemble
from anyshape.execute.caching import refuse_effects, with_result_cache
from anyshape.execute.calibrate import CompileGraph, machine_costs
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.choices import ChoiceArguments, Choices, ExecutorName
from anyshape.execute.donation import binding_plan, donated_inputs, passed_with_donation
from anyshape.execute.executable import Executable
from anyshape.execute.executor import Executor
from anyshape.execute.host import HostExecutor, refuse_host_nodes
from anyshape.execute.native import NATIVE, NativeExecutor
from anyshape.execute.reference import REFERENCE, ReferenceExecutor
from anyshape.execute.regions import Make
from anyshape.execute.stepwise import STEPWISE, StepwiseExecutor
from anyshape.execute.target import target_for
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import entry_plan
from anyshape.passes import PIPELINE, Pass, Passed, run_passes
from anyshape.passes.causal_masks import CausalMasks
from anyshape.passes.columns_last import ColumnsLast
from anyshape.passes.expand import Expand
from anyshape.passes.few_parts import FewParts
from anyshape.passes.fuse import Fuse
from anyshape.passes.long_tasks import LongTasks
from anyshape.passes.narrowing import Narrowing
from anyshape.passes.results import OwnResults
from anyshape.passes.row_products import RowProducts
from anyshape.passes.segments import Segments, runs_whole
from anyshape.passes.share_kernels import ShareKernels
from anyshape.passes.shared_heads import SharedHeads
from anyshape.plan.costs import MachineCosts
from anyshape.plan.donation import NOTHING_DONATED, Donation
from anyshape.plan.schedule import schedule
from anyshape.runtime import machine
from anyshape.runtime.program import RunOptions

KERNELS: tuple[Pass, ...] = (
    ColumnsLast(),  # first: transpositions, which may join what comes before them
    FewParts(),  # then: no concatenation of more parts than a kernel chooses among
    Fuse(),  # then: what is computed together
    LongTasks(),  # then: kernels whose loops may be long, now that it is plain what they compute
    ShareKernels(),  # last: many kernels that differ in numbers only
)

FIRST: tuple[Pass, ...] = (
    Expand(),  # first: what no kernel takes whole becomes primitives
    *PIPELINE,
    RowProducts(),  # then: products of rows, with what follows them in the same shape
    CausalMasks(),  # then: attention whose mask need not be made
    SharedHeads(),  # then: attention in the form that kernels do best, now that it is plain to see
    Narrowing(),  # last: slices meet products and attention in their final form
)

LAST: tuple[Pass, ...] = (
    *KERNELS,
    OwnResults(),  # then: what callers keep has memory of its own
    Segments(inside=KERNELS),  # last: which kernels run in one native call
)

PASSES: tuple[Pass, ...] = (*FIRST, *LAST)

EXECUTORS: Final[Mapping[ExecutorName, Capabilities]] = {
    capabilities.executor: capabilities for capabilities in (NATIVE, STEPWISE, REFERENCE)
}
"""What can run a graph, and what each of them is able to do."""


def compile_graph(
    graph: Graph, options: Options | None = None, **chosen: Unpack[ChoiceArguments]
) -> Executable:
    """Level 1: passes, lowering, machine code, schedule. `anyshape.compile` explains choices."""
    choices = Choices.of(**chosen)
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
    passed, donation = _passed(graph, donated)
    if choices.strict:
        refuse_host_nodes(passed.graph)
    make = _maker(options, choices, donation)
    whole = runs_whole(passed.graph)
    executor = make(passed.graph) if whole else HostExecutor(passed.graph, make)
    executor = _remembering(graph, executor, choices)
    bindings = binding_plan(passed.graph, donation)
    return Executable(graph, passed.graph, passed.reports, executor, bindings)


def _passed(graph: Graph, donated: frozenset[int]) -> tuple[Passed, Donation]:
    made = passed_with_donation(graph, donated, FIRST, LAST) if donated else None
    return made or (run_passes(graph, PASSES), NOTHING_DONATED)


def _remembering(graph: Graph, executor: Executor, choices: Choices) -> Executor:
    """With the cache of results that was chosen, if any."""
    if choices.result_cache is None:
        return executor
    return with_result_cache(graph, executor, choices.result_cache)


def _threads(executor: ExecutorName, options: Options, wanted: int) -> int:
    """What is asked for, as far as executor, process and machine allow it."""
    if executor == "stepwise":
        return 1
    return min(filter(None, (wanted, options.threads, machine().cpus)))


def _maker(options: Options, choices: Choices, donation: Donation) -> Make:
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
    compiler = Compiler(target, cpus=machine().cpus, cache=object_cache(options))
    costs = (
        MachineCosts()
        if choices.deterministic
        else machine_costs(options, running.threads, _as_probe(options))
    )

    def make(graph: Graph) -> Executor:
        bindings = entry_plan(graph)
        plan = schedule(graph, target.tiling, costs, donation)
        made = assemble(plan, bindings, compiler, running, perf_map=options.perf_map)
        native = NativeExecutor(plan, made, bindings)
        return StepwiseExecutor(native) if choices.executor == "stepwise" else native

    return make


def _as_probe(options: Options) -> CompileGraph:
    """Compiles what costs are measured with: on one thread, with the costs that are given."""
    given = replace(options, calibrate=False)
    return lambda graph: compile_graph(graph, given, threads=1)
