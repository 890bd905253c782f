"""`assert` of what data decide, while torch traces a model.

    assert (mask.sum(1) > 0).all(), "an empty row"

Eager mode raises where it does not hold. Followed is what comes behind it; that it holds is a
condition, which torch records as an assertion of the program. Any other branch on data is refused.
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from types import CodeType, FrameType
from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode


def asserted(error: Exception, node: Any, asker: FrameType | None) -> bool | None:
    """The answer with which the code goes on, if it asks in order to assert; recorded by torch."""
    if not isinstance(error, GuardOnDataDependentSymNode) or node.pytype is not bool:
        return None
    answer = _asserted_within(asker)
    if answer is None:
        return None
    claim = node if answer else node.sym_not()
    claim.expect_true("", 0)
    return answer


def _asserted_within(asker: FrameType | None) -> bool | None:
    """Of the frames up to the model's, the first that asserts: torch has functions that do so."""
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        answer = _goes_on_with(frame.f_code, frame.f_lasti)
        if answer is not None or frame is asker:
            return answer
        frame = frame.f_back
    return None


@cache
def _goes_on_with(code: CodeType, offset: int) -> bool | None:
    """The truth that this instruction tests must have, or else an `AssertionError` is raised."""
    steps = list(dis.get_instructions(code))
    here = next((i for i, step in enumerate(steps) if step.offset == offset), None)
    if here is None or not steps[here].opname.startswith("POP_JUMP_"):
        return None
    by_offset = {step.offset: step for step in steps}
    jumps_if = steps[here].opname.endswith("IF_TRUE")
    if not jumps_if and not steps[here].opname.endswith("IF_FALSE"):
        return None
    if steps[here + 1].opname == "LOAD_ASSERTION_ERROR":
        return jumps_if
    target = by_offset.get(steps[here].argval)
    is_raised = target is not None and target.opname == "LOAD_ASSERTION_ERROR"
    return not jumps_if if is_raised else None
