"""Which steps are certainly over when another starts, and what follows for the memory they use.

All steps that are a window or more before a step are over when it starts, so that only the few in
between need a record: what is known of a step takes as many bits as the window is long, however
many steps there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

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


Chains = Mapping[int, Set[int]]
"""The other members of each chain, by the step that carries it."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The step that writes each buffer, and all steps that use it, in ascending order.

    A use is *late* if a carrier reads the buffer for another member of its chain, and does so only
    where the chain is taken. Members but the carrier then write nothing, so that what they write
    may have the memory of a buffer whose late uses alone are left.
    """

    order: StepOrder
    writers: Mapping[int, int]
    users: Mapping[int, tuple[int, ...]]
    late: Mapping[int, Set[int]] = field(default_factory=dict[int, Set[int]])
    chains: Chains = field(default_factory=dict[int, Set[int]])

    def joined(self, overwrites: Mapping[int, int]) -> Lifetimes:
        """Buffers that others are written over live as long as those, too."""
        joined: dict[int, set[int]] = {}
        regular: dict[int, set[int]] = {}
        for result, buffer in overwrites.items():
            joined.setdefault(buffer, set(self.users[buffer])).update(self.users[result])
            regular.setdefault(buffer, self._regular(buffer)).update(self._regular(result))
        users = {buffer: tuple(sorted(steps)) for buffer, steps in joined.items()}
        late = {buffer: steps - regular[buffer] for buffer, steps in joined.items()}
        return replace(self, users={**self.users, **users}, late={**self.late, **late})

    def _regular(self, buffer: int) -> set[int]:
        """The steps that use a buffer, but for late uses."""
        return set(self.users[buffer]) - self.late.get(buffer, frozenset())

    def are_over(self, buffer: int, step: int, but: Iterable[int] = ()) -> bool:
        """Whether every use of a buffer is over when a step starts, but for those of some steps."""
        for user in reversed(self.users[buffer]):
            if step - user >= self.order.window:
                return True
            over = user in but or self.order.is_over(user, step)
            if not over and not self._is_idle(step, user, buffer):
                return False
        return True

    def _is_idle(self, step: int, user: int, buffer: int) -> bool:
        """Whether a step writes nothing where a later one uses the buffer."""
        is_late = user in self.late.get(buffer, ())
        return is_late and step in self.chains.get(user, ())

    def is_over(self, first: int, second: int) -> bool:
        """Whether every use of buffer `first` is over when `second` is first written."""
        return self.are_over(first, self.writers[second])

    def first_and_last(self, buffer: int) -> tuple[int, int]:
        """But for late uses."""
        late = self.late.get(buffer, ())
        users = self.users[buffer]
        return users[0], next(user for user in reversed(users) if user not in late)


def lifetimes_of(
    steps: Sequence[StepBuffers],
    order: StepOrder,
    writers: Mapping[int, int],
    chains: Chains | None = None,
) -> Lifetimes:
    """From the buffers that each step touches, whatever their names."""
    users: dict[int, list[int]] = {}
    late: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        for buffer in dict.fromkeys(step.used):
            users.setdefault(buffer, []).append(number)
        for buffer in step.others:
            late.setdefault(buffer, set()).add(number)
    known = {buffer: tuple(found) for buffer, found in users.items()}
    return Lifetimes(order, writers, known, late, chains or {})
