"""Results that are written over operands which nobody needs any more.

Whether a kernel allows it is proved from its loops (`loop/accesses.py`); this decides where it is
done. The operand must be a temporary of the same size whose other users are all over when the step
starts: waits are never added for it, so that no overlap is lost. In the same way results of the
graph are written over inputs that the caller gives up (`output_prefixes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from anyshape.plan.lifetimes import Lifetimes
from anyshape.plan.step_buffers import StepBuffers
from anyshape.sym import Dim


def overwrites_of(
    steps: Sequence[StepBuffers], lives: Lifetimes, temporary: Mapping[int, Dim]
) -> dict[int, int]:
    """For each result that is written in place, the buffer whose memory it takes over.

    `temporary` are the bytes of all buffers that may be merged. What is written over a result that
    is itself in place takes over the same memory: no buffer that is given has another's.
    """
    overwrites: dict[int, int] = {}
    for number, step in enumerate(steps):
        for result, operand in candidates(step, temporary, temporary, step.overwritable):
            free = result not in overwrites and operand not in _taken(step, overwrites)
            if free and is_last(number, operand, lives):
                overwrites[result] = operand
    for result, operand in overwrites.items():  # operands come before the results over them
        overwrites[result] = overwrites.get(operand, operand)
    return overwrites


def _taken(step: StepBuffers, overwrites: Mapping[int, int]) -> set[int]:
    """Operands that other results of the step are written over."""
    return {overwrites[result] for result in step.results if result in overwrites}


def is_last(step: int, operand: int, lives: Lifetimes) -> bool:
    """Whether all other users of a buffer are over when the step starts."""
    return lives.are_over(operand, step, but=(step,))


def candidates(
    step: StepBuffers,
    operands: Mapping[int, object],
    results: Mapping[int, object],
    allowed: Set[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Results and operands of equal form that may be one memory wherever the operand is read."""
    pairs: list[tuple[int, int]] = []
    uses: dict[int, list[int]] = {}  # of each operand, its positions
    for position, operand in enumerate(step.operands):
        uses.setdefault(operand, []).append(position)
    for position, result in enumerate(step.results, len(step.operands)):
        for operand, reads in uses.items():
            may = all((read, position) in allowed for read in reads)
            same = operand in operands and operands[operand] == results.get(result)
            if may and same:
                pairs.append((result, operand))
    return pairs
