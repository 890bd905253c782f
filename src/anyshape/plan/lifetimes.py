"""Which steps are certainly over when another starts, and what follows for the memory they use.

Sets of steps are integers, a bit for each step: schedules have thousands of pairs of buffers, and a
question about a pair is then one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Steps = int


def window_for(threads: int) -> int:
    """How far threads look ahead for something to do: one step for each, and one more.

    No step starts before all steps that are so many or more before it are done. What lies further
    apart never overlaps, so it may share memory without a wait.
    """
    return max(3, threads + 1)


def step_set(steps: Iterable[int]) -> Steps:
    found = 0
    for step in steps:
        found |= 1 << step
    return found


def steps_before(waits: Sequence[Sequence[int]], window: int) -> list[Steps]:
    """For each step, the steps that are done when it starts."""
    before: list[Steps] = []
    for step, its_waits in enumerate(waits):
        done = (1 << max(0, step - window + 1)) - 1
        for wait in its_waits:
            done |= before[wait] | 1 << wait
        before.append(done)
    return before


@dataclass
class Lifetimes:
    """The step that writes each buffer, and all steps that use it."""

    before: list[Steps]
    writer: dict[int, int] = field(default_factory=dict[int, int])
    users: dict[int, Steps] = field(default_factory=dict[int, Steps])

    def is_over(self, first: int, second: int) -> bool:
        """Whether every use of buffer `first` is over when `second` is first written."""
        return not self.users[first] & ~self.before[self.writer[second]]

    def conflict(self, first: int, second: int) -> bool:
        """Whether the two may be in use at the same time."""
        return not self.is_over(first, second) and not self.is_over(second, first)

    def first_and_last(self, buffer: int) -> tuple[int, int]:
        users = self.users[buffer]
        return (users & -users).bit_length() - 1, users.bit_length() - 1
