"""What is said of programs and graphs in the words of the model, by reports and by errors.

A program by itself is numbers. What they stand for is asked of its *notes*: those of a schedule, if
it was compiled in this process, or those that were saved with it. So a loaded program explains
itself like any other, and runs without a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anyshape.base.lazy import lazy_read_only
from anyshape.codegen.target import Target
from anyshape.execute.kernel_view import KernelView
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_facts, entry_plan, tensor_inputs
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import TensorType
from anyshape.observe.explain import Group
from anyshape.ops.torch_call import op_name
from anyshape.passes import PassReport
from anyshape.passes.native_forms import called_back
from anyshape.plan.given_memory import outputs_of
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.program import ConstantStore
from anyshape.sym import BindingPlan, Facts, Symbol

# --- programs -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepNotes:
    """One step: what it computes, in which buffers, and the node that it is, where that is here."""

    results: tuple[TensorType, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    in_chain: bool  # it has nothing to do where its chain is taken
    node: Node | None


class ProgramNotes(Protocol):
    """Of one program."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def symbols(self) -> Sequence[Symbol]:
        """Those that `bind` solves, in its order."""
        ...

    @property
    def output_numbers(self) -> tuple[int, ...]:
        """The output of each result, if some result is returned more than once; else empty."""
        ...

    @property
    def bindings(self) -> BindingPlan: ...

    @property
    def facts(self) -> Facts:
        """What is known of sizes when a call begins."""
        ...

    @property
    def late(self) -> frozenset[Symbol]: ...

    @property
    def steps(self) -> Sequence[StepNotes]: ...

    @property
    def constant_sizes(self) -> Sequence[tuple[int, int]]:
        """The number of each constant, and its bytes."""
        ...

    @property
    def decisions(self) -> tuple[Decision, ...]: ...

    @property
    def schedule(self) -> Schedule | None:
        """What it was compiled from, in this process."""
        ...

    def kernels(self, target: Target) -> tuple[KernelView, ...]: ...

    def text_sizes(self) -> tuple[int, int]:
        """How many distinct kernels there are, and the length of their texts."""
        ...


class ScheduleNotes:
    """Those of a program that was compiled here."""

    def __init__(self, plan: Schedule, bindings: BindingPlan) -> None:
        self.schedule = plan
        self.bindings = bindings
        self.name = plan.graph.name
        self.inputs = plan.graph.inputs
        self.symbols = [step.affine.symbol for step in bindings.steps]
        self.output_numbers = output_numbers(plan.graph)
        self.late = plan.graph.body.born
        self.decisions = plan.decisions

    @lazy_read_only
    def facts(self) -> Facts:
        return entry_facts(self.schedule.graph)

    @lazy_read_only
    def steps(self) -> Sequence[StepNotes]:
        return tuple(map(_step_notes, self.schedule.steps))

    @lazy_read_only
    def constant_sizes(self) -> Sequence[tuple[int, int]]:
        buffers = self.schedule.buffers
        stores = ((buffer.store, buffer) for buffer in buffers)
        constants = ((s, buffer) for s, buffer in stores if isinstance(s, ConstantStore))
        return [(store.index, buffer.bytes.evaluate({})) for store, buffer in constants]

    def kernels(self, target: Target) -> tuple[KernelView, ...]:
        return tuple(
            KernelView(step.name, way.variant.name, step.ops, way.variant.kernel, target)
            for step in self.schedule.steps
            for way in step.variants
        )

    def text_sizes(self) -> tuple[int, int]:
        distinct = {kernel.as_text() for kernel in self.schedule.kernels}
        return len(distinct), sum(map(len, distinct))


def _step_notes(step: StepPlan) -> StepNotes:
    operands = len(step.node.operands)
    results = tuple(value.tensor for value in step.node.results)
    written = step.buffers[operands : operands + len(results)]
    in_chain = step.member_of is not None and step.carried is None
    return StepNotes(results, step.buffers[:operands], written, in_chain, step.node)


def output_numbers(graph: Graph) -> tuple[int, ...]:
    """The output of each result, if some result is returned more than once."""
    outputs = outputs_of(graph)
    if len(outputs) == len(graph.results):
        return ()
    return tuple(outputs.index(value) for value in graph.results)


# --- graphs ---------------------------------------------------------------------------------------


class GraphNotes(Protocol):
    """Of a compiled graph: before and after the passes."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> Graph: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def text(self) -> str:
        """Of the graph after the passes."""
        ...

    @property
    def reports(self) -> tuple[PassReport, ...]: ...

    @property
    def groups(self) -> tuple[Group, ...]:
        """Decisions that are known as groups only."""
        ...

    @property
    def bindings(self) -> BindingPlan:
        """Of the caller's arrays, which the graph may have in other orders."""
        ...

    @property
    def inputs(self) -> Sequence[tuple[str, TensorType]]: ...

    @property
    def results(self) -> tuple[TensorType, ...]:
        """Those that callers see."""
        ...

    @property
    def outputs(self) -> tuple[int, ...]:
        """Of each result the number of the value that it is, among distinct ones."""
        ...

    @property
    def checks(self) -> tuple[ValueCheck, ...]: ...

    @property
    def host_ops(self) -> Mapping[str, int]:
        """Ops that are left to Python, and how often."""
        ...


class CompiledNotes:
    """Those of graphs that are here."""

    groups: tuple[Group, ...] = ()

    def __init__(
        self,
        source: Graph,
        graph: Graph,
        reports: Sequence[PassReport] = (),
        bindings: BindingPlan | None = None,
        inputs: Sequence[tuple[str, TensorType]] | None = None,
    ) -> None:
        """`bindings` and `inputs` are those of callers, if the graph takes others."""
        self.source = source
        self.graph = graph
        self.name = source.name
        self.checks = source.checks
        self.reports = tuple(reports)
        self.bindings = bindings or entry_plan(graph)
        self.inputs: Sequence[tuple[str, TensorType]] = inputs or tensor_inputs(graph)
        types = source.without_checks().body.result_types
        self.results = tuple(type_ for type_ in types if isinstance(type_, TensorType))

    @property
    def text(self) -> str:
        return self.graph.as_text()

    @property
    def outputs(self) -> tuple[int, ...]:
        values = list(dict.fromkeys(self.graph.results))
        return tuple(values.index(value) for value in self.graph.results)

    @property
    def host_ops(self) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        compiled = self.graph is not self.source
        for node in called_back(self.graph.body) if compiled else ():
            counts[op_name(node)] = counts.get(op_name(node), 0) + 1
        return counts
