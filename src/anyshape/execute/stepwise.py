"""The stepwise executor: the native kernels, one step after the other, on the calling thread.

For debugging and ablation: what a step computes and how long it takes, without a team of threads
and without overlap. Results are those of the native executor, bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from anyshape.base.errors import InsufficientMemoryError, MemoryLimitError, NotSavableError
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.executor import ExecutableMemory, Out, RunCounter, Steps
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.native import NativeExecutor
from anyshape.execute.specialization import Specialization
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array
from anyshape.observe.explain import KernelSummary
from anyshape.runtime.failures import MemoryRefusedError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs

STEPWISE: Final = Capabilities("stepwise")


class StepwiseExecutor:
    """The program of a native executor, walked from Python."""

    def __init__(self, native: NativeExecutor) -> None:
        self.capabilities: Final = STEPWISE
        self.threads: Final = 1
        self._native = native
        self._counter = RunCounter()

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        program, given = self._native.linked.program, self._native.outputs_in(out)
        stepper = program.stepwise(arrays, limits.memory_limit, given)
        while stepper.next_step is not None:
            stepper.step(limits)
        limits.check()  # where there are no steps
        self._counter.add()
        return self._native.results(stepper.outputs)

    def steps(self, arrays: Sequence[Any]) -> Steps:
        return self._native.steps(arrays)

    def specialize(self, sizes: Mapping[str, int]) -> Specialization:
        return self._native.specialize(sizes)

    def planned_bytes(self, sizes: Mapping[str, int]) -> int | None:
        return self._native.planned_bytes(sizes)

    def beyond_limit(
        self, failure: MemoryRefusedError
    ) -> MemoryLimitError | InsufficientMemoryError:
        return self._native.beyond_limit(failure)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        self._native.reserve(sizes)

    def trim(self) -> None:
        self._native.trim()

    def metrics(self) -> Metrics:
        return self._native.metrics()._replace(runs=self._counter.runs)

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        return self._native.bindings_seen()

    def memory(self) -> ExecutableMemory:
        return self._native.memory()

    @property
    def weights(self) -> Mapping[int, int]:
        return self._native.weights

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return self._native.kernels

    def kernel_summary(self) -> KernelSummary:
        return self._native.kernel_summary()

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return self._native.constants

    def record(self, name: str, blobs: Blobs) -> NoReturn:
        raise NotSavableError(
            name, {"the stepwise executor": 1}, 'compile it with executor="native"'
        )

    def decisions(self) -> tuple[Decision, ...]:
        return self._native.decisions()
