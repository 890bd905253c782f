"""Level 1: from a graph to an Executable, once for all shapes.

    passes     a graph of kernels, with host nodes between them       passes/pipeline.py
    lower      the kernels of each program as loops                   families/lower_graph.py
    schedule   steps, waits and who shares memory                     plan/schedule.py
    compile    code of the target, found or made                      codegen/target.py
    link       a program of the runtime                               execute/link.py

A graph without host nodes is one program. One with them is several, which a `HostExecutor` runs in
turn with the host nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Unpack

from anyshape.base.errors import OptionError
from anyshape.base.garbage import young_garbage
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.cache import object_cache
from anyshape.codegen.target import Generator, Setup, Target
from anyshape.dynamic.buckets import PaddedGraph, padded_graph
from anyshape.execute.caching_executor import refuse_effects, with_result_cache
from anyshape.execute.calibrate import CompileGraph, machine_costs
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.compile_options import CompileKeywords, CompileOptions, ExecutorName
from anyshape.execute.donation import binding_plan, donated_inputs, inputs_lying
from anyshape.execute.executable import Executable
from anyshape.execute.executor import Executor
from anyshape.execute.host import HostExecutor, refuse_host_nodes
from anyshape.execute.hot_executor import HotExecutor, check_hot
from anyshape.execute.likely import with_likely
from anyshape.execute.link import link, unlinked_program
from anyshape.execute.native import NATIVE, NativeExecutor
from anyshape.execute.notes import CompiledNotes, ScheduleNotes
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.execute.reference import REFERENCE, ReferenceExecutor
from anyshape.execute.regions import plan_graph
from anyshape.execute.static_axes import check_static, take_static_memory
from anyshape.execute.stepwise import STEPWISE, StepwiseExecutor
from anyshape.execute.target import target_for
from anyshape.families.lower_graph import lower_graph
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan, tensor_inputs
from anyshape.ir.types import Array
from anyshape.observe.debug import DebugPrinter
from anyshape.observe.progress import ProgressLine
from anyshape.passes import Passed, PassReport, pipeline, run_passes
from anyshape.passes.assertions_only import assertions_only
from anyshape.passes.compute_constants import ComputeConstants
from anyshape.passes.donation import NOTHING_DONATED, Donation
from anyshape.passes.infra import Compute, PassContext
from anyshape.passes.native_forms import runs_whole
from anyshape.passes.pipeline import PIPELINE
from anyshape.plan.costs import MachineCosts
from anyshape.plan.schedule import schedule
from anyshape.runtime import machine
from anyshape.runtime.code import load_code
from anyshape.runtime.options import RunOptions, allowed_threads, run_options
from anyshape.sym.decide.decider import shared_decider

EXECUTORS: Final[Mapping[ExecutorName, Capabilities]] = {
    capabilities.executor: capabilities for capabilities in (NATIVE, STEPWISE, REFERENCE)
}
"""What can run a graph, and what each of them is able to do."""


def compile_graph(
    graph: Graph,
    options: Options | None = None,
    *,
    progress: ProgressLine | None = None,
    target: Target | None = None,
    **chosen: Unpack[CompileKeywords],
) -> Executable:
    """Level 1: passes, and a program for each graph of kernels that they leave.

    `anyshape.compile` explains the keywords; `progress` is the line of whoever compiles more. A
    `target` other than that of the options is for files: see `Executable.save`.
    """
    choices = CompileOptions.of(**chosen)
    options = checked_options(options)
    line = nullcontext(progress) if progress else ProgressLine.of(graph.name, options)
    try:
        with young_garbage(), line as shown:
            executable = _compiled(graph, options, choices, shown, target)
    finally:
        shared_decider.cache_clear()  # what kernels of one graph share goes with it
    executable.again = lambda other: compile_graph(graph, options, target=other, **chosen)
    return executable


def _compiled(
    graph: Graph,
    options: Options,
    choices: CompileOptions,
    progress: ProgressLine,
    target: Target | None,
) -> Executable:
    graph = graph if choices.check_indices else assertions_only(graph)
    graph = with_likely(graph, choices.likely or {})
    donated = _checked(graph, choices)
    if choices.executor == "reference":
        executor = _remembering(graph, ReferenceExecutor(graph), choices)
        return Executable(CompiledNotes(graph, graph), executor)
    progress.say("passes")
    padded, masked = _with_masks(graph, choices.strict)
    if padded is not None:
        common = options, choices, frozenset[int](), progress, target
        executor, passed = _passed(padded.graph, *common, is_padded=True)
        executor = _remembering(graph, PaddingExecutor(executor, padded), choices)
        taken = entry_plan(graph), tensor_inputs(graph)
        return Executable(
            CompiledNotes(graph, passed.graph, (*masked, *passed.reports), *taken), executor
        )
    executor, passed = _passed(graph, options, choices, donated, progress, target)
    if target is None:
        take_static_memory(graph, executor)
        executor = _with_hot(graph, executor, options, choices)
    executor = _remembering(graph, executor, choices)
    bindings = binding_plan(passed.graph, _donation(passed))
    return Executable(CompiledNotes(graph, passed.graph, passed.reports, bindings), executor)


def _with_masks(graph: Graph, strict: bool) -> tuple[PaddedGraph | None, tuple[PassReport, ...]]:
    """The graph for padded arrays, if an axis has buckets."""
    ctx = PassContext()
    padded = padded_graph(graph, ctx, strict=strict)
    if padded is None:
        return None, ()
    counts = len(graph.nodes()), len(padded.graph.nodes())
    return padded, (PassReport("masks", True, *counts, ctx.decisions.take()),)


def _passed(
    graph: Graph,
    options: Options,
    choices: CompileOptions,
    donated: frozenset[int],
    progress: ProgressLine,
    target: Target | None,
    *,
    is_padded: bool = False,
) -> tuple[Executor, Passed]:
    """Passes, and what runs the graph that they leave."""
    passes = pipeline((*options.without, *choices.without))
    observe, compute = DebugPrinter(options.debug).passed, _of_constants(options, choices)
    lying = {} if is_padded else inputs_lying(graph, choices.channels_last)
    passed = run_passes(graph, passes, donated, observe=observe, compute=compute, lying=lying)
    if choices.strict:
        refuse_host_nodes(passed.graph)
    programs = ProgramCompiler.of(options, choices, _donation(passed), progress, target)
    return _executor(passed.graph, programs), passed


def _executor(graph: Graph, programs: ProgramCompiler) -> Executor:
    """What runs a graph that passes have made: one program, or host nodes and programs."""
    if runs_whole(graph):
        return programs.executor(graph)
    return HostExecutor(graph, plan_graph(graph, programs.executor))


@dataclass(frozen=True, slots=True)
class ProgramCompiler:
    """Compiles graphs of kernels, each to one program, for one target and one machine."""

    target: Target
    generator: Generator
    costs: MachineCosts
    donation: Donation
    running: RunOptions
    stepwise: bool
    jobs: int  # the most processes and threads that compile
    options: Options
    progress: ProgressLine | None = None
    pipeline: bool = True  # whether rows may go through chains of steps

    @staticmethod
    def of(
        options: Options,
        choices: CompileOptions,
        donation: Donation,
        progress: ProgressLine | None = None,
        target: Target | None = None,
    ) -> ProgramCompiler:
        """Costs choose between kernels that round differently, so deterministic programs take the
        same ones everywhere. Those of this machine also stand for others with its instructions."""
        own = target_for(options)
        target = target or own
        own_limit = choices.memory_limit
        running = replace(
            run_options(options),
            threads=_threads(choices.executor, options, choices.threads, target),
            wait_for_team=choices.wait_for_team,
            memory_limit=options.memory_limit if own_limit is None else own_limit,
        )
        load = partial(load_code, perf_map=options.perf_map)
        jobs = options.compile_jobs or machine().cpus
        told = progress.kernels if progress else None
        generator = target.generator(Setup(load, jobs, object_cache(options), told))
        measured = own if own.isa == target.isa else target
        costs = (
            MachineCosts()
            if choices.deterministic
            else machine_costs(options, measured, running.threads, _as_probe(options))
        )
        stepwise = choices.executor == "stepwise"
        parts = target, generator, costs, donation, running, stepwise, jobs, options, progress
        pipeline = PIPELINE not in (*options.without, *choices.without)
        return ProgramCompiler(*parts, pipeline)

    def executor(self, graph: Graph) -> Executor:
        """One program: lower, schedule, compile, link."""
        bindings = entry_plan(graph)
        if self.progress:
            self.progress.say("lowering")
        lowered = lower_graph(graph, replace(self.target.tiling, threads=self.costs.threads))
        plan = schedule(lowered, self.costs, self.donation, pipeline=self.pipeline)
        DebugPrinter(self.options.debug).scheduled(graph.name, plan.kernels)
        unlinked = unlinked_program(plan, bindings, self.jobs)
        try:
            code = self.generator.code(unlinked.sources)
        finally:
            unlinked.weights.wait()  # nobody else reads constants while threads move them
        linked = link(unlinked, code, self.target, self.running)
        native = NativeExecutor(ScheduleNotes(plan, bindings), linked)
        return StepwiseExecutor(native) if self.stepwise else native


# --- what is asked for ----------------------------------------------------------------------------


def _checked(graph: Graph, choices: CompileOptions) -> frozenset[int]:
    """The inputs that are donated. Refuses what an executor cannot do, or a cache cannot keep."""
    EXECUTORS[choices.executor].check(graph, choices)
    if choices.result_cache is not None:
        refuse_effects(graph)
    check_static(graph, choices)
    check_hot(graph, choices)
    return donated_inputs(graph, choices.donate)


def checked_options(options: Options | None) -> Options:
    if options is None:
        return options_from_environment()
    if not isinstance(options, Options):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError("options", repr(options), "an ash.Options")
    return options


def _donation(passed: Passed) -> Donation:
    """Only what is one native call uses the memory that is given up."""
    if runs_whole(passed.graph):
        return passed.donation
    assert not passed.donation.input_orders, "arrays are laid out for one native call"
    return NOTHING_DONATED


def _threads(executor: ExecutorName, options: Options, wanted: int, target: Target) -> int:
    """What is asked for, as far as executor, process, target and machine allow it."""
    if executor == "stepwise":
        return 1
    return min(filter(None, (allowed_threads(options, wanted), target.most_threads)))


def _as_probe(options: Options) -> CompileGraph:
    """Compiles what costs are measured with: on one thread, with the costs that are given."""
    given = replace(options, calibrate=False, memory_limit=None)
    return lambda graph: compile_graph(graph, given, threads=1)


def _of_constants(options: Options, choices: CompileOptions) -> Compute:
    """Computes constants by the kernels that the program would compute them by. There is no work on
    constants among constants, so that no program is compiled for another one's."""
    without = (*choices.without, ComputeConstants.name)
    unlimited = replace(options, memory_limit=None)  # limits are those of calls

    def compute(graph: Graph) -> tuple[Array, ...]:
        return compile_graph(
            graph,
            unlimited,
            executor=choices.executor,
            threads=choices.threads,
            deterministic=choices.deterministic,
            wait_for_team=choices.wait_for_team,
            without=without,
        )()

    return compute


def _with_hot(
    graph: Graph, executor: Executor, options: Options, choices: CompileOptions
) -> Executor:
    """With other code for hot bindings, if that was chosen, and sizes vary. One thread compiles it:
    processes would take CPUs from calls."""
    if choices.hot is None or not entry_plan(graph).axes:
        return executor
    alone = replace(options, compile_jobs=1, progress=False)
    fixed_choices = replace(choices, hot=None, likely=None, result_cache=None, check_indices=True)

    def compile_fixed(fixed: Graph, line: ProgressLine) -> Executor:
        return _compiled(fixed, alone, fixed_choices, line, None).executor

    return HotExecutor(graph, executor, choices.hot, compile_fixed)


def _remembering(graph: Graph, executor: Executor, choices: CompileOptions) -> Executor:
    """With the cache of results that was chosen, if any."""
    if choices.result_cache is None:
        return executor
    return with_result_cache(graph, executor, choices.result_cache)
