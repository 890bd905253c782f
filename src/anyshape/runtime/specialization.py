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


class Economy(NamedTuple):
    """What a specialization does to need less memory than the usual one. It may run the call in
    `parts` along the axis of symbol number `symbol`, `size` elements in the first; and some steps
    `again`, by number. Costs are picoseconds on one thread, None where unknown."""

    parts: int
    symbol: int
    size: int
    begins: tuple[int, ...]  # which run of a step each part begins with, and the end
    again: tuple[int, ...]
    again_cost: int
    usual_arena: int
    usual_cost: int | None


class StepAddress(NamedTuple):
    """What a run of a step is given for one of its buffers: which memory, and where in it."""

    buffer: int
    base: Literal["arena", "input", "output"]
    base_number: int  # tells inputs and outputs apart
    offset: int


class StepNumbers(NamedTuple):
    """What level 2 decided about one run of a step, by its number. Costs are picoseconds, None
    where unknown."""

    number: int
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
        return tuple(step[1] for step in self._native.steps)

    @property
    def steps(self) -> tuple[StepNumbers, ...]:
        """How each step is done, and what the other ways would cost; of several parts, in the
        first."""
        given = self._native.economy
        words = self._native.words if given is None else given[-2]
        runs = self._native.steps[: None if given is None else given[3][1]]
        return tuple(
            StepNumbers(
                number, step.name, tasks, ranges, variant, _known_cost(cost),
                tuple(one.name for one in step.variants if one.cost is not None),
                tuple(words[one.cost] for one in step.variants if one.cost is not None),
            )
            for number, tasks, ranges, variant, cost in runs
            for step in (self._description.steps[number],)
        )  # fmt: skip

    @property
    def economy(self) -> Economy | None:
        """None of the usual one, which takes as much memory as is best."""
        given = self._native.economy
        if given is None:
            return None
        parts, symbol, size, begins, again, again_cost, arena, cost, *_ = given
        steps = tuple(begins), tuple(again)
        return Economy(parts, symbol, size, *steps, again_cost, arena, _known_cost(cost))

    @property
    def addresses(self) -> tuple[tuple[StepAddress, ...], ...]:
        """What each run of a step is given, of all parts."""
        return tuple(tuple(StepAddress(*one) for one in own) for own in self._native.addresses)

    @property
    def part_bytes(self) -> tuple[int, ...]:
        """The bytes of each buffer in the first part."""
        given = self._native.economy
        return tuple(one.bytes for one in self.placements) if given is None else tuple(given[-1])

    @property
    def window(self) -> int:
        """No step starts before all steps that are so many or more before it are done."""
        return self._native.window

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
        """Whether a run calls the team of threads; in a course those before it count, too."""
        return self._native.worth_a_team

    @property
    def held_bytes(self) -> int:
        """What this object itself occupies in the cache."""
        return self._native.held_bytes


def _known_cost(cost: int) -> int | None:
    """The native side says -1 for what it does not know."""
    return None if cost < 0 else cost
