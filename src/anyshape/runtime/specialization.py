"""Level 2 of a program: the numbers of one binding, as the runtime computed them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from anyshape.program import Buffer, ProgramDescription
from anyshape.runtime import _native


class Memory(NamedTuple):
    """Bytes of one specialization. No plan needs fewer than `lower_bound` in its arena."""

    arena: int
    lower_bound: int
    aliased: int  # saved by results that are names of other buffers
    in_place: int  # saved by results that are written over operands
    outputs: int


class Placement(NamedTuple):
    """Where a buffer lies: bytes into the arena, an input or an output, or a constant's address."""

    base: Literal["constant", "arena", "input", "output"]
    offset: int
    bytes: int


class StepNumbers(NamedTuple):
    """What level 2 decided about one step. Costs are picoseconds, None where unknown."""

    name: str
    tasks: int
    ranges: int  # of tasks, which threads take one at a time; 1: the step is not split
    variant: int
    cost: int | None  # of the chosen variant on one thread
    variant_names: tuple[str, ...]
    variant_costs: tuple[int, ...]  # of every variant with all threads; the least was chosen


class Specialization:
    """Level 2 of a program: all numbers of one binding. Immutable."""

    def __init__(self, native: _native.Specialization, description: ProgramDescription) -> None:
        self._native = native
        self._description = description

    @property
    def symbols(self) -> tuple[int, ...]:
        """The binding: one integer per symbol."""
        return tuple(self._native.symbols)

    @property
    def words(self) -> tuple[int, ...]:
        """Everything that the shape program computed."""
        return tuple(self._native.words)

    @property
    def tasks(self) -> tuple[int, ...]:
        """How many tasks each step has."""
        return tuple(step[0] for step in self._native.steps)

    @property
    def steps(self) -> tuple[StepNumbers, ...]:
        """How each step is done, and what the other ways would cost."""
        words = self._native.words
        return tuple(
            StepNumbers(
                step.name, tasks, ranges, variant, _known_cost(cost),
                tuple(one.name for one in step.variants if one.cost is not None),
                tuple(words[one.cost] for one in step.variants if one.cost is not None),
            )
            for step, (tasks, ranges, variant, cost) in zip(
                self._description.steps, self._native.steps, strict=True
            )
        )  # fmt: skip

    @property
    def cost(self) -> int | None:
        """Picoseconds of all steps on one thread; None if that of some step is unknown."""
        return _known_cost(self._native.cost)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Where each buffer lies."""
        return tuple(Placement(*one) for one in self._native.placements)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that are placed."""
        return self._description.buffers

    @property
    def memory(self) -> Memory:
        """What the arena takes, and what it would take at least."""
        return Memory(*self._native.memory)

    @property
    def worth_a_team(self) -> bool:
        """Whether a run calls the team of threads."""
        return self._native.worth_a_team

    @property
    def held_bytes(self) -> int:
        """What this object itself occupies in the cache."""
        return self._native.held_bytes


def _known_cost(cost: int) -> int | None:
    """The native side says -1 for what it does not know."""
    return None if cost < 0 else cost
