"""What stands in front of an executor: everything is the executor's, unless a class says otherwise.

A wrapper has its own way to run, and is saved only if it says how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from anyshape.base.errors import AnyshapeError
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.executor import ExecutableMemory, Executor, Steps
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.specialization import Specialization
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array
from anyshape.observe.explain import KernelSummary
from anyshape.runtime.failures import MemoryRefusedError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Estimate, Metrics

E = TypeVar("E", bound=Executor)


class ExecutorWrapper(Generic[E]):
    """All of an executor but `run_within` and `record`, passed on to the one behind it."""

    def __init__(self, executor: E) -> None:
        self.executor = executor

    @property
    def capabilities(self) -> Capabilities:
        return self.executor.capabilities

    @property
    def threads(self) -> int:
        return self.executor.threads

    def results_of(self, arrays: Sequence[Any], limits: RunLimits) -> tuple[Array, ...]:
        """What the executor computes; without limits it does so in its shortest way."""
        if limits is UNLIMITED:
            return self.executor.run(arrays)
        return self.executor.run_within(arrays, limits)

    def steps(self, arrays: Sequence[Any]) -> Steps:
        return self.executor.steps(arrays)

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        return self.executor.specialize(sizes, limit)

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> int | None:
        return self.executor.planned_bytes(sizes, limit)

    def estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        return self.executor.estimate(sizes)

    def beyond_limit(self, failure: MemoryRefusedError) -> AnyshapeError:
        return self.executor.beyond_limit(failure)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        self.executor.reserve(sizes)

    def trim(self) -> None:
        self.executor.trim()

    def metrics(self) -> Metrics:
        return self.executor.metrics()

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        return self.executor.bindings_seen()

    def memory(self) -> ExecutableMemory:
        return self.executor.memory()

    @property
    def weights(self) -> Mapping[int, int]:
        return self.executor.weights

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return self.executor.kernels

    def kernel_summary(self) -> KernelSummary:
        return self.executor.kernel_summary()

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return self.executor.constants

    def decisions(self) -> tuple[Decision, ...]:
        return self.executor.decisions()
