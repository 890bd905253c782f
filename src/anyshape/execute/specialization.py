"""`Specialization`: level 2 of an Executable, everything that depends on one binding.

It is made by arithmetic alone and is what a call at that binding finds in the cache. This module is
its face: the numbers are the runtime's, the names and shapes come from the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import repeat

from anyshape.execute.notes import ProgramNotes, StepNotes
from anyshape.execute.reports import (
    CONSTANT,
    ArenaPart,
    CostReport,
    EconomyReport,
    MemoryReport,
    StepCost,
    StepEffort,
    StepReport,
    VariantCost,
    step_table,
)
from anyshape.ir.node import Node
from anyshape.ir.types import TensorType
from anyshape.loop import Kernel
from anyshape.lower.effort import region_effort
from anyshape.observe.table import amount
from anyshape.plan.schedule import StepPlan
from anyshape.program import AliasStore, ArenaStore, ConstantStore, InputStore, OutputStore
from anyshape.runtime.program import Placement, StepNumbers
from anyshape.runtime.program import Specialization as RuntimeSpecialization

PICOSECONDS = 1000  # in a nanosecond


class Specialization:
    """One binding of an Executable. Immutable; calls at this binding use it."""

    def __init__(self, notes: ProgramNotes, native: RuntimeSpecialization) -> None:
        self._notes = notes
        self._sizes = dict(zip(notes.symbols, native.symbols, strict=True))
        self._native = native
        self._economy = native.economy
        self._part_sizes = dict(self._sizes)
        if self._economy is not None and self._economy.parts > 1:
            self._part_sizes[notes.symbols[self._economy.symbol]] = self._economy.size
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
        """What a run does, in order; of several parts, the first."""
        costs, placed = self.cost().steps, self._placements()
        return tuple(
            self._step(numbers.number, self._notes.steps[numbers.number], cost, placements)
            for numbers, cost, placements in zip(self._native.steps, costs, placed, strict=False)
        )

    @property
    def economy(self) -> EconomyReport | None:
        """What is done to fit into a memory limit; None if the usual plan does."""
        given = self._economy
        if given is None:
            return None
        steps = self._native.steps
        names = {step.number: step.name for step in steps}
        return EconomyReport(
            given.parts,
            self._notes.symbols[given.symbol].name if given.parts > 1 else "",
            given.size,
            tuple((number, names[number]) for number in given.again),
            given.again_cost / PICOSECONDS,
            _nanoseconds(self._native.cost),
            given.usual_arena,
            _nanoseconds(given.usual_cost),
        )

    def memory(self) -> MemoryReport:
        """What a run needs."""
        native = self._native.memory
        return MemoryReport(
            native.arena,
            native.lower_bound,
            native.aliased,
            native.in_place,
            native.outputs,
            sum(size for _, size in self._notes.constant_sizes),
        )

    def cost(self) -> CostReport:
        """What each step was expected to take, and which way of doing it was chosen."""
        parts = 1 if self._economy is None else self._economy.parts
        return CostReport(tuple(map(_cost, self._native.steps)), parts)

    def arena_buffers(self) -> tuple[ArenaPart, ...]:
        """What lies in the arena, where, and from which step to which; of several parts, in the
        first."""
        if self._economy is not None:
            return tuple(self._moved_buffers())
        placed = zip(self._native.buffers, self._native.placements, strict=True)
        return tuple(
            ArenaPart(number, at.offset, at.bytes, buffer.store.first, buffer.store.last)
            for number, (buffer, at) in enumerate(placed)
            if isinstance(buffer.store, ArenaStore)
        )

    def efforts(self) -> tuple[StepEffort | None, ...]:
        """What each step does, by the count of its ops; None where that depends on data, where the
        step does a whole chain, or where the program was loaded from a file."""
        steps = zip(self._planned(), self.kernels(), strict=True)
        return tuple(
            None if step is None or kernel is None else self._effort(step) for step, kernel in steps
        )

    def nodes(self) -> tuple[Node | None, ...]:
        """The node of the graph that each step is; None where there is none any more."""
        return tuple(self._notes.steps[numbers.number].node for numbers in self._native.steps)

    def kernels(self) -> tuple[Kernel | None, ...]:
        """What each step runs; None where it is a chain, which runs those of its members, and where
        the program was loaded from a file."""
        steps = zip(self._planned(), self._native.steps, strict=True)
        return tuple(
            step.variants[numbers.variant].variant.kernel
            if step is not None and numbers.variant < len(step.variants)
            else None
            for step, numbers in steps
        )

    def _planned(self) -> Sequence[StepPlan | None]:
        plan, steps = self._notes.schedule, self._native.steps
        return [None if plan is None else plan.steps[numbers.number] for numbers in steps]

    def as_text(self) -> str:
        """Binding, steps and memory, as a table."""
        threads = "a team of threads" if self.uses_team else "one thread"
        sizes = ", ".join(f"{name}={size}" for name, size in self.binding.items())
        steps = amount(len(self._native.steps), "step")
        economy = self.economy
        return "\n".join(
            [
                f"{self._notes.name} at {sizes or 'its one shape'}: {steps} on {threads}",
                *step_table(self.steps),
                f"  memory: {self.memory()}",
                *([f"  to fit: {economy}"] if economy is not None else ()),
                *(f"then {segment.as_text()}" for segment in self.segments),
                *(f"then a segment that waits for {', '.join(axes)}" for axes in self.waiting),
            ]
        )

    def __str__(self) -> str:
        return self.as_text()

    # --- inside -------------------------------------------------------------------------------

    def _placements(self) -> Iterator[Sequence[Placement]]:
        """Where buffers lie when each step runs."""
        placed = self._native.placements
        if self._economy is None:
            yield from repeat(placed)
        sizes, moved = self._native.part_bytes, list(placed)
        for addresses in self._native.addresses:
            for each in addresses:
                moved[each.buffer] = Placement(each.base, each.offset, sizes[each.buffer])
            yield moved

    def _moved_buffers(self) -> Iterator[ArenaPart]:
        """Where steps that run one after the other find their buffers, each as long as it stays."""
        sizes, used = self._native.part_bytes, dict[tuple[int, int], tuple[int, int]]()
        runs = zip(self._native.steps, self._native.addresses, strict=False)
        for run, (_, addresses) in enumerate(runs):
            for each in addresses:
                if each.base == "arena":
                    first, _ = used.get((each.buffer, each.offset), (run, run))
                    used[each.buffer, each.offset] = (first, run)
        for (buffer, offset), (first, last) in used.items():
            yield ArenaPart(buffer, offset, sizes[buffer], first, last)

    def _step(
        self, number: int, step: StepNotes, cost: StepCost, placements: Sequence[Placement]
    ) -> StepReport:
        return StepReport(
            number,
            tuple(map(self._type, step.results)),
            cost,
            tuple(self._location(buffer, placements[buffer]) for buffer in step.reads),
            tuple(self._location(buffer, placements[buffer]) for buffer in step.writes),
        )

    def _effort(self, step: StepPlan) -> StepEffort | None:
        lowered = step.lowered
        if lowered.effort is not None:
            effort = lowered.effort.substitute(dict(lowered.names))
        else:
            effort = region_effort(step.node.regions[0], lowered.packed)
        counts = effort.flops, effort.operations, effort.bytes
        sizes = self._part_sizes
        if not frozenset().union(*(count.symbols for count in counts)) <= sizes.keys():
            return None
        return StepEffort(*(count.evaluate(sizes) for count in counts))

    def _type(self, type_: TensorType) -> str:
        sizes = (str(dim.evaluate(self._part_sizes)) for dim in type_.shape)
        return f"{type_.dtype}[{', '.join(sizes)}]"

    def _location(self, number: int, placed: Placement) -> str:
        buffers = self._native.buffers
        store = buffers[number].store
        while isinstance(store, AliasStore):
            store = buffers[store.of].store
        match store:
            case ConstantStore():
                return CONSTANT
            case ArenaStore():
                return f"arena[{placed.offset}:{placed.offset + placed.bytes}]"
            case InputStore(index):
                return _part(self._notes.inputs[index], placed.offset)
            case OutputStore(index):
                return _part(f"result {index}", placed.offset)


def _cost(step: StepNumbers) -> StepCost:
    variants = tuple(
        VariantCost(name, cost / PICOSECONDS, number == step.variant)
        for number, (name, cost) in enumerate(
            zip(step.variant_names, step.variant_costs, strict=True)
        )
    )
    known = _nanoseconds(step.cost)
    return StepCost(step.name, step.tasks, step.ranges > 1, known, variants)


def _nanoseconds(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / PICOSECONDS


def _part(name: str, offset: int) -> str:
    return f"{name}+{offset}" if offset else name
