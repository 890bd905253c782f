"""The schedule of a fused graph: which buffer holds which value, which step computes it, and which
earlier steps it has to wait for.

Two arena buffers may share memory if, through waits or because they are a window apart, every use
of one is over before the other is first written. That depends on no size, so it is settled here,
once: in which order steps run, which results are only names (a reshape, a stretch of another
buffer), which are written over an operand, and which buffers conflict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import cast

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.ir.types import TensorType
from anyshape.loop.ir import workspace_bytes
from anyshape.lower.kernel import Lowered, lower_region
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.accesses import copied_from, overwritable
from anyshape.plan.buffers import (
    NOTHING,
    AliasStore,
    ArenaStore,
    BufferPlan,
    BufferStore,
    ConstantStore,
    ForVariant,
    InputStore,
    OutputStore,
)
from anyshape.plan.costs import Choice, MachineCosts, choices
from anyshape.plan.in_place import Touched, homes_in_place
from anyshape.plan.lifetimes import Lifetimes, steps_before, window_for
from anyshape.plan.order import ordered_nodes
from anyshape.sym import Answer, Dim, FactScope, LessEqual

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
    choices: tuple[Choice, ...]
    workspaces: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """The ops that the kernel computes, as `dot+add+gelu`; of long chains the two ends."""
        nodes = (n for n in self.node.regions[0].nodes() if n.op is not PARAM)
        ops = [n.op.name for n in nodes if not isinstance(n.attrs, ConstantAttrs)]
        distinct = list(dict.fromkeys(ops)) or ["copy"]
        return "+".join(distinct if len(distinct) <= 4 else (*distinct[:2], "...", distinct[-1]))

    @property
    def costs(self) -> tuple[Dim, ...]:
        """Those by which level 2 chooses."""
        return tuple(choice.shared for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything of level 1 but the machine code."""

    graph: Graph
    buffers: tuple[BufferPlan, ...]
    steps: tuple[StepPlan, ...]
    window: int


def schedule(graph: Graph, tiling: Tiling = WIDE, costs: MachineCosts = DEFAULT_COSTS) -> Schedule:
    """Plans a graph in which everything but sources and aliases is a kernel."""
    return _Scheduler(graph, tiling, costs).schedule()


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Memory of a step's own: bytes for one worker."""

    bytes: Dim
    only: ForVariant | None


@dataclass(frozen=True, slots=True)
class _Kernels:
    """A lowered region, and what is known of its kernels."""

    lowered: Lowered
    choices: tuple[Choice, ...]
    overwritable: frozenset[tuple[int, int]]
    copied: tuple[int, Dim] | None


_RegionKey = tuple[Region, frozenset[int]]  # a region, and which of its parameters are constants


