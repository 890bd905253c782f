"""Why a binding needs more memory than it may have, in the words of the model.

Which axes drive it is asked of the plan itself: level 2 is made again with each axis half as large.
That is arithmetic, and happens only when a call is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors import MemoryLimitError
from anyshape.runtime.failures import MemoryLimitExceededError, RuntimeFailure
from anyshape.runtime.program import Program
from anyshape.sym import Symbol


def memory_limit_error(
    failure: MemoryLimitExceededError, graph: str, symbols: Sequence[Symbol], program: Program
) -> MemoryLimitError:
    """The error to raise instead of `failure`, which a run of `program` met."""
    names = [symbol.name for symbol in symbols]
    parts = {"arena": failure.arena, "results": failure.outputs, "copies": failure.copies}
    needed = sum(parts.values())
    halved = {
        name: smaller
        for number, name in enumerate(names)
        if (smaller := _with_half_of(number, failure, program)) is not None and smaller < needed
    }
    binding = dict(zip(names, failure.symbols, strict=True))
    return MemoryLimitError(graph, binding, parts, failure.limit, halved)


def _with_half_of(number: int, failure: MemoryLimitExceededError, program: Program) -> int | None:
    """What it would need with that symbol half as large; None where such sizes cannot be."""
    symbols = list(failure.symbols)
    symbols[number] //= 2
    try:
        return program.planned_bytes(symbols) + failure.copies
    except RuntimeFailure:
        return None
