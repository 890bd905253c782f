"""Programs of the native runtime: made from descriptions, run, and asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyshape.program import ProgramDescription, Step
from anyshape.runtime import _native
from anyshape.runtime.failures import StoppedError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.metrics import Metrics
from anyshape.runtime.options import RunOptions
from anyshape.runtime.specialization import Memory, Placement, Specialization, StepNumbers

__all__ = [
    "Estimate",
    "Memory",
    "Metrics",
    "OutputPool",
    "Outputs",
    "Placement",
    "Program",
    "RunOptions",
    "Specialization",
    "StepNumbers",
    "Stepper",
    "output_pool",
    "set_output_pool_limit",
    "trim_process",
]


Outputs: TypeAlias = tuple[NDArray[Any], ...]

Run: TypeAlias = Callable[[Sequence[Any]], Outputs]

FirstWord: TypeAlias = Callable[[Sequence[Any]], int]


class Estimate(NamedTuple):
    """Of one call: seconds on all its threads, None if some step's are unknown, and bytes."""

    seconds: float | None
    arena: int
    results: int


class Stepper:
    """One call, a step at a time: the same kernels on the same memory, for looking in between."""

    def __init__(self, native: _native.Stepper, description: ProgramDescription) -> None:
        self._native = native
        self._description = description

    @property
    def next_step(self) -> Step | None:
        """The step that `step()` will run; None when all are done."""
        done = self._native.next == self._native.steps
        return None if done else self._description.steps[self._native.number]

    def step(self, limits: RunLimits = UNLIMITED) -> int:
        """Run the next step; how many nanoseconds it took. `IndexError` when all are done."""
        try:
            return self._native.step(limits.deadline_ns, limits.native_cancellation)
        except StoppedError as stopped:
            raise limits.error(stopped.reason) from None

    def buffer(self, number: int) -> NDArray[np.uint8]:
        """The bytes of a buffer, as they are now. A view: later steps may write over it."""
        return self._native.bytes(number)

    @property
    def outputs(self) -> Outputs:
        """The results; complete when all steps are done."""
        return self._native.outputs


class Program:
    """A compiled graph, ready to run at any shape. Safe to use from many threads.

    `keep` holds whatever owns the memory that addresses in the description point to. A description
    that contradicts itself, or has another form, raises `MalformedProgramError`.
    """

    def __init__(
        self,
        description: ProgramDescription,
        keep: Sequence[object] = (),
        options: RunOptions | None = None,
    ) -> None:
        self.description: Final = description
        self.native = _native.Program(description, tuple(keep), options or RunOptions())
        self.run: Final = self._entry()
        """run(inputs) -> outputs. Bound here because one more Python call would be felt.

        Inputs are NumPy arrays or speak DLPack. They are used where they are if they are contiguous
        and aligned, and copied otherwise. Raises the errors of `anyshape.runtime.failures`.
        """
        self.first_word: Final = self._word_entry()
        """first_word(inputs) -> the first number that level 2 computes for these sizes."""

    def _entry(self) -> Run:
        return self.native.run

    def _word_entry(self) -> FirstWord:
        return self.native.first_word

    def run_within(
        self,
        inputs: Sequence[object],
        limits: RunLimits,
        out: Sequence[NDArray[Any] | None] | None = None,
    ) -> Outputs:
        """The same as `run`, but `limits` may end it: `CancelledError`, `DeadlineError`.

        `out` may have an array for each output. It is written, and is the output, if it is
        contiguous, aligned, and lies where no input does; else the output is a new array.
        """
        limits.check()
        try:
            return self.native.run_within(
                inputs,
                limits.deadline_ns,
                limits.native_cancellation,
                limits.memory_limit,
                out,
            )
        except StoppedError as stopped:
            raise limits.error(stopped.reason) from None

    @property
    def threads(self) -> int:
        """The most threads that a run uses."""
        return self.native.threads

    def specialize(self, symbols: Sequence[int], memory_limit: int | None = None) -> Specialization:
        """Level 2 for a binding, from the cache or made now: one within the limit, if there is one
        and the usual one is not."""
        made = self.native.specialize(list(symbols), memory_limit)
        return Specialization(made, self.description)

    def stepwise(
        self,
        inputs: Sequence[object],
        memory_limit: int | None = None,
        out: Sequence[NDArray[Any] | None] | None = None,
        *,
        keep_donated: bool = False,
    ) -> Stepper:
        """Begin a call that runs one step at a time; with `keep_donated`, no input is written."""
        return self._stepper(_native.Stepper(self.native, inputs, memory_limit, out, keep_donated))

    def _stepper(self, native: _native.Stepper) -> Stepper:
        return Stepper(native, self.description)

    def metrics(self) -> Metrics:
        """Counters of the cache and of the runs."""
        return Metrics(**self.native.metrics())

    def bindings(self) -> list[list[int]]:
        """The symbols of all specializations that are kept, those first that were used last."""
        return self.native.bindings()

    def planned_bytes(self, symbols: Sequence[int], memory_limit: int | None = None) -> int:
        """What the arena and the outputs of a binding take: within the limit, if that can be. Made
        and not kept."""
        return self.native.planned_bytes(list(symbols), memory_limit)

    def estimate(self, symbols: Sequence[int]) -> Estimate:
        """What a call with a binding takes, by level 2's own numbers. Made and not kept."""
        picoseconds, arena, outputs = self.native.estimate(list(symbols))
        return Estimate(picoseconds / 1e12 if picoseconds >= 0 else None, arena, outputs)

    def reserve(self, symbols: Sequence[int]) -> None:
        """Memory for one call at a time with this binding, taken and touched now. It is kept until
        `trim()`."""
        self.native.reserve(list(symbols))

    def reserve_outputs(self, symbols: Sequence[int]) -> None:
        """The same for the outputs alone."""
        self.native.reserve(list(symbols), arena=False)

    def take_static_memory(self, ranges: Sequence[range]) -> None:
        """All memory that one call at a time needs, for each binding of these sizes of symbols. It
        is kept as long as the program; to be called before the first run."""
        self.native.take_static_memory([[each[0], each[-1], each.step] for each in ranges])

    def trim(self) -> None:
        """Give back the memory of idle runs, and forget all specializations; what is static
        stays."""
        self.native.trim()


# ---- outputs' memory ---------------------------------------------------------------------------


class OutputPool(NamedTuple):
    """Bytes of the process's pool: in arrays, kept for the next ones, and kept at most."""

    used: int
    idle: int
    limit: int


def output_pool() -> OutputPool:
    """The pool from which the outputs of all programs come."""
    return OutputPool(*_native.output_pool())


def set_output_pool_limit(limit: int) -> None:
    """How many bytes the pool may keep for outputs to come; 0 keeps nothing."""
    _native.set_output_pool_limit(limit)


def trim_process() -> None:
    """Give back what the whole process holds idle: the pool's blocks, and the C library's."""
    _native.trim_process()
