"""The executor of divided graphs: native segments, and the nodes between them.

A call is one native run (`course.py`): branches, loops and sizes that data decide need no Python,
and other host nodes are called back, each to compute what its reference does. Nothing is compiled
after level 1.

The same plan can be walked in Python: one step at a time, for those who want to look in between,
and for programs that are not machine code. Facts are checked as soon as their sizes are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from itertools import count
from time import perf_counter_ns
from typing import Any, NoReturn

import numpy as np

from anyshape.base.errors import (
    AnyshapeError,
    BindingNamesError,
    CapabilityError,
    FactViolationError,
    NotSavableError,
    UnsupportedError,
    VerifyError,
)
from anyshape.execute.course_calls import NativeCourse
from anyshape.execute.executor import (
    ExecutableMemory,
    Executor,
    Out,
    RunCounter,
    StepRun,
    Steps,
    memory_together,
)
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.memory_limits import arrays_of_numpy
from anyshape.execute.native import NativeExecutor
from anyshape.execute.record_course import course_record
from anyshape.execute.regions import HostStep, RegionPlan, SegmentStep, Step
from anyshape.execute.specialization import Specialization
from anyshape.execute.tensors import as_numpy
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.ir.interpret import TOKEN_VALUE, Interpreter, check_facts
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array, TensorType
from anyshape.observe.explain import KernelSummary
from anyshape.ops.torch_call import op_name
from anyshape.passes.native_forms import called_back
from anyshape.runtime.failures import MemoryRefusedError, RuntimeFailure
from anyshape.runtime.limits import ANY_MEMORY, UNLIMITED, RunLimits
from anyshape.runtime.program import Metrics
from anyshape.saved.container import Blobs
from anyshape.saved.records import CourseRecord
from anyshape.sym import Symbol

Sizes = dict[Symbol, int]

_NOTHING = np.empty(0, np.bool_)
"""Stands in slots that hold no value."""


class HostExecutor:
    """Runs a divided graph. Holds nothing of a call, so many threads may use it at once."""

    def __init__(self, graph: Graph, plan: RegionPlan) -> None:
        """`plan` is that of the graph: its programs are compiled."""
        self.plan = plan
        entry, *self._steps = plan.steps
        assert isinstance(entry, SegmentStep)
        self.entry = entry.executor
        self.capabilities = self.entry.capabilities
        self.threads = self.entry.threads
        self._bindings = entry_plan(graph)
        self._interpreter = Interpreter(graph.weights, graph.locations)
        self._counter = RunCounter()
        self.course = NativeCourse.of(graph, plan, self._run_host)
        self._takes = tuple(isinstance(type_, TensorType) for type_ in graph.body.params)
        typed = zip(plan.results, graph.results, strict=True)
        self._results = tuple(s for s, value in typed if isinstance(value.type, TensorType))

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """The tensors among the results, each with memory of its own."""
        return self.run_within(arrays, UNLIMITED)

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        """Each segment and each host node looks at `limits`, inside regions too.

        Nothing is written into `out`: only the run shows which values are the results.
        """
        if self.course is not None:
            return self.course.run(arrays, limits)
        entered = _run(self.entry, arrays, limits)  # first of all: it checks the inputs
        inputs, values, sizes = self._enter(arrays, entered)
        with arrays_of_numpy():
            self._walk(self._steps, values, sizes, limits)
        limits.check()  # of the last host node
        self._counter.add()
        return _owned([values[slot] for slot in self._results], [*inputs, *self.plan.constants])

    def _enter(
        self, arrays: Sequence[Any], entered: tuple[Array, ...]
    ) -> tuple[list[Array], list[Array], Sizes]:
        """The inputs as arrays, the slots and the sizes when the entry has run."""
        inputs = [np.asarray(as_numpy(array), order="C") for array in arrays]
        given = iter(inputs)
        args = [next(given) if takes else TOKEN_VALUE for takes in self._takes]
        sizes = self._bindings.binding([array.shape for array in inputs])
        return inputs, _slots(self.plan, args, entered), sizes

    def _region(
        self, plan: RegionPlan, args: Sequence[Array], sizes: Sizes, limits: RunLimits
    ) -> tuple[Array, ...]:
        """The results of a host node's region; `sizes` gains the symbols bound on the way."""
        args = tuple(map(np.asarray, args))  # NumPy gives scalars for elements
        for symbol, param, axis in plan.sizes:
            sizes.setdefault(symbol, args[param].shape[axis])
        check_facts(plan.facts, sizes)
        values = _slots(plan, args)
        limits.check()  # a loop may have no steps
        self._walk(plan.steps, values, sizes, limits)
        return tuple(values[slot] for slot in plan.results)

    def _walk(
        self, steps: Sequence[Step], values: list[Array], sizes: Sizes, limits: RunLimits
    ) -> None:
        for step in steps:
            if isinstance(step, SegmentStep):
                results = _run_segment(step, values, sizes, limits)
            else:
                limits.check()
                operands = [values[slot] for slot in step.operands]
                results = self._run_host(step, operands, sizes, limits)
            _store(step, results, values)

    def _run_host(
        self,
        step: HostStep,
        operands: Sequence[Array],
        sizes: Sizes,
        limits: RunLimits = UNLIMITED,
    ) -> tuple[Array, ...]:
        def run(index: int, args: Sequence[Array], inner: Sizes) -> tuple[Array, ...]:
            return self._region(step.regions[index], args, inner, limits)

        results = self._interpreter.apply(step.node, tuple(operands), sizes, run)
        check_facts(step.facts, sizes)
        return results

    def steps(self, arrays: Sequence[Any]) -> Steps:
        """Kernels and host nodes of the graph in order; what regions do is one step."""
        numbers = count()
        entered = yield from _numbered(self.entry.steps(arrays), numbers)
        inputs, values, sizes = self._enter(arrays, entered)
        for step in self._steps:
            results = yield from _numbered(self._watched(step, values, sizes), numbers)
            _store(step, results, values)
        return _owned([values[slot] for slot in self._results], [*inputs, *self.plan.constants])

    def _watched(self, step: Step, values: list[Array], sizes: Sizes) -> Steps:
        if isinstance(step, SegmentStep):
            return (yield from step.executor.steps(_arguments(step, values, sizes)))
        started = perf_counter_ns()
        results = self._run_host(step, [values[slot] for slot in step.operands], sizes)
        spent = perf_counter_ns() - started
        yield StepRun(0, op_name(step.node), step.node, spent, tuple(map(np.array, results)))
        return results

    # --- reports ------------------------------------------------------------------------------

    @property
    def segments(self) -> tuple[Executor, ...]:
        """Every native program: the entry, those of the graph, and those inside regions."""
        return tuple(step.executor for step in self.plan.segments)

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        """Of the entry, and of all segments whose sizes are known then: those that the graph bears
        may be given as well, as what they might be. Segments keep to no limit of their own: what
        they hand on counts, too."""
        entry, *others = self.plan.segments
        late = frozenset[str]().union(*(segment.axes for segment in others)) - entry.axes
        unknown = sorted(sizes.keys() - entry.axes - late)
        if unknown:
            raise BindingNamesError([], unknown, (*sorted(entry.axes), *sorted(late)))
        own = {axis: sizes[axis] for axis in sizes if axis in entry.axes}
        first = self.entry.specialize(own, ANY_MEMORY)
        known = {**first.binding, **sizes}
        ready = [segment for segment in others if segment.axes <= known.keys()]
        waiting = [tuple(sorted(s.axes - known.keys())) for s in others if s not in ready]
        return first.followed_by(list(_specialized(ready, known)), waiting)

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> NoReturn:
        problem = "plans the memory of a graph whose sizes or branches depend on data as it runs"
        fix = "give calls a memory_limit, which they are held to where sizes become known"
        raise CapabilityError(self.capabilities.executor, problem, fix)

    def estimate(self, sizes: Mapping[str, int]) -> NoReturn:
        problem = "learns sizes or branches from data, so that no cost is known ahead"
        raise CapabilityError(self.capabilities.executor, problem, "measure a call")

    def beyond_limit(self, failure: MemoryRefusedError) -> AnyshapeError:
        """Of the entry; other segments have told theirs."""
        return self.entry.beyond_limit(failure)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        """For each segment whose sizes follow from the binding, or were given as what they might
        be: not for those that wait for others, nor for branches that this binding cannot take.
        What host nodes need themselves is NumPy's, and is not reserved."""
        whole = self.specialize(sizes)
        known = {**whole.binding, **sizes}
        for segment in self.plan.segments:
            if segment.axes <= known.keys():
                with suppress(FactViolationError):  # of a branch; the entry checks those of all
                    self._reserve(segment, {axis: known[axis] for axis in segment.axes})
        if self.course is not None:  # last: segments know the limit
            parts = (whole, *whole.segments)
            self.course.reserve(max(part.memory().arena for part in parts))

    def _reserve(self, segment: SegmentStep, sizes: Mapping[str, int]) -> None:
        """In a course, all take turns in one arena."""
        executor = segment.executor
        if self.course is not None and isinstance(executor, NativeExecutor):
            executor.reserve_results(sizes)
        else:
            executor.reserve(sizes)

    def trim(self) -> None:
        for segment in self.segments:
            segment.trim()
        if self.course is not None:
            self.course.trim()

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        """Of the inputs: sizes that host nodes compute are no axes of callers."""
        return self.entry.bindings_seen()

    def metrics(self) -> Metrics:
        """Counters of all segments together; runs are those of the whole graph."""
        every = [segment.metrics() for segment in self.segments]
        total = Metrics(*map(sum, zip(*every, strict=True)))
        if self.course is None:
            return total._replace(runs=self._counter.runs)
        idle = total.idle_arena_bytes + self.course.idle_arena_bytes
        return total._replace(runs=every[0].runs, idle_arena_bytes=idle)

    def memory(self) -> ExecutableMemory:
        """What all segments hold, and the arena that they take turns in; weights that they share,
        once."""
        held = memory_together(self.segments)
        arenas = self.course.idle_arena_bytes if self.course is not None else 0
        return held._replace(idle_arenas=held.idle_arenas + arenas)

    @property
    def weights(self) -> Mapping[int, int]:
        return {at: size for segment in self.segments for at, size in segment.weights.items()}

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        """Of all segments, inside regions too."""
        return tuple(kernel for segment in self.segments for kernel in segment.kernels)

    def kernel_summary(self) -> KernelSummary:
        """Of all segments; a kernel that two of them share is counted twice."""
        found = (astuple(segment.kernel_summary()) for segment in self.segments)
        return KernelSummary(*map(sum, zip(*found, strict=True)))

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return [constant for segment in self.segments for constant in segment.constants]

    def record(self, name: str, blobs: Blobs) -> CourseRecord:
        if self.course is None:
            causes = {"programs that are no machine code": 1}
            raise NotSavableError(name, causes, "compile it for the native target and executor")
        return course_record(name, self.course.plan, list(self.plan.segments), blobs)

    def decisions(self) -> tuple[Decision, ...]:
        """Of all segments: what each of them holds is its own."""
        return tuple(decision for segment in self.segments for decision in segment.decisions())


