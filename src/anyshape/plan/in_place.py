"""Results that are written over operands which nobody needs any more.

Whether a kernel allows it is proved from its loops (`accesses.py`); here it is decided where it is
done. The operand must be a temporary of the same size whose other users are all over when the step
starts: waits are never added for it, so that no overlap is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.plan.lifetimes import Lifetimes
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class Touched:
    """The buffers of a step: what each operand is a name of, its results, its workspaces.

    `overwritable` are positions of an operand and a result that may be one memory.
    """

    overwritable: frozenset[tuple[int, int]]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    workspaces: tuple[int, ...]


def homes_in_place(
    steps: Sequence[Touched], lives: Lifetimes, temporary: Mapping[int, Dim]
) -> dict[int, int]:
    """For each result that is written in place, the buffer whose memory it takes over.

    `temporary` are the bytes of all buffers that may be merged. The lives of the buffers that give
    their memory away become those of all values that it holds, one after the other.
    """
    homes: dict[int, int] = {}
    for number, step in enumerate(steps):
        for result, operand in _candidates(step, temporary):
            is_last = not lives.users[operand] & ~(lives.before[number] | 1 << number)
            if is_last and result not in homes and operand not in _taken(step, homes):
                homes[result] = operand
    for result, operand in homes.items():  # operands come before the results written over them
        homes[result] = homes.get(operand, operand)
        lives.users[homes[result]] |= lives.users[result]
    return homes


def _taken(step: Touched, homes: Mapping[int, int]) -> set[int]:
    """Operands that other results of the step are written over."""
    return {homes[result] for result in step.results if result in homes}


def _candidates(step: Touched, temporary: Mapping[int, Dim]) -> list[tuple[int, int]]:
    """Results and operands of equal size that may be one memory wherever the operand is read."""
    pairs: list[tuple[int, int]] = []
    for place, result in enumerate(step.results, len(step.operands)):
        for operand in dict.fromkeys(step.operands):
            uses = [i for i, other in enumerate(step.operands) if other == operand]
            may = all((use, place) in step.overwritable for use in uses)
            if may and _same_size(temporary, operand, result):
                pairs.append((result, operand))
    return pairs


def _same_size(temporary: Mapping[int, Dim], operand: int, result: int) -> bool:
    return operand in temporary and temporary[operand] is temporary.get(result)
