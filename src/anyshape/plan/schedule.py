"""The schedule of a fused graph: which buffer holds which value, which step computes it, and which
earlier steps it has to wait for.

Two arena buffers may share memory if, through waits or because they are a window apart, every use
of one is over before the other is first written. That depends on no size, so it is settled here,
once: in which order steps run, which results are only names (a reshape, a stretch of another
buffer), which are written over an operand, and which buffers conflict. Those that are in use at one
step do; the others that do are written soon after the last use, and nothing waits for that.

A result may begin in the memory of an input that the caller gives up (`Schedule.starts`): it is
written over the input, or continues it. What is appended to an input is computed at its place
behind it, inside of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat

from anyshape.families.family import Lowered
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import PARAM, Trait
from anyshape.ir.rewrite import Decision, DecisionLog
from anyshape.ir.types import TensorType
from anyshape.loop import Kernel
from anyshape.loop.ir import workspace_bytes
from anyshape.loop.removable_copies import without_copy
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.ops.known import APPEND, KERNEL
from anyshape.ops.source import ConstantAttrs
from anyshape.passes.donation import NOTHING_DONATED, Donation
from anyshape.passes.growing import appends
from anyshape.passes.results import root_of
from anyshape.plan.buffers import NOTHING, BufferPlan, ConstantPlan, ForVariant
from anyshape.plan.costs import Choice, MachineCosts, Ways
from anyshape.plan.in_place import Touched, homes_in_place
from anyshape.plan.lifetimes import Lifetimes, StepOrder, window_for
from anyshape.plan.output_prefixes import input_of, starts_of
from anyshape.plan.regions import RegionKernels, RegionLibrary
from anyshape.plan.schedule_order import ordered_nodes
from anyshape.plan.shared_constants import tables_of
from anyshape.program import (
    AliasStore,
    ArenaStore,
    ConstantStore,
    InputStore,
    OutputStore,
    Store,
)
from anyshape.sym import Answer, Dim, FactScope, LessEqual, Symbol

DEFAULT_COSTS = MachineCosts()


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One kernel on its buffers, operands first, then results.

    Level 2 takes the cheapest of the choices; each has workspaces of its own.
    """

    node: Node
    lowered: Lowered
    buffers: tuple[int, ...]
    waits: tuple[int, ...]
    ways: Ways
    workspaces: tuple[tuple[int, ...], ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """What the kernel computes, operands first; not its constants."""
        nodes = (n for n in self.node.regions[0].nodes() if n.op is not PARAM)
        return tuple(n.op.name for n in nodes if not isinstance(n.attrs, ConstantAttrs))

    @property
    def name(self) -> str:
        """The ops that the kernel computes, as `dot+add+gelu`; of long chains the two ends."""
        distinct = list(dict.fromkeys(self.ops)) or ["copy"]
        return "+".join(distinct if len(distinct) <= 4 else (*distinct[:2], "...", distinct[-1]))

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.ways.choices


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything of level 1 but the machine code. `starts`: inputs by the outputs begun there;
    `decisions`: about the memory of constants, and families of kernels that ops are for but not in;
    `sums`: what symbols in costs stand for."""

    graph: Graph
    constants: tuple[ConstantPlan, ...]
    buffers: tuple[BufferPlan, ...]
    steps: tuple[StepPlan, ...]
    window: int
    donation: Donation
    starts: Mapping[int, int]
    decisions: tuple[Decision, ...]
    sums: Mapping[Symbol, Dim]

    @property
    def kernels(self) -> Iterator[Kernel]:
        """All variants of all steps, in order; equal steps repeat them."""
        return (choice.variant.kernel for step in self.steps for choice in step.choices)


def schedule(
    graph: Graph,
    tiling: Tiling = WIDE,
    costs: MachineCosts = DEFAULT_COSTS,
    donation: Donation = NOTHING_DONATED,
) -> Schedule:
    """Plans a graph in which everything but sources, aliases and appends is a kernel."""
    return _Scheduler(graph, tiling, costs, donation).schedule()


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Memory of a step's own: bytes for one worker."""

    bytes: Dim
    only: ForVariant | None


class _Scheduler:
    def __init__(
        self, graph: Graph, tiling: Tiling, costs: MachineCosts, donation: Donation
    ) -> None:
        self.graph = graph
        self.donation = donation
        self.library = RegionLibrary(graph.facts, tiling, costs)
        self.tables = tables_of(graph, self.library)
        self.window = window_for(costs.threads)
        self.scope = FactScope.of(graph.facts)
        self.outputs = {value: number for number, value in enumerate(outputs_of(graph))}
        self.buffers: list[Value | _Workspace] = []
        self.numbers: dict[tuple[Value, Packing | None], int] = {}
        self.packings: dict[int, Packing] = {}
        self.constants: list[ConstantPlan] = []
        self.constant_of: dict[int, int] = {}  # buffer -> constant
        self.alias_of: dict[int, tuple[int, Dim]] = {}  # buffer -> root, bytes into it
        self.steps: list[StepPlan] = []
        self.touched: list[Touched] = []
        self.writer: dict[int, int] = {}  # buffer -> step
        self.decisions = DecisionLog()
        self.appended = {root_of(node.operands[1]): node for node in appends(graph)}
        for node in self.appended.values():  # before what lies in them
            self._number(node.result())

    def schedule(self) -> Schedule:
        for node in ordered_nodes(self.graph):
            self._add(node)
        lives = self._lifetimes()
        temporary = {n: self._bytes(n) for n in self.writer if self._is_temporary(n)}
        homes = homes_in_place(self.touched, lives, temporary)
        stores = (self._store(number, lives, homes) for number in range(len(self.buffers)))
        buffers = tuple(self._plan(number, store) for number, store in enumerate(stores))
        starts = starts_of(self.graph, self.donation, self.touched, lives, self._number)
        begun = {self._number(result): self._number(start) for result, start in starts.items()}
        steps = tuple(map(without_copies, self.steps, self.touched, repeat(begun)))
        by_output = {self.outputs[result]: input_of(start) for result, start in starts.items()}
        return Schedule(
            self.graph,
            tuple(self.constants),
            buffers,
            steps,
            self.window,
            self.donation,
            by_output,
            (*self.tables.decisions, *self.decisions.take()),
            self.library.costing.sums.meaning,
        )

    def _add(self, node: Node) -> None:
        """Constants have buffers as soon as a kernel reads them, for each form that is read."""
        if node.op is PARAM:
            self._number(node.result())
        elif node.op.has(Trait.ALIAS):
            root = self._root(node.operands[0])  # a name comes after what it names
            self.alias_of[self._number(node.result())] = root
        elif node.op is KERNEL:
            self._add_kernel(node)
        elif node.op is APPEND:  # written as soon as what is appended is
            new = self._number(root_of(node.operands[1]))
            self.writer[self._number(node.result())] = self.writer[new]

    def _number(self, value: Value, packing: Packing | None = None) -> int:
        """The buffer of a value, or of the packed form of a constant."""
        number = self.numbers.setdefault((value, packing), len(self.buffers))
        if number == len(self.buffers):
            self.buffers.append(value)
            if packing is not None:
                self.packings[number] = packing
            if isinstance(value.node.attrs, ConstantAttrs):
                self.constant_of[number] = len(self.constants)
                self.constants.append(ConstantPlan(value.node.attrs, packing))
        return number

    def _root(self, value: Value) -> tuple[int, Dim]:
        """The buffer that a value lies in, and how many bytes after its start."""
        return self._root_of(self._number(value))

    def _root_of(self, number: int) -> tuple[int, Dim]:
        return self.alias_of.get(number, (number, NOTHING))

    # --- steps --------------------------------------------------------------------------------

    def _add_kernel(self, node: Node) -> None:
        kernels = self.library.kernels(node, self.tables.packings)
        self._record(node, kernels.lowered)
        if not self._add_copy(node, kernels):
            self._add_step(node, kernels)

    def _record(self, node: Node, lowered: Lowered) -> None:
        """Which families of kernels its ops are for, and why it is of none of these."""
        location = self.graph.locations.of(node)
        for passed in lowered.passed_over:
            why = f"it is no {passed.family} kernel: {passed.refusal}"
            self.decisions.record(Decision("lower", False, why, passed.anchor, location))

    def _add_copy(self, node: Node, kernels: RegionKernels) -> bool:
        """Makes a kernel that only copies a stretch of memory a name for that stretch."""
        has_place = node.result() in self.outputs or node.result() in self.appended
        if kernels.copied is None or has_place:
            return False
        operand, start = kernels.copied
        source, start = node.operands[operand], kernels.lowered.of_graph(start)
        end = start + node.result().tensor.size
        inside = (LessEqual(NOTHING, start), LessEqual(end, source.tensor.size))
        if any(self.scope.proves(test) is not Answer.TRUE for test in inside):
            return False
        root, offset = self._root(source)
        start_bytes = offset + start * source.tensor.dtype.itemsize
        self.alias_of[self._number(node.result())] = root, start_bytes
        return True

    def _add_step(self, node: Node, kernels: RegionKernels) -> None:
        lowered, ways = kernels.lowered, kernels.ways
        packed = lowered.packed
        operands = tuple(self._number(v, packed.get(i)) for i, v in enumerate(node.operands))
        roots = [self._root_of(number) for number in operands]
        waits = sorted({self.writer[root] for root, _ in roots if root in self.writer})
        results = tuple(self._number(value) for value in node.results)
        spaces = tuple(self._workspaces(lowered, ways, i) for i in range(len(ways.choices)))
        written = (*results, *(number for numbers in spaces for number in numbers))
        self.writer.update(dict.fromkeys(written, len(self.steps)))
        # What lies inside a buffer is not where the result's elements would be.
        starts = {place for place, (_, offset) in enumerate(roots) if offset is NOTHING}
        pairs = (
            frozenset(pair for pair in found if pair[0] in starts)
            for found in (kernels.overwritable, kernels.copied_onto)
        )
        overwritable, copied_onto = pairs
        names = tuple(root for root, _ in roots)
        spaces_used = written[len(results) :]
        self.touched.append(Touched(overwritable, names, results, spaces_used, copied_onto))
        buffers = (*operands, *results)
        self.steps.append(StepPlan(node, lowered, buffers, tuple(waits), ways, spaces))

    def _workspaces(self, lowered: Lowered, ways: Ways, index: int) -> tuple[int, ...]:
        first = len(self.buffers)
        for buffer in ways.choices[index].variant.kernel.workspaces:
            size = workspace_bytes(buffer)
            only = needed_for(ways, index, size if ways.sizes else lowered.of_graph(size))
            self.buffers.append(_Workspace(lowered.of_graph(size), only))
        return tuple(range(first, len(self.buffers)))

    # --- buffers ------------------------------------------------------------------------------

    def _lifetimes(self) -> Lifetimes:
        order = StepOrder.of([step.waits for step in self.steps], self.window)
        lives = Lifetimes(order, self.writer)
        for number, touched in enumerate(self.touched):
            for buffer in (*touched.operands, *touched.results, *touched.workspaces):
                lives.use(buffer, number)
        return lives

    def _is_temporary(self, number: int) -> bool:
        """Whether a buffer that a step writes is no workspace, no result, and no part of one."""
        value = self.buffers[number]
        has_place = value in self.outputs or value in self.appended
        return isinstance(value, Value) and not has_place

    def _plan(self, number: int, store: Store[Dim]) -> BufferPlan:
        value = self.buffers[number]
        if isinstance(value, _Workspace):
            return BufferPlan(None, store, value.bytes, value.only)
        return BufferPlan(value, store, self._bytes(number))

    def _bytes(self, number: int) -> Dim:
        value = self.buffers[number]
        if isinstance(value, _Workspace):
            return value.bytes
        tensor, packing = value.tensor, self.packings.get(number)
        if packing is not None:
            shape = packing.shape(value.node.attrs_as(ConstantAttrs).value.shape)
            return Dim.of(math.prod(shape) * tensor.dtype.itemsize)
        return tensor.size * tensor.dtype.itemsize

    def _store(self, number: int, lives: Lifetimes, homes: dict[int, int]) -> Store[Dim]:
        value = self.buffers[number]
        if isinstance(value, _Workspace):
            return self._in_arena(number, lives, homes)
        if value.node.op is PARAM:
            return InputStore(input_of(value))
        if number in self.constant_of:
            return ConstantStore(self.constant_of[number])
        if number in self.alias_of:
            root, offset = self.alias_of[number]
            return AliasStore(root, None if offset is NOTHING else offset)
        if value in self.appended:
            node = self.appended[value]
            past = node.operands[0].tensor
            return AliasStore(self._number(node.result()), past.size * past.dtype.itemsize)
        if number in homes:
            return AliasStore(homes[number], in_place=True)
        if value in self.outputs:
            return OutputStore(self.outputs[value])
        return self._in_arena(number, lives, homes)

    def _in_arena(self, number: int, lives: Lifetimes, homes: dict[int, int]) -> ArenaStore:
        """Conflicts with buffers that are written while steps which use this one may still run."""
        first, last = lives.first_and_last(number)
        soon = range(last + 1, min(last + self.window, len(self.steps)))
        conflicts = tuple(
            other
            for step in soon
            for other in (*self.touched[step].results, *self.touched[step].workspaces)
            if other not in homes and self._is_in_arena(other) and not lives.is_over(number, other)
        )
        return ArenaStore(first, last, conflicts, isinstance(self.buffers[number], _Workspace))

    def _is_in_arena(self, number: int) -> bool:
        """Of buffers that a step writes, and that are not written over another."""
        return isinstance(self.buffers[number], _Workspace) or self._is_temporary(number)


def without_copies(step: StepPlan, touched: Touched, begun: Mapping[int, int]) -> StepPlan:
    """The step for results that begin with the operand that they would be a copy of. `begun` are
    the buffers of such operands by those of the results."""
    for operand, place in touched.copied_onto:
        if begun.get(step.buffers[place]) == touched.operands[operand]:
            (way,) = step.choices
            kernel = without_copy(way.variant.kernel, operand, place)
            way = replace(way, variant=replace(way.variant, kernel=kernel))
            ways = replace(step.ways, choices=(way,))
            step = replace(step, lowered=replace(step.lowered, kernel=kernel), ways=ways)
    return step


def needed_for(ways: Ways, index: int, size: Dim) -> ForVariant | None:
    """For which of several ways a workspace is needed; None where there is one."""
    if len(ways.choices) == 1:
        return None
    return ForVariant(tuple(way.shared for way in ways.choices), index, size, ways.sizes)


def outputs_of(graph: Graph) -> list[Value]:
    """The results, each once."""
    return list(dict.fromkeys(graph.results))


def tensors(graph: Graph) -> list[TensorType]:
    return [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
