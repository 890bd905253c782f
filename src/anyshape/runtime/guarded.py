"""Programs whose functions are not machine code, and may raise: what they raise, the call raises.

The runtime's threads cannot pass an exception on. Whoever makes such functions keeps it, and gives
a guard: a context around each native call that raises what was kept. Programs of machine code have
none, and pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from anyshape.codegen.target import Guard
from anyshape.program import ProgramDescription
from anyshape.runtime import _native
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Estimate, FirstWord, Outputs, Program, Run, Stepper
from anyshape.runtime.specialization import Specialization


def program_of(
    description: ProgramDescription,
    keep: Sequence[object],
    options: RunOptions | None = None,
    guard: Guard | None = None,
) -> Program:
    """A program, guarded if there is something to guard against."""
    if guard is None:
        return Program(description, keep, options)
    return GuardedProgram(description, keep, options, guard)


class GuardedProgram(Program):
    """A program whose calls all go through a guard."""

    def __init__(
        self,
        description: ProgramDescription,
        keep: Sequence[object],
        options: RunOptions | None,
        guard: Guard,
    ) -> None:
        self._guard = guard
        super().__init__(description, keep, options)

    def _entry(self) -> Run:
        run, guard = super()._entry(), self._guard

        def guarded(inputs: Sequence[Any]) -> Outputs:
            with guard():
                return run(inputs)

        return guarded

    def _word_entry(self) -> FirstWord:
        first_word, guard = super()._word_entry(), self._guard

        def guarded(inputs: Sequence[Any]) -> int:
            with guard():
                return first_word(inputs)

        return guarded

    def run_within(
        self,
        inputs: Sequence[object],
        limits: RunLimits,
        out: Sequence[NDArray[Any] | None] | None = None,
    ) -> Outputs:
        with self._guard():
            return super().run_within(inputs, limits, out)

    def specialize(self, symbols: Sequence[int], memory_limit: int | None = None) -> Specialization:
        with self._guard():
            return super().specialize(symbols, memory_limit)

    def stepwise(
        self,
        inputs: Sequence[object],
        memory_limit: int | None = None,
        out: Sequence[NDArray[Any] | None] | None = None,
        *,
        keep_donated: bool = False,
    ) -> Stepper:
        with self._guard():
            return super().stepwise(inputs, memory_limit, out, keep_donated=keep_donated)

    def _stepper(self, native: _native.Stepper) -> Stepper:
        return GuardedStepper(native, self.description, self._guard)

    def planned_bytes(self, symbols: Sequence[int], memory_limit: int | None = None) -> int:
        with self._guard():
            return super().planned_bytes(symbols, memory_limit)

    def estimate(self, symbols: Sequence[int]) -> Estimate:
        with self._guard():
            return super().estimate(symbols)

    def reserve(self, symbols: Sequence[int]) -> None:
        with self._guard():
            super().reserve(symbols)

    def take_static_memory(self, ranges: Sequence[range]) -> None:
        with self._guard():
            super().take_static_memory(ranges)


class GuardedStepper(Stepper):
    """The same of a call that runs one step at a time."""

    def __init__(
        self, native: _native.Stepper, description: ProgramDescription, guard: Guard
    ) -> None:
        super().__init__(native, description)
        self._guard = guard

    def step(self, limits: RunLimits = UNLIMITED) -> int:
        with self._guard():
            return super().step(limits)
