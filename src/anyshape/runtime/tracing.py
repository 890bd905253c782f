"""Which thread did which tasks of a call, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from anyshape.runtime import _native

T = TypeVar("T")


class TaskRun(NamedTuple):
    """A range of tasks of one step, done by one thread. Times are of `time.monotonic_ns()`."""

    run: int  # a call of a course runs programs one after the other
    step: int
    name: str
    worker: int
    first: int
    last: int
    begin_ns: int
    end_ns: int


def traced(call: Callable[[], T]) -> tuple[T, list[TaskRun]]:
    """What `call` gives, and all that native programs did for it, in the order it began. Only runs
    that the calling thread starts are recorded; nothing else pays for it."""
    result, records = _native.traced(call)
    return result, sorted((TaskRun(*record) for record in records), key=lambda r: r.begin_ns)
