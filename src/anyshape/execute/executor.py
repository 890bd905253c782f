"""What every executor can be asked: one interface for native, stepwise and reference execution."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from anyshape.base.errors import AnyshapeError
from anyshape.base.fork_lock import fork_lock
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.specialization import Specialization
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array
from anyshape.observe.explain import KernelSummary
from anyshape.runtime.failures import MemoryRefusedError
from anyshape.runtime.limits import RunLimits
from anyshape.runtime.program import Estimate, Metrics
from anyshape.saved.container import Blobs
from anyshape.saved.records import ExecutorRecord

Run = Callable[[Sequence[Any]], tuple[Array, ...]]
"""Arrays in, results out. Sizes that do not fit raise failures of the runtime, or typed errors."""


Out: TypeAlias = Sequence[Array | None]
"""Arrays of the caller, one or none for each result."""


class ExecutableMemory(NamedTuple):
    """Bytes that an Executable holds between calls. Results belong to the caller."""

    weights: int  # constants, in each form that a kernel reads
    code: int
    specializations: int
    idle_arenas: int
    results: int = 0  # of earlier calls, where they are kept


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one call, just after it ran. `values` are copies of what it computed."""

    number: int
    name: str
    node: Node | None  # of the graph; None where the program was loaded from a file
    nanoseconds: int
    values: tuple[Array, ...]


Steps: TypeAlias = Generator[StepRun, None, tuple[Array, ...]]
"""The steps of a call as they are done; what the generator returns are the call's results."""


class RunCounter:
    """How many calls there were, from any thread."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self.runs = 0

    def add(self) -> None:
        with self._lock:
            self.runs += 1


class Executor(Protocol):
    """A compiled graph, seen by its `Executable`. Safe to use from many threads."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def threads(self) -> int:
        """The most threads that a call uses."""
        ...

    @property
    def run(self) -> Run: ...

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """As `run`, but looks at `limits` between steps, which may end it.

        `out` has an array or None for each result: one that the executor writes is the result.
        """
        ...

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """One call, a step at a time, in the order of the schedule; then its results."""
        ...

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        """Everything that depends on a binding, made now if it is new: as a call within so many
        bytes would have it, if it can be done. None: within the limit of the program."""
        ...

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> int | None:
        """What a call with this binding takes for temporaries and results: within the limit, if
        that can be. None if a fact forbids the binding. Nothing is kept."""
        ...

    def estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        """What level 2 expects of a call with this binding; None if a fact forbids it. Nothing is
        kept."""
        ...

    def beyond_limit(self, failure: MemoryRefusedError) -> AnyshapeError:
        """The error to raise for a call that was refused: its size, and the axes that drive it."""
        ...

    def reserve(self, sizes: Mapping[str, int]) -> None:
        """Takes and touches the memory that one call at a time with this binding needs."""
        ...

    def trim(self) -> None:
        """Gives back what is held between calls and can be had again."""
        ...

    def metrics(self) -> Metrics: ...

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        """The bindings whose specializations are kept, by axis, those first that were used last."""
        ...

    def memory(self) -> ExecutableMemory: ...

    @property
    def weights(self) -> Mapping[int, int]:
        """The bytes of each constant by its address: programs may share them."""
        ...

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        """Every way to do each step, in the order of the schedule; none if nothing is compiled."""
        ...

    def kernel_summary(self) -> KernelSummary: ...

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        """In memory, as kernels read them."""
        ...

    def record(self, name: str, blobs: Blobs) -> ExecutorRecord:
        """What a file holds of it; `NotSavableError` names what none can hold. `name` is that of
        the graph."""
        ...

    def decisions(self) -> tuple[Decision, ...]:
        """What was done and refused after the passes, when memory was planned."""
        ...


def memory_together(executors: Sequence[Executor]) -> ExecutableMemory:
    """What several executors hold; weights that they share, once."""
    every = (executor.memory() for executor in executors)
    weights = {at: size for executor in executors for at, size in executor.weights.items()}
    total = ExecutableMemory(*map(sum, zip(*every, strict=True)))
    return total._replace(weights=sum(weights.values()))
