"""The two tables that a schedule is made from: buffers and steps, each known by its number.

Both are frozen as soon as they are made. Everything later (waits, lifetimes, results in place,
conflicts) is a function of them, and refers to buffers and steps by number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anyshape.families.lower_graph import LoweredGraph, LoweredKernel
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import PARAM
from anyshape.loop.ir import workspace_bytes
from anyshape.lower.packing import Packing
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.aliases import Alias
from anyshape.plan.buffers import NOTHING, ForVariant
from anyshape.plan.costs import CostedVariants, CostTable
from anyshape.plan.given_memory import GivenMemory
from anyshape.plan.step_buffers import StepBuffers
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class ValueBuffer:
    """A value, or the packed form of a constant."""

    value: Value
    packing: Packing | None = None
    only: ForVariant | None = None

    @property
    def bytes(self) -> Dim:
        tensor, packing = self.value.tensor, self.packing
        if packing is None:
            return tensor.size * tensor.dtype.itemsize
        shape = packing.shape(self.value.node.attrs_as(ConstantAttrs).value.shape)
        return Dim.of(math.prod(shape) * tensor.dtype.itemsize)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory of a step's own: bytes for one worker."""

    bytes: Dim
    only: ForVariant | None


BufferRow = ValueBuffer | Workspace


@dataclass(frozen=True, slots=True)
class StepRow:
    """One kernel on its buffers, operands first, then results; each variant has workspaces."""

    node: Node
    kernel: LoweredKernel
    costed: CostedVariants
    buffers: tuple[int, ...]
    workspaces: tuple[tuple[int, ...], ...]

    @property
    def operands(self) -> tuple[int, ...]:
        return self.buffers[: len(self.node.operands)]

    @property
    def results(self) -> tuple[int, ...]:
        return self.buffers[len(self.node.operands) :]


@dataclass(frozen=True, slots=True)
class Tables:
    """All buffers and all steps; which buffers are names, with their roots and the bytes between;
    and which buffers lie behind an input, with those that continue it."""

    buffers: tuple[BufferRow, ...]
    steps: tuple[StepRow, ...]
    numbers: Mapping[tuple[Value, Packing | None], int]
    aliases: Mapping[int, tuple[int, Dim]]
    appended: Mapping[int, int]

    def number(self, value: Value) -> int:
        """The buffer of a value in its own order."""
        return self.numbers[value, None]

    def value(self, number: int) -> Value:
        """What a buffer holds that is no workspace."""
        row = self.buffers[number]
        assert isinstance(row, ValueBuffer)
        return row.value


def tables_of(
    lowered: LoweredGraph,
    costs: CostTable,
    nodes: Iterable[Node],
    aliases: Mapping[Value, Alias],
    given: GivenMemory,
) -> Tables:
    """`nodes` are those of the graph, in the order in which kernels become steps."""
    made = _Builder()
    for append in given.appended.values():  # before what lies in them
        made.number(append.result())
    for node in nodes:
        if node.op is PARAM:
            made.number(node.result())
        elif node.results and node.results[0] in aliases:
            made.number(aliases[node.result()].root)
            made.number(node.result())
        elif node in lowered.kernels:
            kernel = lowered.kernels[node]
            made.add_step(node, kernel, costs.variants[kernel])
    number, named, appended = made.number, aliases.items(), given.appended.items()
    return Tables(
        tuple(made.buffers),
        tuple(made.steps),
        made.numbers,
        {number(name): (number(alias.root), alias.offset) for name, alias in named},
        {number(part): number(append.result()) for part, append in appended},
    )


class _Builder:
    """Gives out numbers. Constants have a buffer for each form that is read."""

    def __init__(self) -> None:
        self.buffers: list[BufferRow] = []
        self.steps: list[StepRow] = []
        self.numbers: dict[tuple[Value, Packing | None], int] = {}

    def number(self, value: Value, packing: Packing | None = None) -> int:
        number = self.numbers.setdefault((value, packing), len(self.buffers))
        if number == len(self.buffers):
            self.buffers.append(ValueBuffer(value, packing))
        return number

    def add_step(self, node: Node, kernel: LoweredKernel, costed: CostedVariants) -> None:
        packed = kernel.lowered.packed
        operands = [self.number(value, packed.get(i)) for i, value in enumerate(node.operands)]
        results = [self.number(value) for value in node.results]
        spaces = tuple(self._workspaces(kernel, costed, i) for i in range(len(costed.variants)))
        self.steps.append(StepRow(node, kernel, costed, (*operands, *results), spaces))

    def _workspaces(
        self, kernel: LoweredKernel, costed: CostedVariants, index: int
    ) -> tuple[int, ...]:
        first, of_graph = len(self.buffers), kernel.lowered.of_graph
        for buffer in costed.variants[index].variant.kernel.workspaces:
            size = workspace_bytes(buffer)
            only = needed_for(costed, index, size if costed.sizes else of_graph(size))
            self.buffers.append(Workspace(of_graph(size), only))
        return tuple(range(first, len(self.buffers)))


def needed_for(costed: CostedVariants, index: int, size: Dim) -> ForVariant | None:
    """For which of several variants a workspace is needed; None where there is one."""
    if len(costed.variants) == 1:
        return None
    shared = tuple(variant.shared for variant in costed.variants)
    return ForVariant(shared, index, size, costed.sizes)


def step_buffers(step: StepRow, aliases: Mapping[int, tuple[int, Dim]]) -> StepBuffers:
    """The memory that a step touches: names are seen through."""
    count = len(step.node.operands)
    roots = [aliases.get(number, (number, NOTHING)) for number in step.buffers[:count]]
    # What lies inside a buffer is not where the result's elements would be.
    whole = {position for position, (_, offset) in enumerate(roots) if offset is NOTHING}
    sharing = step.kernel.sharing
    return StepBuffers(
        tuple(root for root, _ in roots),
        step.buffers[count:],
        tuple(number for numbers in step.workspaces for number in numbers),
        frozenset(pair for pair in sharing.overwritable if pair[0] in whole),
        frozenset(pair for pair in sharing.removable_copies if pair[0] in whole),
    )
