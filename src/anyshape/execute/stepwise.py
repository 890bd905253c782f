"""The stepwise executor: the native kernels, one step after the other, on the calling thread.

For debugging and ablation: what a step computes and how long it takes, without a team of threads
and without overlap. Results are those of the native executor, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from anyshape.base.errors import NotSavableError
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.executor import Out, RunCounter
from anyshape.execute.native import NativeExecutor
from anyshape.execute.wrapper import ExecutorWrapper
from anyshape.ir.types import Array
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs

STEPWISE: Final = Capabilities("stepwise")


class StepwiseExecutor(ExecutorWrapper[NativeExecutor]):
    """The program of a native executor, walked from Python."""

    def __init__(self, native: NativeExecutor) -> None:
        super().__init__(native)
        self._counter = RunCounter()

    @property
    def capabilities(self) -> Capabilities:
        return STEPWISE

    @property
    def threads(self) -> int:
        return 1

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        program, given = self.executor.linked.program, self.executor.outputs_in(out)
        stepper = program.stepwise(arrays, limits.memory_limit, given)
        while stepper.next_step is not None:
            stepper.step(limits)
        limits.check()  # where there are no steps
        self._counter.add()
        return self.executor.results(stepper.outputs)

    def metrics(self) -> Metrics:
        return self.executor.metrics()._replace(runs=self._counter.runs)

    def record(self, name: str, blobs: Blobs) -> NoReturn:
        raise NotSavableError(
            name, {"the stepwise executor": 1}, 'compile it with executor="native"'
        )
