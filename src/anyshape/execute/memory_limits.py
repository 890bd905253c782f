"""Why a binding needs more memory than it may have, or than there is, in the words of the model.

Which axes drive it is asked of the plan itself: level 2 is made again with each axis half as large.
That is arithmetic, and happens only when a call is refused.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from anyshape.base.errors import (
    AnyshapeError,
    InsufficientMemoryError,
    MemoryLimitError,
    OutOfMemoryError,
)
from anyshape.runtime.failures import (
    MemoryRefusedError,
    MemoryUnavailableError,
    RuntimeFailure,
)
from anyshape.runtime.program import Program
from anyshape.sym import Symbol


def memory_error(
    failure: MemoryRefusedError, graph: str, symbols: Sequence[Symbol], program: Program
) -> MemoryLimitError | InsufficientMemoryError:
    """The error to raise instead of `failure`, which a run of `program` met."""
    names = [symbol.name for symbol in symbols]
    parts = {"arena": failure.arena, "results": failure.outputs, "copies": failure.copies}
    needed = sum(parts.values())
    halved = {
        name: smaller
        for number, name in enumerate(names)
        if failure.symbols[number] > 1
        and (smaller := _with_half_of(number, failure, program)) is not None
        and smaller < needed
    }
    binding = dict(zip(names, failure.symbols, strict=True))
    unavailable = isinstance(failure, MemoryUnavailableError)
    error = InsufficientMemoryError if unavailable else MemoryLimitError
    return error(graph, binding, parts, failure.limit, halved)


def _with_half_of(number: int, failure: MemoryRefusedError, program: Program) -> int | None:
    """What it would need with that symbol half as large; None where such sizes cannot be."""
    symbols = list(failure.symbols)
    symbols[number] //= 2
    limit = None if isinstance(failure, MemoryUnavailableError) else failure.limit - failure.copies
    try:
        return program.planned_bytes(symbols, limit) + failure.copies
    except RuntimeFailure:
        return None


@contextmanager
def arrays_of_numpy() -> Generator[None]:
    """Where references make arrays: memory that NumPy does not get is the caller's to know of."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, AnyshapeError):
            raise
        raise OutOfMemoryError from error
