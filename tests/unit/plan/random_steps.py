"""Random tables of steps, and every order in which their threads may run them.

A step is not yet started, running or over. It may start when those that it waits for are over, and
all that are a window or more before it. Nothing else is promised, so every state that can be
reached so is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyshape.plan.conflicts import conflicts_of
from anyshape.plan.in_place import overwrites_of
from anyshape.plan.lifetimes import Lifetimes, StepOrder, lifetimes_of
from anyshape.plan.step_buffers import StepBuffers, Waits, waits_of, writers_of
from anyshape.sym import Dim

INPUTS = (0, 1)

State = tuple[frozenset[int], frozenset[int]]
"""The steps that are running, and those that are over."""


@dataclass(frozen=True)
class Planned:
    """A table of steps, and what the functions of the schedule make of it."""

    steps: tuple[StepBuffers, ...]
    waits: Waits
    window: int
    plain: Lifetimes  # of each value by itself
    lives: Lifetimes  # of memory
    overwrites: Mapping[int, int]
    arena: frozenset[int]
    conflicts: Mapping[int, tuple[int, ...]]

    def may_share(self, one: int, other: int) -> bool:
        """What level 2 makes of lifetimes and conflicts."""
        (first, last), (begin, end) = map(self.lives.first_and_last, (one, other))
        named = other in self.conflicts[one] or one in self.conflicts[other]
        return not named and (last < begin or end < first)


def random_steps(rng: random.Random) -> tuple[StepBuffers, ...]:
    steps: list[StepBuffers] = []
    available, free = list(INPUTS), 2
    for _ in range(rng.randint(1, 6)):
        operands = rng.choices(available[-4:], k=rng.randint(0, 3))
        results, spaces = rng.choice([1, 1, 1, 2]), rng.choice([0, 0, 1])
        written = tuple(range(free, free + results + spaces))
        free += len(written)
        positions = range(len(operands), len(operands) + results)
        pairs = {(i, j) for i in range(len(operands)) for j in positions if rng.random() < 0.8}
        made = written[:results]
        steps.append(StepBuffers(tuple(operands), made, written[results:], frozenset(pairs)))
        available += made
    return tuple(steps)


def planned(seed: int) -> Planned:
    rng = random.Random(seed)
    steps, window = random_steps(rng), rng.randint(1, 4)
    made = [result for step in steps for result in step.results]
    returned = set(rng.sample(made, rng.randint(0, 1)))
    temporary = {n: Dim.of(rng.choice([4, 4, 8])) for n in made if n not in returned}
    writers = writers_of(steps, {})
    waits = waits_of(steps, writers)
    plain = lifetimes_of(steps, StepOrder.of(waits, window), writers)
    overwrites = overwrites_of(steps, plain, temporary)
    lives = plain.joined(overwrites)
    spaces = {number for step in steps for number in step.workspaces}
    arena = frozenset(spaces | temporary.keys() - overwrites.keys())
    conflicts = {number: conflicts_of(number, steps, lives, arena) for number in arena}
    return Planned(steps, waits, window, plain, lives, overwrites, arena, conflicts)


def states(waits: Sequence[Sequence[int]], window: int) -> Iterator[State]:
    """Every state that can be reached."""
    start: State = (frozenset(), frozenset())
    seen, left = {start}, [start]
    while left:
        state = left.pop()
        yield state
        for following in _following(state, waits, window):
            if following not in seen:
                seen.add(following)
                left.append(following)


def _following(state: State, waits: Sequence[Sequence[int]], window: int) -> Iterator[State]:
    running, over = state
    for step in running:
        yield running - {step}, over | {step}
    for step, its_waits in enumerate(waits):
        needed = {*its_waits, *range(max(0, step - window + 1))}
        if step not in running | over and needed <= over:
            yield running | {step}, over


def is_live(buffer: int, lives: Lifetimes, state: State) -> bool:
    """Whether a step has begun to write a buffer, and not all that use it are over."""
    running, over = state
    return lives.writers[buffer] in running | over and not over.issuperset(lives.users[buffer])