class _Scheduler:
    def __init__(self, graph: Graph, tiling: Tiling, costs: MachineCosts) -> None:
        self.graph = graph
        self.tiling = tiling
        self.costs = costs
        self.window = window_for(costs.threads)
        self.scope = FactScope.of(graph.facts)
        self.buffers: list[Value | _Workspace] = []
        self.numbers: dict[tuple[Value, Packing | None], int] = {}
        self.packings: dict[int, Packing] = {}
        self.alias_of: dict[int, tuple[int, Dim]] = {}  # buffer -> root, bytes into it
        self.kernels: dict[_RegionKey, _Kernels] = {}
        self.steps: list[StepPlan] = []
        self.touched: list[Touched] = []
        self.writer: dict[int, int] = {}  # buffer -> step

    def schedule(self) -> Schedule:
        for node in ordered_nodes(self.graph):
            self._add(node)
        lives = self._lifetimes()
        temporary = {n: self._bytes(n) for n in self.writer if self._is_temporary(n)}
        homes = homes_in_place(self.touched, lives, temporary)
        stores = (self._store(number, lives, homes) for number in range(len(self.buffers)))
        buffers = tuple(self._plan(number, store) for number, store in enumerate(stores))
        return Schedule(self.graph, buffers, tuple(self.steps), self.window)

    def _add(self, node: Node) -> None:
        """Constants have buffers as soon as a kernel reads them, for each form that is read."""
        if node.op is PARAM:
            self._number(node.result())
        elif node.op.has(Trait.ALIAS):
            root = self._root(node.operands[0])  # a name comes after what it names
            self.alias_of[self._number(node.result())] = root
        elif node.op.name == "kernel":
            self._add_kernel(node)

    def _number(self, value: Value, packing: Packing | None = None) -> int:
        """The buffer of a value, or of the packed form of a constant."""
        number = self.numbers.setdefault((value, packing), len(self.buffers))
        if number == len(self.buffers):
            self.buffers.append(value)
            if packing is not None:
                self.packings[number] = packing
        return number

    def _root(self, value: Value) -> tuple[int, Dim]:
        """The buffer that a value lies in, and how many bytes after its start."""
        return self._root_of(self._number(value))

    def _root_of(self, number: int) -> tuple[int, Dim]:
        return self.alias_of.get(number, (number, NOTHING))

    # --- steps --------------------------------------------------------------------------------

    def _add_kernel(self, node: Node) -> None:
        kernels = self._kernels(node)
        if not self._add_copy(node, kernels):
            self._add_step(node, kernels)

    def _kernels(self, node: Node) -> _Kernels:
        """Equal regions are lowered once: the layers of a model are all alike."""
        region = node.regions[0]
        constants = frozenset(i for i, v in enumerate(node.operands) if _is_constant(v))
        if (region, constants) not in self.kernels:
            lowered = lower_region(region, self.graph.facts, constants, self.tiling)
            ways = choices(lowered, region, self.costs)
            kernels = [way.variant.kernel for way in ways]
            allowed = reduce(frozenset[tuple[int, int]].__and__, map(overwritable, kernels))
            copied = copied_from(lowered.kernel) if len(ways) == 1 else None
            self.kernels[region, constants] = _Kernels(lowered, ways, allowed, copied)
        return self.kernels[region, constants]

    def _add_copy(self, node: Node, kernels: _Kernels) -> bool:
        """Makes a kernel that only copies a stretch of memory a name for that stretch."""
        if kernels.copied is None or node.result() in self.graph.results:
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

    def _add_step(self, node: Node, kernels: _Kernels) -> None:
        lowered, ways = kernels.lowered, kernels.choices
        packed = lowered.packed
        operands = tuple(self._number(v, packed.get(i)) for i, v in enumerate(node.operands))
        roots = [self._root_of(number) for number in operands]
        waits = sorted({self.writer[root] for root, _ in roots if root in self.writer})
        results = tuple(self._number(value) for value in node.results)
        spaces = tuple(self._workspaces(lowered, ways, index) for index in range(len(ways)))
        written = (*results, *(number for numbers in spaces for number in numbers))
        self.writer.update(dict.fromkeys(written, len(self.steps)))
        # What lies inside a buffer is not where the result's elements would be.
        starts = {place for place, (_, offset) in enumerate(roots) if offset is NOTHING}
        overwritable = frozenset(pair for pair in kernels.overwritable if pair[0] in starts)
        names = tuple(root for root, _ in roots)
        self.touched.append(Touched(overwritable, names, results, written[len(results) :]))
        buffers = (*operands, *results)
        self.steps.append(StepPlan(node, lowered, buffers, tuple(waits), ways, spaces))

    def _workspaces(
        self, lowered: Lowered, ways: tuple[Choice, ...], index: int
    ) -> tuple[int, ...]:
        only = ForVariant(tuple(way.shared for way in ways), index) if len(ways) > 1 else None
        scratch = ways[index].variant.kernel.workspaces
        first = len(self.buffers)
        self.buffers += [
            _Workspace(lowered.of_graph(workspace_bytes(buffer)), only) for buffer in scratch
        ]
        return tuple(range(first, len(self.buffers)))

    # --- buffers ------------------------------------------------------------------------------

    def _lifetimes(self) -> Lifetimes:
        before = steps_before([step.waits for step in self.steps], self.window)
        lives = Lifetimes(before, self.writer)
        for number, touched in enumerate(self.touched):
            for buffer in (*touched.operands, *touched.results, *touched.workspaces):
                lives.users[buffer] = lives.users.get(buffer, 0) | 1 << number
        return lives

    def _is_temporary(self, number: int) -> bool:
        """Whether a buffer that a step writes is neither a result of the graph nor a workspace."""
        value = self.buffers[number]
        return isinstance(value, Value) and value not in self.graph.results

    def _plan(self, number: int, store: BufferStore) -> BufferPlan:
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
            shape = packing.shape(cast(ConstantAttrs, value.node.attrs).value.shape)
            return Dim.of(math.prod(shape) * tensor.dtype.itemsize)
        return tensor.size * tensor.dtype.itemsize

    def _store(self, number: int, lives: Lifetimes, homes: dict[int, int]) -> BufferStore:
        value = self.buffers[number]
        if isinstance(value, _Workspace):
            return self._in_arena(number, lives, homes)
        if value.node.op is PARAM:
            return InputStore(cast(ParamAttrs, value.node.attrs).index)
        if isinstance(value.node.attrs, ConstantAttrs):
            return ConstantStore(value.node.attrs, self.packings.get(number))
        if number in self.alias_of:
            return AliasStore(*self.alias_of[number])
        if number in homes:
            return AliasStore(homes[number], in_place=True)
        if value in self.graph.results:
            return OutputStore(outputs_of(self.graph).index(value))
        return self._in_arena(number, lives, homes)

    def _in_arena(self, number: int, lives: Lifetimes, homes: dict[int, int]) -> ArenaStore:
        """Conflicts with later buffers only: naming one side of each pair is enough."""
        conflicts = tuple(
            other
            for other in self.writer
            if other > number
            and other not in homes
            and (isinstance(self.buffers[other], _Workspace) or self._is_temporary(other))
            and lives.conflict(number, other)
        )
        is_workspace = isinstance(self.buffers[number], _Workspace)
        return ArenaStore(*lives.first_and_last(number), conflicts, is_workspace)


def _is_constant(value: Value) -> bool:
    return isinstance(value.node.attrs, ConstantAttrs)


def outputs_of(graph: Graph) -> list[Value]:
    """The results, each once."""
    return list(dict.fromkeys(graph.results))


def tensors(graph: Graph) -> list[TensorType]:
    return [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
