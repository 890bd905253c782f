"""The schedule of a fused graph: which buffer holds which value, which step computes it, and which
earlier steps it has to wait for.

Two arena buffers may share memory if, through waits, every use of one is over before the other is
first written. That depends on no size, so it is settled here, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.ir.types import TensorType
from anyshape.loop import Buffer
from anyshape.loop.ir import workspace_bytes
from anyshape.lower.kernel import Lowered, lower_region
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import WIDE, Tiling
from anyshape.ops.source import ConstantAttrs
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class InputStore:
    """The memory of an input."""

    index: int


@dataclass(frozen=True, slots=True)
class OutputStore:
    """The memory of a result."""

    index: int


@dataclass(frozen=True, slots=True)
class ConstantStore:
    """A constant's memory, in panels if a matrix product reads it so."""

    constant: ConstantAttrs
    packing: Packing | None = None


@dataclass(frozen=True, slots=True)
class ArenaStore:
    """Memory in the arena, used from step `first` to step `last`."""

    first: int
    last: int
    conflicts: tuple[int, ...]
    per_worker: bool = False


@dataclass(frozen=True, slots=True)
class AliasStore:
    """Another name for a buffer."""

    of: int


Store = InputStore | OutputStore | ConstantStore | ArenaStore | AliasStore


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """The memory of a value, or of a workspace, which has none: its bytes are for one worker."""

    value: Value | None
    store: Store
    bytes: Dim


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One kernel on its buffers: operands, results, workspaces."""

    node: Node
    lowered: Lowered
    buffers: tuple[int, ...]
    waits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything of level 1 but the machine code."""

    graph: Graph
    buffers: tuple[BufferPlan, ...]
    steps: tuple[StepPlan, ...]


def schedule(graph: Graph, tiling: Tiling = WIDE) -> Schedule:
    """Plans a graph in which everything but sources and aliases is a kernel."""
    return _Scheduler(graph, tiling).schedule()


class _Scheduler:
    def __init__(self, graph: Graph, tiling: Tiling) -> None:
        self.graph = graph
        self.tiling = tiling
        self.values: list[Value | None] = []  # of each buffer; a workspace has none
        self.workspaces: dict[int, Dim] = {}  # buffer -> bytes
        self.numbers: dict[Value, int] = {}
        self.packed: dict[tuple[Value, Packing], int] = {}  # constants in panels, once each
        self.packings: dict[int, Packing] = {}
        self.alias_of: dict[int, int] = {}
        self.writer: dict[int, int] = {}  # buffer -> step
        self.users: dict[int, set[int]] = {}  # buffer -> steps that touch it
        self.steps: list[StepPlan] = []

    def schedule(self) -> Schedule:
        for node in self.graph.nodes():
            self._add(node)
        before = _ancestors(self.steps)
        buffers = tuple(self._buffer(number, before) for number in range(len(self.values)))
        return Schedule(self.graph, buffers, tuple(self.steps))

    def _add(self, node: Node) -> None:
        for value in node.results:
            self.numbers[value] = len(self.values)
            self.values.append(value)
        if node.op.has(Trait.ALIAS):
            self.alias_of[self.numbers[node.result()]] = self._root(node.operands[0])
        elif node.op.name == "kernel":
            self._add_step(node)

    def _root(self, value: Value) -> int:
        number = self.numbers[value]
        return self.alias_of.get(number, number)

    def _add_step(self, node: Node) -> None:
        step = len(self.steps)
        constants = {i for i, v in enumerate(node.operands) if _is_constant(v)}
        lowered = lower_region(node.regions[0], self.graph.facts, constants, self.tiling)
        roots = [self._root(value) for value in node.operands]
        waits = sorted({self.writer[root] for root in roots if root in self.writer})
        operands = (self._operand(v, lowered.packed.get(i)) for i, v in enumerate(node.operands))
        written = [self.numbers[value] for value in node.results]
        written += [self._workspace(lowered, buffer) for buffer in lowered.kernel.workspaces]
        self.steps.append(StepPlan(node, lowered, (*operands, *written), tuple(waits)))
        self.writer.update(dict.fromkeys(written, step))
        for number in (*roots, *written):
            self.users.setdefault(number, set()).add(step)

    def _workspace(self, lowered: Lowered, scratch: Buffer) -> int:
        number = len(self.values)
        self.values.append(None)
        self.workspaces[number] = lowered.of_graph(workspace_bytes(scratch))
        return number

    def _operand(self, value: Value, packing: Packing | None) -> int:
        """The buffer that a kernel reads. A constant has one more for each packed form of it.

        Its plain form stays too: the caller owns that memory, and other kernels may read it.
        """
        if packing is None:
            return self.numbers[value]
        number = self.packed.setdefault((value, packing), len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.packings[number] = packing
        return number

    # --- buffers ------------------------------------------------------------------------------

    def _buffer(self, number: int, before: list[frozenset[int]]) -> BufferPlan:
        value = self.values[number]
        if value is None:
            return BufferPlan(None, self._in_arena(number, before), self.workspaces[number])
        store = self._store(number, value, before)
        return BufferPlan(value, store, _bytes(value, store))

    def _store(self, number: int, value: Value, before: list[frozenset[int]]) -> Store:
        node = value.node
        if node.op is PARAM:
            return InputStore(cast(ParamAttrs, node.attrs).index)
        if isinstance(node.attrs, ConstantAttrs):
            return ConstantStore(node.attrs, self.packings.get(number))
        if number in self.alias_of:
            return AliasStore(self.alias_of[number])
        if value in self.graph.results:
            return OutputStore(outputs_of(self.graph).index(value))
        return self._in_arena(number, before)

    def _in_arena(self, number: int, before: list[frozenset[int]]) -> ArenaStore:
        users, conflicts = self.users[number], self._conflicts(number, before)
        return ArenaStore(min(users), max(users), conflicts, number in self.workspaces)

    def _conflicts(self, number: int, before: list[frozenset[int]]) -> tuple[int, ...]:
        return tuple(
            other
            for other in self.writer
            if other != number
            and self.values[other] not in self.graph.results
            and not self._over(number, other, before)
            and not self._over(other, number, before)
        )

    def _over(self, first: int, second: int, before: list[frozenset[int]]) -> bool:
        """Whether every use of `first` is over when `second` is written."""
        return self.users[first] <= before[self.writer[second]]


def _bytes(value: Value, store: Store) -> Dim:
    tensor = value.tensor
    if isinstance(store, ConstantStore) and store.packing is not None:
        packed = store.packing.shape(store.constant.value.shape)
        return Dim.of(math.prod(packed) * tensor.dtype.itemsize)
    return tensor.size * tensor.dtype.itemsize


def _is_constant(value: Value) -> bool:
    return isinstance(value.node.attrs, ConstantAttrs)


def _ancestors(steps: list[StepPlan]) -> list[frozenset[int]]:
    """For each step, the steps that are complete when it starts."""
    found: list[frozenset[int]] = []
    for step in steps:
        found.append(frozenset(step.waits).union(*(found[wait] for wait in step.waits)))
    return found


def outputs_of(graph: Graph) -> list[Value]:
    """The results, each once."""
    return list(dict.fromkeys(graph.results))


def tensors(graph: Graph) -> list[TensorType]:
    return [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
