"""Which buffers may not share memory in the arena, although no step uses both.

Buffers that are in use at one step conflict; their first and last steps tell. The others that do
are written within a window after the last use, and nothing makes them wait for that use. So are
those that are written between the last use and a late one, of a chain.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from anyshape.plan.lifetimes import Lifetimes
from anyshape.plan.step_buffers import StepBuffers


def conflicts_of(
    buffer: int, steps: Sequence[StepBuffers], lives: Lifetimes, arena: Set[int]
) -> tuple[int, ...]:
    """Buffers of the `arena` that are written while steps which use this one may still run."""
    _, last = lives.first_and_last(buffer)
    very_last = lives.users[buffer][-1]  # late uses, too
    soon = range(last + 1, min(very_last + lives.order.window, len(steps)))
    return tuple(
        other
        for step in soon
        for other in steps[step].written
        if other in arena and not lives.is_over(buffer, other)
    )
