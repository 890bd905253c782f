"""Results that are written over operands which nobody needs any more.

Whether a kernel allows it is proved from its loops (`loop/accesses.py`); this decides where it is
done. The operand must be a temporary of the same size whose other users are all over when the step
starts: waits are never added for it, so that no overlap is lost. In the same way results of the
graph are written over inputs that the caller gives up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from anyshape.ir.types import TensorType
from anyshape.plan.lifetimes import Lifetimes
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class Touched:
    """The buffers of a step: what each operand is a name of, its results, its workspaces.

    `overwritable` are positions of an operand and a result that may be one memory, `copied_onto`
    those that may if the kernel does not copy the one to the other.
    """

    overwritable: frozenset[tuple[int, int]]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    workspaces: tuple[int, ...]
    copied_onto: frozenset[tuple[int, int]] = frozenset()


def homes_in_place(
    steps: Sequence[Touched], lives: Lifetimes, temporary: Mapping[int, Dim]
) -> dict[int, int]:
    """For each result that is written in place, the buffer whose memory it takes over.

    `temporary` are the bytes of all buffers that may be merged. The lives of the buffers that give
    their memory away become those of all values that it holds, one after the other.
    """
    homes: dict[int, int] = {}
    for number, step in enumerate(steps):
        for result, operand in _candidates(step, temporary, temporary, step.overwritable):
            free = result not in homes and operand not in _taken(step, homes)
            if free and _is_last(number, operand, lives):
                homes[result] = operand
    for result, operand in homes.items():  # operands come before the results written over them
        homes[result] = homes.get(operand, operand)
    lives.join(homes)
    return homes


def _taken(step: Touched, homes: Mapping[int, int]) -> set[int]:
    """Operands that other results of the step are written over."""
    return {homes[result] for result in step.results if result in homes}


def results_in_inputs(
    steps: Sequence[Touched],
    lives: Lifetimes,
    inputs: Mapping[int, TensorType],
    results: Mapping[int, TensorType],
) -> dict[int, int]:
    """For each of the graph's `results` that is written over an input given up, that input.

    Types are equal, not only sizes: the caller may get the array back that was the input.
    """
    homes: dict[int, int] = {}
    taken: set[int] = set()
    for number, step in enumerate(steps):
        allowed = step.overwritable | step.copied_onto
        for result, operand in _candidates(step, inputs, results, allowed):
            free = result not in homes and operand not in taken
            if free and _is_last(number, operand, lives):
                homes[result] = operand
                taken.add(operand)
    return homes


def _is_last(step: int, operand: int, lives: Lifetimes) -> bool:
    """Whether all other users of a buffer are over when the step starts."""
    return lives.are_over(operand, step, but=(step,))


def _candidates(
    step: Touched,
    operands: Mapping[int, object],
    results: Mapping[int, object],
    allowed: Set[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Results and operands of equal form that may be one memory wherever the operand is read."""
    pairs: list[tuple[int, int]] = []
    uses: dict[int, list[int]] = {}  # of each operand, its positions
    for position, operand in enumerate(step.operands):
        uses.setdefault(operand, []).append(position)
    for place, result in enumerate(step.results, len(step.operands)):
        for operand, positions in uses.items():
            may = all((use, place) in allowed for use in positions)
            same = operand in operands and operands[operand] == results.get(result)
            if may and same:
                pairs.append((result, operand))
    return pairs