def _specialized(
    segments: Sequence[SegmentStep], known: Mapping[str, int]
) -> Iterator[Specialization]:
    """But not of branches that these sizes cannot take: the entry checks the facts of all."""
    for segment in segments:
        with suppress(FactViolationError):
            own = {axis: known[axis] for axis in segment.axes}
            yield segment.executor.specialize(own, ANY_MEMORY)


def _numbered(steps: Steps, numbers: Iterator[int]) -> Steps:
    """The same steps, with numbers that go on."""
    try:
        while True:
            yield replace(next(steps), number=next(numbers))
    except StopIteration as over:
        return over.value


def _slots(plan: RegionPlan, args: Sequence[Array], computed: Sequence[Array] = ()) -> list[Array]:
    empty = [_NOTHING] * (plan.computed - len(computed))
    return [*args, *plan.constants, *computed, *empty]


def _arguments(step: SegmentStep, values: list[Array], sizes: Sizes) -> tuple[Array, ...]:
    told = (np.empty((sizes[symbol], 0), np.bool_) for symbol in step.sizes)
    return (*(values[slot] for slot in step.operands), *told)


def _run(executor: Executor, arrays: Sequence[Any], limits: RunLimits) -> tuple[Array, ...]:
    """Without limits by the runtime's own function, which is a call or two shorter."""
    return executor.run(arrays) if limits is UNLIMITED else executor.run_within(arrays, limits)


