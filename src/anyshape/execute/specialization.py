"""`Specialization`: level 2 of an Executable, everything that depends on one binding.

It is made by arithmetic alone and is what a call at that binding finds in the cache. This module is
its face: the numbers are the runtime's, the names and shapes come from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

from anyshape.execute.reports import (
    CONSTANT,
    CostReport,
    MemoryReport,
    StepCost,
    StepReport,
    VariantCost,
    step_table,
)
from anyshape.ir.node import Value
from anyshape.observe.table import amount
from anyshape.plan.schedule import Schedule, StepPlan
from anyshape.program import AliasStore, ArenaStore, ConstantStore, InputStore, OutputStore
from anyshape.runtime.program import Placement, StepNumbers
from anyshape.runtime.program import Specialization as RuntimeSpecialization
from anyshape.sym import Symbol

PICOSECONDS = 1000  # in a nanosecond


class Specialization:
    """One binding of an Executable. Immutable; calls at this binding use it."""

    def __init__(
        self, plan: Schedule, symbols: Sequence[Symbol], native: RuntimeSpecialization
    ) -> None:
        self._plan = plan
        self._sizes = dict(zip(symbols, native.symbols, strict=True))
        self._native = native
        self.segments: tuple[Specialization, ...] = ()
        """In a graph whose sizes are born while it runs: of the segments behind this one whose
        sizes are known, or were given as what they might be."""
        self.waiting: tuple[tuple[str, ...], ...] = ()
        """Of each segment that waits for sizes, their axes."""

    def followed_by(
        self, segments: Sequence[Specialization], waiting: Sequence[tuple[str, ...]]
    ) -> Specialization:
        """The same, with what is known of the segments behind it."""
        whole = copy(self)
        whole.segments, whole.waiting = tuple(segments), tuple(waiting)
        return whole

    @property
    def binding(self) -> dict[str, int]:
        """The size of each axis."""
        return {symbol.name: size for symbol, size in self._sizes.items()}

    @property
    def uses_team(self) -> bool:
        """Whether a run is shared among threads; small ones stay on the calling thread."""
        return self._native.worth_a_team

    @property
    def steps(self) -> tuple[StepReport, ...]:
        """What a run does, in order."""
        placements = self._native.placements
        steps = zip(self._plan.steps, self.cost().steps, strict=True)
        return tuple(self._step(n, step, cost, placements) for n, (step, cost) in enumerate(steps))

    def memory(self) -> MemoryReport:
        """What a run needs."""
        native = self._native.memory
        return MemoryReport(
            native.arena,
            native.lower_bound,
            native.aliased,
            native.in_place,
            native.outputs,
            weights_bytes(self._plan),
        )

    def cost(self) -> CostReport:
        """What each step was expected to take, and which way of doing it was chosen."""
        return CostReport(tuple(map(_cost, self._native.steps)))

    def as_text(self) -> str:
        """Binding, steps and memory, as a table."""
        threads = "a team of threads" if self.uses_team else "one thread"
        sizes = ", ".join(f"{name}={size}" for name, size in self.binding.items())
        steps = amount(len(self._plan.steps), "step")
        return "\n".join(
            [
                f"{self._plan.graph.name} at {sizes or 'its one shape'}: {steps} on {threads}",
                *step_table(self.steps),
                f"  memory: {self.memory()}",
                *(f"then {segment.as_text()}" for segment in self.segments),
                *(f"then a segment that waits for {', '.join(axes)}" for axes in self.waiting),
            ]
        )

    def __str__(self) -> str:
        return self.as_text()

    # --- inside -------------------------------------------------------------------------------

    def _step(
        self, number: int, step: StepPlan, cost: StepCost, placements: Sequence[Placement]
    ) -> StepReport:
        reads, writes = split_buffers(step)
        return StepReport(
            number,
            tuple(self._type(value) for value in step.node.results),
            cost,
            tuple(self._location(buffer, placements[buffer]) for buffer in reads),
            tuple(self._location(buffer, placements[buffer]) for buffer in writes),
        )

    def _type(self, value: Value) -> str:
        sizes = (str(dim.evaluate(self._sizes)) for dim in value.tensor.shape)
        return f"{value.tensor.dtype}[{', '.join(sizes)}]"

    def _location(self, number: int, placed: Placement) -> str:
        store = self._plan.buffers[number].store
        while isinstance(store, AliasStore):
            store = self._plan.buffers[store.of].store
        match store:
            case ConstantStore():
                return CONSTANT
            case ArenaStore():
                return f"arena[{placed.offset}:{placed.offset + placed.bytes}]"
            case InputStore(index):
                return _part(self._plan.graph.inputs[index], placed.offset)
            case OutputStore(index):
                return _part(f"result {index}", placed.offset)


def split_buffers(step: StepPlan) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The buffers that a step reads, and those that hold its results."""
    operands = len(step.node.operands)
    return step.buffers[:operands], step.buffers[operands : operands + len(step.node.results)]


def weights_bytes(plan: Schedule) -> int:
    """Of all constants, in each form that a kernel reads."""
    return sum(size for _, size in constant_sizes(plan))


def constant_sizes(plan: Schedule) -> Iterator[tuple[int, int]]:
    """The number of each constant, and its bytes."""
    for buffer in plan.buffers:
        if isinstance(buffer.store, ConstantStore):
            yield buffer.store.index, buffer.bytes.evaluate({})


def _cost(step: StepNumbers) -> StepCost:
    variants = tuple(
        VariantCost(name, cost / PICOSECONDS, number == step.variant)
        for number, (name, cost) in enumerate(
            zip(step.variant_names, step.variant_costs, strict=True)
        )
    )
    known = None if step.cost is None else step.cost / PICOSECONDS
    return StepCost(step.name, step.tasks, step.ranges > 1, known, variants)


def _part(name: str, offset: int) -> str:
    return f"{name}+{offset}" if offset else name
