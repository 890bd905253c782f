"""Which steps are certainly over when another starts, and what follows for the memory they use.

All steps that are a window or more before a step are over when it starts, so that only the few in
between need a record: what is known of a step takes as many bits as the window is long, however
many steps there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.plan.step_buffers import StepBuffers


def window_for(threads: int) -> int:
    """How far threads look ahead for something to do: one step for each, and one more.

    No step starts before all steps that are so many or more before it are done. What lies further
    apart never overlaps, so it may share memory without a wait.
    """
    return max(3, threads + 1)


@dataclass(frozen=True, slots=True)
class StepOrder:
    """Which steps are over when another starts. Bit d-1 of `near[s]` tells that of step s-d."""

    near: tuple[int, ...]
    window: int

    @staticmethod
    def of(waits: Sequence[Sequence[int]], window: int) -> StepOrder:
        within = (1 << (window - 1)) - 1
        near: list[int] = []
        for step, its_waits in enumerate(waits):
            done = 0
            for wait in its_waits:
                if step - wait < window:
                    done |= (near[wait] << 1 | 1) << (step - wait - 1)
            near.append(done & within)
        return StepOrder(tuple(near), window)

    def is_over(self, other: int, step: int) -> bool:
        """Whether step `other` is done when `step` starts."""
        ago = step - other
        return ago >= self.window or (ago > 0 and bool(self.near[step] >> (ago - 1) & 1))


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The step that writes each buffer, and all steps that use it, in ascending order."""

    order: StepOrder
    writers: Mapping[int, int]
    users: Mapping[int, tuple[int, ...]]

    def joined(self, overwrites: Mapping[int, int]) -> Lifetimes:
        """Buffers that others are written over live as long as those, too."""
        joined: dict[int, set[int]] = {}
        for result, buffer in overwrites.items():
            joined.setdefault(buffer, set(self.users[buffer])).update(self.users[result])
        users = {buffer: tuple(sorted(steps)) for buffer, steps in joined.items()}
        return replace(self, users={**self.users, **users})

    def are_over(self, buffer: int, step: int, but: Iterable[int] = ()) -> bool:
        """Whether every use of a buffer is over when a step starts, but for those of some steps."""
        for user in reversed(self.users[buffer]):
            if step - user >= self.order.window:
                return True
            if user not in but and not self.order.is_over(user, step):
                return False
        return True

    def is_over(self, first: int, second: int) -> bool:
        """Whether every use of buffer `first` is over when `second` is first written."""
        return self.are_over(first, self.writers[second])

    def first_and_last(self, buffer: int) -> tuple[int, int]:
        users = self.users[buffer]
        return users[0], users[-1]


def lifetimes_of(
    steps: Sequence[StepBuffers], order: StepOrder, writers: Mapping[int, int]
) -> Lifetimes:
    """From the buffers that each step touches, whatever their names."""
    users: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        for buffer in dict.fromkeys(step.used):
            users.setdefault(buffer, []).append(number)
    return Lifetimes(order, writers, {buffer: tuple(found) for buffer, found in users.items()})