def _run_segment(
    step: SegmentStep, values: list[Array], sizes: Sizes, limits: RunLimits = UNLIMITED
) -> tuple[Array, ...]:
    arguments = _arguments(step, values, sizes)
    try:
        return _run(step.executor, arguments, limits)
    except MemoryRefusedError as failure:
        raise step.executor.beyond_limit(failure) from None
    except RuntimeFailure as failure:
        shapes = [array.shape for array in arguments]
        raise VerifyError(f"a segment on {shapes}", failure.message()) from failure


def _store(step: Step, results: tuple[Array, ...], values: list[Array]) -> None:
    """The results in their slots; what nothing needs any more is let go."""
    for slot, result in zip(step.results, results, strict=True):
        values[slot] = result
    for slot in step.over:
        values[slot] = _NOTHING


def _owned(results: Sequence[Array], lent: Sequence[Array]) -> tuple[Array, ...]:
    """Results as they are, or copies of those that share memory with `lent` or each other.

    A branch may give back what it was given; only the run shows whether it did.
    """
    owned: list[Array] = []
    for array in results:
        shared = any(np.may_share_memory(array, other) for other in (*lent, *owned))
        owned.append(array.copy() if shared else array)
    return tuple(owned)


def refuse_host_nodes(graph: Graph) -> None:
    """For `strict`: names every node that Python computes, with how often and where it occurs."""
    places: dict[str, list[str]] = {}
    for node in called_back(graph.body):
        places.setdefault(op_name(node), []).append(str(graph.locations.of(node) or ""))
    if places:
        raise UnsupportedError(places)
