"""Level 3: bindings that stay hot run code in which their sizes are constants.

It stands in front of the executor of a compiled graph. Calls are counted by the shapes of their
arrays, in a sketch of bounded size. A shape that is counted often enough is handed to the worker of
the process (`hot_worker.py`), which compiles the same graph with sizes in place of symbols. When
that is done, one assignment makes calls of this shape take it; no call waits. Constants that are
packed alike are those of the first program: their store has each form once.

What goes wrong in the background is counted and told, and the binding stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import ref

from numpy import ndarray

from anyshape.base.errors import AnyshapeError, CancelledError, DeadlineError, HotError
from anyshape.base.fork_lock import fork_lock
from anyshape.execute.capabilities import all_nodes
from anyshape.execute.compile_options import CompileOptions
from anyshape.execute.executor import ExecutableMemory, Executor, Out, Run
from anyshape.execute.hot import Hot
from anyshape.execute.hot_worker import WORKER, HotWorker
from anyshape.execute.static_axes import static_axis
from anyshape.execute.tensors import shape_of
from anyshape.execute.wrapper import ExecutorWrapper
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.ir.opdef import Trait
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import Array
from anyshape.observe.progress import ProgressLine
from anyshape.observe.table import byte_text
from anyshape.runtime.failures import StoppedError
from anyshape.runtime.limits import RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs
from anyshape.saved.records import ExecutorRecord
from anyshape.sym import Dim

COUNTED: Final = 256
"""So many shapes are counted at a time; a new one takes the place of the rarest."""

MOST_FAILURES: Final = 64
"""So many shapes whose compile failed are remembered, and not tried again."""

STOPPED: Final = (StoppedError, DeadlineError, CancelledError)
"""Whoever ended a call wants no other."""

Shapes = tuple[tuple[int, ...], ...]
CompileFixed = Callable[[Graph, ProgressLine], Executor]
"""Compiles a graph without symbols, in the background."""


def check_hot(graph: Graph, choices: CompileOptions) -> None:
    """Refuses by name what hot bindings cannot be had with."""
    if choices.hot is None:
        return
    why = why_never_hot(graph, choices)
    if why is not None:
        raise HotError(graph.name, *why)


def why_never_hot(graph: Graph, choices: CompileOptions) -> tuple[str, str] | None:
    """A problem and what to do about it; None if there is none."""
    if choices.executor != "native":
        return f"the {choices.executor} executor compiles nothing", "compile with executor='native'"
    if choices.deterministic:
        return "deterministic results do not depend on earlier calls", "leave out deterministic"
    if choices.donate:
        return "a donated input that code has overwritten cannot be run again", "leave out donate"
    if choices.memory_limit is not None:
        return "memory_limit divides calls along axes", "leave out memory_limit"
    if static_axis(graph) is not None:
        return "a static axis has taken all its memory", "drop static"
    if any(axis.buckets for axis in graph.axes):
        return "an axis has buckets: its calls have few sizes by themselves", "drop the buckets"
    effect = next((n.op.name for n in all_nodes(graph.body) if n.op.has(Trait.EFFECT)), None)
    if effect is not None:
        return f"op '{effect}' has an effect from call to call", "compile it without hot"
    return None


@dataclass(slots=True)
class _HotBinding:
    """Code for one binding. `used` is written without a lock: any of two writers will do."""

    executor: Executor
    sizes: Mapping[str, int]
    bytes: int
    used: int


class HotExecutor(ExecutorWrapper[Executor]):
    """The results of `executor`, by other code where a binding is hot."""

    def __init__(
        self,
        graph: Graph,
        executor: Executor,
        hot: Hot,
        compile_fixed: CompileFixed,
        worker: HotWorker = WORKER,
    ) -> None:
        super().__init__(executor)
        self.hot = hot
        self._graph = graph
        self._plan = entry_plan(graph)
        self._compile_fixed = compile_fixed
        self._worker = worker
        self._cold: Run = executor.run
        self._lock = fork_lock()
        self._ready: dict[Shapes, _HotBinding] = {}  # read without the lock
        self._counts: dict[Shapes, int] = {}
        self._asked: set[Shapes] = set()
        self._failed: dict[Shapes, str] = {}
        self._calls = 0
        self._made = self._failures = self._evictions = 0
        self._earlier_runs = 0  # of bindings that have gone

    # --- calls --------------------------------------------------------------------------------

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        shapes = tuple([a.shape if type(a) is ndarray else shape_of(a) for a in arrays])
        found = self._ready.get(shapes)
        if found is None:
            results = self._cold(arrays)
            self._count(shapes)
            return results
        self._calls = found.used = self._calls + 1
        try:
            return found.executor.run(arrays)
        except STOPPED:
            raise
        except AnyshapeError:  # another dtype, a check, no memory: the first program says so
            return self._cold(arrays)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """Calls with a memory limit may have to be divided, which fixed sizes cannot be."""
        shapes = tuple(map(shape_of, arrays))
        found = self._ready.get(shapes) if limits.memory_limit is None else None
        if found is None:
            results = self.executor.run_within(arrays, limits, out)
            self._count(shapes)
            return results
        self._calls = found.used = self._calls + 1
        try:
            return found.executor.run_within(arrays, limits, out)
        except STOPPED:
            raise
        except AnyshapeError:  # as above; a deadline stays where it is
            return self.executor.run_within(arrays, limits, out)

    def _count(self, shapes: Shapes) -> None:
        with self._lock:
            self._calls += 1
            known = self._counts.get(shapes)
            count = self._counts[shapes] = (self._room() if known is None else known) + 1
            if count < self.hot.after or shapes in self._asked or shapes in self._failed:
                return
            self._asked.add(shapes)
            del self._counts[shapes]
        weak = ref(self)  # whoever gives up the executable gives up its jobs
        self._worker.add(lambda line: _make(weak(), shapes, line))

    def _room(self) -> int:
        """What a new shape takes over of the one that goes; see `call_profile.py`."""
        if len(self._counts) < COUNTED:
            return 0
        rarest = min(self._counts, key=lambda shapes: self._counts[shapes])
        return self._counts.pop(rarest)

    # --- the background -----------------------------------------------------------------------

    def make(self, shapes: Shapes, line: ProgressLine) -> None:
        """Compiles for these shapes; calls then take what was made."""
        try:
            made = self._made_for(shapes, line)
        except Exception as error:  # no call may see it: it is counted and told
            self._fail(shapes, f"{type(error).__name__}: {error}".splitlines()[0])
            return
        if made.bytes > int(self.hot.bytes):
            limit = byte_text(int(self.hot.bytes))
            self._fail(shapes, f"it holds {byte_text(made.bytes)}, more than {limit}")
            return
        with self._lock:
            self._asked.discard(shapes)
            self._made += 1
            self._ready[shapes] = made
            self._evict(shapes)

    def _made_for(self, shapes: Shapes, line: ProgressLine) -> _HotBinding:
        sizes = self._plan.solve(shapes)
        dims = {symbol: Dim.of(size) for symbol, size in sizes.items()}
        fixed = self._graph.with_body(substitute_region(self._graph.body, dims))
        made = self._compile_fixed(fixed, line)
        named = {symbol.name: size for symbol, size in sizes.items()}
        return _HotBinding(made, named, self._bytes_of(made), self._calls)

    def _bytes_of(self, made: Executor) -> int:
        """What it holds, with an arena; weights of the first program are not its own."""
        made.reserve({})
        held = made.memory()
        shared = self.executor.weights
        own = sum(size for at, size in made.weights.items() if at not in shared)
        return own + held.code + held.specializations + held.idle_arenas

    def _fail(self, shapes: Shapes, why: str) -> None:
        with self._lock:
            self._asked.discard(shapes)
            self._failures += 1
            self._failed[shapes] = why
            while len(self._failed) > MOST_FAILURES:
                del self._failed[next(iter(self._failed))]

    def _evict(self, newest: Shapes) -> None:
        """Calls that run it keep it until they are done."""
        while len(self._ready) > self.hot.count or self._bytes() > int(self.hot.bytes):
            others = [shapes for shapes in self._ready if shapes != newest]
            oldest = min(others, key=lambda shapes: self._ready[shapes].used)
            gone = self._ready.pop(oldest)
            self._earlier_runs += gone.executor.metrics().runs
            self._evictions += 1

    def _bytes(self) -> int:
        return sum(each.bytes for each in self._ready.values())

    # --- reports ------------------------------------------------------------------------------

    def trim(self) -> None:
        with self._lock:
            kept = [each.executor for each in self._ready.values()]
        for executor in (self.executor, *kept):
            executor.trim()

    def metrics(self) -> Metrics:
        """Runs are those of all programs."""
        first = self.executor.metrics()
        with self._lock:
            every = [each.executor.metrics() for each in self._ready.values()]
            runs = self._earlier_runs + sum(each.runs for each in every)
            return first._replace(
                runs=first.runs + runs,
                team_runs=first.team_runs + sum(each.team_runs for each in every),
                hot_runs=runs,
                hot_bindings=len(self._ready),
                hot_bytes=self._bytes(),
                hot_made=self._made,
                hot_failures=self._failures,
                hot_evictions=self._evictions,
            )

    def memory(self) -> ExecutableMemory:
        """With that of hot bindings; weights that they share count once."""
        with self._lock:
            kept = [each.executor for each in self._ready.values()]
        every = [self.executor.memory(), *(executor.memory() for executor in kept)]
        total = ExecutableMemory(*map(sum, zip(*every, strict=True)))
        return total._replace(weights=sum(self.weights.values()))

    @property
    def weights(self) -> Mapping[int, int]:
        with self._lock:
            kept = [each.executor for each in self._ready.values()]
        found = dict(self.executor.weights)
        for executor in kept:
            found.update(executor.weights)
        return found

    def hot_lines(self) -> tuple[str, ...]:
        """Which bindings are hot, and which could not be."""
        with self._lock:
            ready = [(each.sizes, each.bytes, each.executor) for each in self._ready.values()]
            failed = list(self._failed.items())
        lines = [
            f"{_binding_text(sizes)}: sizes are constants, {executor.metrics().runs} calls, "
            f"{byte_text(held)}"
            for sizes, held, executor in ready
        ]
        lines += [f"{list(map(list, shapes))}: not compiled: {why}" for shapes, why in failed]
        return tuple(lines)

    def record(self, name: str, blobs: Blobs) -> ExecutorRecord:
        """A file has the program for all shapes; hot bindings are this process's."""
        return self.executor.record(name, blobs)


def _make(executor: HotExecutor | None, shapes: Shapes, line: ProgressLine) -> None:
    if executor is not None:
        executor.make(shapes, line)


def _binding_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "no axes"
