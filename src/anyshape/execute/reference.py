"""The reference executor: the interpreter, which defines what a graph means.

Slow, exact about types, and able to run everything. It compiles nothing, so it has no
specializations and no kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any, Final, NoReturn

import numpy as np

from anyshape.base.errors import AnyshapeError, CapabilityError, NotSavableError
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.executor import ExecutableMemory, Out, RunCounter, StepRun, Steps
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.memory_limits import arrays_of_numpy
from anyshape.execute.tensors import as_numpy
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.node import Node
from anyshape.ir.opdef import PARAM
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array
from anyshape.observe.explain import KernelSummary
from anyshape.runtime.failures import MemoryRefusedError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs
from anyshape.sym import Symbol

REFERENCE: Final = Capabilities("reference", specializations=False, kernels=False)


class ReferenceExecutor:
    """A graph as it was given, evaluated node by node."""

    def __init__(self, graph: Graph) -> None:
        self.capabilities: Final = REFERENCE
        self.threads: Final = 1
        self._graph = graph
        self._counter = RunCounter()

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """Nothing is written into `out`: nodes make their results themselves."""
        refuse_memory_limit(limits.memory_limit)

        def look(node: Node, results: tuple[Array, ...], sizes: dict[Symbol, int]) -> None:
            limits.check()

        with arrays_of_numpy():
            results = evaluate(self._graph, *map(as_numpy, arrays), observe=look)
        limits.check()  # where there are no nodes
        self._counter.add()
        return tuple(map(np.array, results))  # a node may give a view of an input or a constant

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """The nodes; all of them have run before the first is seen."""
        seen: list[StepRun] = []
        started = perf_counter_ns()

        def observe(node: Node, results: tuple[Array, ...], sizes: dict[Symbol, int]) -> None:
            nonlocal started
            if node.op is not PARAM:
                spent = perf_counter_ns() - started
                values = tuple(map(np.array, results))
                seen.append(StepRun(len(seen), node.op.name, node, spent, values))
            started = perf_counter_ns()

        results = evaluate(self._graph, *map(as_numpy, arrays), observe=observe)
        yield from seen
        return results

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> NoReturn:
        fix = "compile with executor='native'"
        raise CapabilityError("reference", "has no specializations", fix)

    def beyond_limit(self, failure: MemoryRefusedError) -> AnyshapeError:
        return failure

    def reserve(self, sizes: Mapping[str, int]) -> NoReturn:
        raise CapabilityError("reference", "plans no memory", "compile with executor='native'")

    estimate = reserve

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> NoReturn:
        self.reserve(sizes)

    def trim(self) -> None:
        """Nothing is held."""

    def metrics(self) -> Metrics:
        """Only runs are counted: there is no cache."""
        return Metrics(0, 0, 0, 0, 0, 0, self._counter.runs, 0, 0, 0)

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        """None: nothing is kept of a call."""
        return []

    def memory(self) -> ExecutableMemory:
        return ExecutableMemory(0, 0, 0, 0)

    @property
    def weights(self) -> Mapping[int, int]:
        """The graph's own are nobody's second form."""
        return {}

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return ()

    def kernel_summary(self) -> KernelSummary:
        return KernelSummary()

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return ()

    def record(self, name: str, blobs: Blobs) -> NoReturn:
        raise NotSavableError(
            name, {"the reference executor": 1}, 'compile it with executor="native"'
        )

    def decisions(self) -> tuple[Decision, ...]:
        """Nothing is planned."""
        return ()


def refuse_memory_limit(limit: int | None) -> None:
    """The interpreter cannot know what it will need."""
    if limit is not None:
        problem = "plans no memory, so it cannot keep a memory_limit"
        raise CapabilityError("reference", problem, "compile with executor='native'")
