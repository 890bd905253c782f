"""Programs of the native runtime: made from descriptions, run, and asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyshape.runtime import _native
from anyshape.runtime.description import (
    Address,
    AliasBuffer,
    ArenaBuffer,
    Buffer,
    Constant,
    Input,
    InputBuffer,
    Output,
    OutputBuffer,
    ProgramDescription,
    Source,
    Step,
    WeightBuffer,
    Word,
)
from anyshape.runtime.encode import (
    dlpack_type,
    encode_buffer,
    encode_input,
    encode_output,
    encode_step,
)
from anyshape.runtime.failures import StoppedError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.metrics import Metrics
from anyshape.runtime.specialization import Memory, Place, Specialization, StepNumbers

__all__ = [
    "Address",
    "AliasBuffer",
    "ArenaBuffer",
    "Buffer",
    "Constant",
    "Input",
    "InputBuffer",
    "Memory",
    "Metrics",
    "Output",
    "OutputBuffer",
    "OutputPool",
    "Outputs",
    "Place",
    "Program",
    "ProgramDescription",
    "RunOptions",
    "Source",
    "Specialization",
    "Step",
    "StepNumbers",
    "Stepper",
    "WeightBuffer",
    "Word",
    "dlpack_type",
    "output_pool",
    "set_output_pool_limit",
    "trim_process",
]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a program is run; never what it computes.

    `threads` is an upper bound, 0 means the CPUs allowed to the process. Where the program says
    what its steps cost, those below `split_cost_ns` are not split, and runs whose other steps
    together cost less than `team_cost_ns` stay on the calling thread. So do those that find the
    team busy, unless they are to `wait_for_team`.
    """

    threads: int = 0
    team_cost_ns: int = 10_000
    split_cost_ns: int = 3_000
    wait_for_team: bool = False
    cache_entries: int = 1024
    cache_bytes: int = 64 << 20
    memory_limit: int | None = None  # bytes of one run: arena, outputs, copies of inputs


Outputs: TypeAlias = tuple[NDArray[Any], ...]


class Stepper:
    """One call, a step at a time: the same kernels on the same memory, for looking in between."""

    def __init__(self, native: _native.Stepper, description: ProgramDescription) -> None:
        self._native = native
        self._description = description

    @property
    def next_step(self) -> Step | None:
        """The step that `step()` will run; None when all are done."""
        done = self._native.next == self._native.steps
        return None if done else self._description.steps[self._native.next]

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
    that contradicts itself raises `MalformedProgramError`.
    """

    def __init__(
        self,
        description: ProgramDescription,
        keep: Sequence[object] = (),
        options: RunOptions | None = None,
    ) -> None:
        options = options or RunOptions()
        self.description: Final = description
        self._native = _native.Program(
            bind=description.bind,
            shape=description.shape,
            symbols=description.symbols,
            words=description.words,
            window=description.window,
            inputs=[encode_input(input_) for input_ in description.inputs],
            outputs=[encode_output(output) for output in description.outputs],
            buffers=[encode_buffer(buffer) for buffer in description.buffers],
            steps=[encode_step(step) for step in description.steps],
            keep=tuple(keep),
            threads=options.threads,
            team_cost_ns=options.team_cost_ns,
            split_cost_ns=options.split_cost_ns,
            wait_for_team=options.wait_for_team,
            cache_entries=options.cache_entries,
            cache_bytes=options.cache_bytes,
            memory_limit=_limit(options.memory_limit),
        )
        self.run: Final = self._native.run
        """run(inputs) -> outputs. Bound here because one more Python call would be felt.

        Inputs are NumPy arrays or speak DLPack. They are used where they are if they are contiguous
        and aligned, and copied otherwise. Raises the errors of `anyshape.runtime.failures`.
        """

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
            return self._native.run_within(
                inputs,
                limits.deadline_ns,
                limits.native_cancellation,
                None if limits.memory_limit is None else _limit(limits.memory_limit),
                out,
            )
        except StoppedError as stopped:
            raise limits.error(stopped.reason) from None

    @property
    def threads(self) -> int:
        """The most threads that a run uses."""
        return self._native.threads

    def specialize(self, symbols: Sequence[int]) -> Specialization:
        """Level 2 for a binding, from the cache or made now."""
        return Specialization(self._native.specialize(list(symbols)), self.description)

    def stepwise(
        self,
        inputs: Sequence[object],
        memory_limit: int | None = None,
        out: Sequence[NDArray[Any] | None] | None = None,
        *,
        keep_donated: bool = False,
    ) -> Stepper:
        """Begin a call that runs one step at a time; with `keep_donated`, no input is written."""
        limit = None if memory_limit is None else _limit(memory_limit)
        native = _native.Stepper(self._native, inputs, limit, out, keep_donated)
        return Stepper(native, self.description)

    def metrics(self) -> Metrics:
        """Counters of the cache and of the runs."""
        return Metrics(**self._native.metrics())

    def planned_bytes(self, symbols: Sequence[int]) -> int:
        """What the arena and the outputs of a binding take. Made and not kept."""
        return self._native.planned_bytes(list(symbols))

    def reserve(self, symbols: Sequence[int]) -> None:
        """Memory for one call at a time with this binding, taken and touched now. It is kept until
        `trim()`."""
        self._native.reserve(list(symbols))

    def trim(self) -> None:
        """Give back the memory of idle runs, and forget all specializations."""
        self._native.trim()


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


# ---- for the native side -----------------------------------------------------------------------


_MOST_BYTES: Final = 1 << 62
"""No size that the runtime computes is beyond this."""


def _limit(bytes: int | None) -> int:
    return _MOST_BYTES if bytes is None else min(bytes, _MOST_BYTES)
