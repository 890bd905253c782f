"""Courses of the native runtime: several programs and what happens between them, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from anyshape.program import CourseDescription
from anyshape.runtime import _native
from anyshape.runtime.failures import StoppedError
from anyshape.runtime.limits import RunLimits
from anyshape.runtime.program import Outputs, Program

HostCall: TypeAlias = Callable[[int, list[NDArray[Any]], tuple[int, ...]], Sequence[NDArray[Any]]]
"""Function `number` of the host on arrays, at sizes: dense arrays."""


class Course:
    """A divided graph, ready to run. Safe to use from many threads.

    `keep` holds whatever owns the constants' memory. A description that contradicts itself raises
    `MalformedProgramError`.
    """

    def __init__(
        self,
        description: CourseDescription,
        programs: Sequence[Program],
        host: HostCall,
        keep: object,
    ) -> None:
        natives = tuple(program.native for program in programs)
        self._native = _native.Course(description, natives, host, keep)
        self.run: Final = self._native.run
        """run(inputs) -> results, as those of a `Program`."""

    def run_within(self, inputs: Sequence[object], limits: RunLimits) -> Outputs:
        """The same as `run`, but `limits` may end it: `CancelledError`, `DeadlineError`."""
        limits.check()
        try:
            return self._native.run_within(
                inputs, limits.deadline_ns, limits.native_cancellation, limits.memory_limit
            )
        except StoppedError as stopped:
            raise limits.error(stopped.reason) from None

    def reserve(self, arena: int) -> None:
        """An arena of so many bytes, touched, for one call at a time."""
        self._native.reserve(arena)

    def trim(self) -> None:
        self._native.trim()

    @property
    def idle_arena_bytes(self) -> int:
        return self._native.idle_arena_bytes
