"""Which outputs begin in the memory of inputs that callers give up: over them, or behind them.

The input is the *prefix* of the output: one that is written over it is as long, one that is
continued by an `append` has more behind it. Both are found here as buffers; whether the memory of a
call's array has room is seen at each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.ir.types import TensorType
from anyshape.plan.in_place import candidates, is_last
from anyshape.plan.lifetimes import Lifetimes
from anyshape.plan.step_buffers import StepBuffers


def output_prefixes(
    steps: Sequence[StepBuffers],
    lives: Lifetimes,
    continued: Mapping[int, int],
    inputs: Mapping[int, TensorType],
    outputs: Mapping[int, TensorType],
) -> dict[int, int]:
    """Inputs by the outputs that begin there: `continued` already says some of them.

    `inputs` are those given up, with their types. Types are equal, not only sizes: the caller may
    get the array back that was the input.
    """
    prefixes = dict(continued)
    free = {number: type_ for number, type_ in inputs.items() if number not in continued.values()}
    for number, step in enumerate(steps):
        allowed = step.overwritable | step.removable_copies
        for output, operand in candidates(step, free, outputs, allowed):
            is_free = output not in prefixes and operand in free
            if is_free and is_last(number, operand, lives):
                prefixes[output] = operand
                del free[operand]
    return prefixes
