"""`Executable`: one compiled graph, all shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from time import perf_counter_ns
from typing import Any, Literal, TypeAlias, cast, overload

from numpy import ndarray

from anyshape.base.errors import AnyshapeError, BindingNamesError, InputError
from anyshape.base.not_pickled import CopiedAsItself
from anyshape.base.options import byte_count, check_switch
from anyshape.base.pickled import from_saved
from anyshape.codegen.target import Target, described
from anyshape.execute.background import BackgroundSpecialization
from anyshape.execute.call_profile import CallProfile, CallRecorder
from anyshape.execute.capabilities import Capabilities
from anyshape.execute.destinations import destinations, filled, unfit
from anyshape.execute.executor import ExecutableMemory, Executor, Out, Run, Steps
from anyshape.execute.input_errors import in_words_of_model
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.largest import Largest
from anyshape.execute.likely import ObservedSizes, likely_sizes
from anyshape.execute.notes import GraphNotes
from anyshape.execute.page_data import page_data
from anyshape.execute.record_file import saved_parts
from anyshape.execute.record_graph import executable_record
from anyshape.execute.specialization import Specialization
from anyshape.execute.strategies import strategies_of
from anyshape.execute.tensors import as_torch, is_torch, readable, refuse_masked, shape_of
from anyshape.execute.tracing import step_events, task_events, write_trace
from anyshape.execute.value_checks import offence_error
from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType
from anyshape.observe.explain import Explanation
from anyshape.observe.page import write_page
from anyshape.observe.strategies import Strategies
from anyshape.passes import PassReport
from anyshape.runtime.failures import (
    MemoryRefusedError,
    OutputUnfitError,
    RuntimeFailure,
)
from anyshape.runtime.limits import UNLIMITED, Cancellation, RunLimits
from anyshape.runtime.options import affinity
from anyshape.runtime.program import Estimate, Metrics, trim_process
from anyshape.runtime.tracing import traced
from anyshape.saved.container import Blobs, Bytes, write_file
from anyshape.saved.records import ExecutableRecord
from anyshape.sym import Axis, BindingPlan

Again: TypeAlias = Callable[[Target], "Executable"]
"""Compiles the same graph, with the same choices, for another target."""


class Executable(CopiedAsItself):
    """A compiled graph. Calling it gives a tuple of results; it may be called from many threads.

    Arrays are NumPy's, torch's (on the CPU), or anything that speaks DLPack. They are read where
    they are if they are dense, and copied otherwise. Results own their memory, or have taken over
    that of a donated input. They are torch tensors if any input is one, else NumPy arrays.
    """

    def __init__(self, notes: GraphNotes, executor: Executor) -> None:
        self.notes = notes
        self.executor = executor
        self.again: Again | None = None  # who compiled it can do so for other machines
        self._inputs = notes.inputs
        # Without checks it is the executor's own: one more Python call would be felt.
        self.run_checked: Run = self._run_checked if notes.checks else executor.run
        self._recorder: CallRecorder | None = None
        self._earlier = CallProfile()  # of processes before this one

    @property
    def source(self) -> Graph:
        """The graph before the passes."""
        return self.notes.source

    @property
    def graph(self) -> Graph:
        """The graph as it is run: every `kernel` is one step."""
        return self.notes.graph

    @property
    def reports(self) -> tuple[PassReport, ...]:
        """What each pass did."""
        return self.notes.reports

    @property
    def bindings(self) -> BindingPlan:
        """How the sizes of a call's arrays give those of axes."""
        return self.notes.bindings

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        for array in arrays:
            if type(array) is not ndarray:
                return self._call_with_tensors(arrays)
        try:  # as in run(), whose call alone would cost a tenth of a small one
            return self.run_checked(arrays)
        except RuntimeFailure as failure:
            raise self.in_words_of_model(failure, arrays) from None

    def run(
        self,
        arrays: tuple[Any, ...],
        *,
        deadline: float | None = None,
        cancellation: Cancellation | None = None,
        memory_limit: int | str | None = None,
        out: Sequence[Any] | None = None,
    ) -> tuple[Any, ...]:
        """A call with arrays that the runtime reads by itself; results are NumPy arrays.

        With a `deadline`, in seconds, it raises `DeadlineError` if it is not complete by then; with
        a `cancellation` that another thread triggers, `CancelledError`. Both within one step's
        time; the Executable stays as it was. With a `memory_limit`, in bytes or as "1 GB", a call
        that needs more for temporaries, results and copies of inputs is run in less memory, in
        parts or with values computed again, if it then fits; else it raises `MemoryLimitError`.

        `out` has for each result an array that it is written into, or None for a new one: NumPy's,
        torch's, or of whatever gives writeable memory through DLPack. These objects are returned.
        Dense memory that no input lies in is written by the program itself, and does not count for
        the `memory_limit`; else the result is copied there. A call that is ended leaves anything
        in it.
        """
        for array in arrays:
            if type(array) is not ndarray:
                refuse_masked(arrays, self._inputs)
                break
        try:
            limits = UNLIMITED
            if deadline is not None or cancellation is not None or memory_limit is not None:
                limits = RunLimits.from_now(deadline, cancellation, memory_limit)
            if out is None:
                if limits is UNLIMITED:
                    return self.run_checked(arrays)
                return self.checked(self._run_within(arrays, limits), arrays)
            places = destinations(out, self.notes.name, self._result_types(arrays))
            own = [*places, None] if self.notes.checks else places
            results = self._run_within(arrays, limits, own)
            return filled(out, places, self.checked(results, arrays))
        except RuntimeFailure as failure:
            raise self.in_words_of_model(failure, arrays) from None

    def _run_within(
        self, arrays: tuple[Any, ...], limits: RunLimits, out: Out | None = None
    ) -> tuple[Any, ...]:
        started = perf_counter_ns()
        results = self.executor.run_within(arrays, limits, out)
        if self._recorder is not None:
            self._recorder.add(arrays, perf_counter_ns() - started)
        return results

    def _result_types(self, arrays: Sequence[Any]) -> Sequence[TensorType]:
        """Of a call with these arrays."""
        return self.notes.results

    def _run_checked(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        results = self.executor.run(arrays)
        return results[:-1] if results[-1][0] < 0 else self.checked(results, arrays)

    def checked(self, results: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results of the caller, if the graph's checks have found nothing."""
        checks = self.notes.checks
        if not checks:
            return results
        if results[-1][0] >= 0:
            sizes = self.bindings.solve([shape_of(array) for array in arrays])
            raise offence_error(checks, results[-1], sizes)
        return results[:-1]

    def _run_recorded(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        assert self._recorder is not None
        started = perf_counter_ns()
        results = self.executor.run(arrays)
        self._recorder.add(arrays, perf_counter_ns() - started)
        return self.checked(results, arrays)

    def _run_unlimited(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return self.run_checked(arrays)
        except RuntimeFailure as failure:
            raise self.in_words_of_model(failure, arrays) from None

    def _call_with_tensors(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        results = self._run_unlimited(readable(arrays, self._inputs))
        if not any(map(is_torch, arrays)):
            return results
        return tuple(result if is_torch(result) else as_torch(result) for result in results)

    def steps(self, *arrays: Any) -> Steps:
        """One call, a step at a time, with the values that each step computed. What the generator
        returns are the results.

        for step in executable.steps(x, y):
            print(step.name, step.nanoseconds, [value.mean() for value in step.values])
        """
        given = readable(arrays, self._inputs)
        try:
            return self.checked((yield from self.executor.steps(given)), given)
        except RuntimeFailure as failure:
            raise self.in_words_of_model(failure, given) from None

    def trace(self, path: str | PathLike[str], *arrays: Any) -> None:
        """Makes one call, and writes a file that ui.perfetto.dev shows: which thread did which
        tasks when. Calls that are not traced pay nothing for it."""
        sizes = self.bindings.solve([shape_of(array) for array in arrays])
        binding = {symbol.name: size for symbol, size in sizes.items()}
        if self.capabilities.executor == "native":
            _, tasks = traced(lambda: self(*arrays))
            write_trace(path, task_events(tasks, binding))
        else:
            write_trace(path, step_events(self.steps(*arrays), binding))

    def in_words_of_model(self, failure: RuntimeFailure, arrays: Sequence[object]) -> AnyshapeError:
        if isinstance(failure, MemoryRefusedError):
            return self.executor.beyond_limit(failure)
        if isinstance(failure, OutputUnfitError):
            return unfit(failure, self.notes.outputs)
        return in_words_of_model(failure, self.notes, arrays)

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, targets: Iterable[str] = ()) -> None:
        """Writes a file that `anyshape.load` runs without compiling, in a process that has neither
        torch nor onnx nor LLVM. What no file can hold is refused by name.

        Its code is for this very CPU, or for the `targets` that are named: "x86-64-v4",
        "x86-64-v3", "x86-64", "aarch64", and "native" for this CPU. The graph is compiled for each;
        loading takes the best that a machine runs.
        """
        write_file(path, self.saved(targets))

    def saved(
        self, targets: Iterable[str] = (), more: Mapping[str, object] | None = None
    ) -> list[Bytes]:
        """The parts of that file; `more`, in JSON, is what its manifest has beside."""
        return saved_parts(self, targets, lambda record, _: record, more)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the file that it would be saved in."""
        return from_saved, (b"".join(self.saved()),)

    @property
    def isa(self) -> str:
        """The instruction set of its kernels; empty if it has none."""
        return next((kernel.isa for kernel in self.kernels), "")

    def record(self, blobs: Blobs) -> ExecutableRecord:
        """The same as a part of a larger file."""
        seen = self.observed().as_json(), self.profile().as_json()
        return executable_record(self.notes, self.executor, self._explained(), seen, blobs)

    # --- level 2 ------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes whose sizes a call may choose."""
        return self.bindings.axes

    def specialize(self, *, memory_limit: int | str | None = None, **axes: int) -> Specialization:
        """Level 2 for a binding, made now if it is new: each axis that no fact gives. With a
        `memory_limit`, in bytes or as "1 GB", as a call within that limit has it; the usual one if
        no such call can be."""
        limit = None if memory_limit is None else byte_count("memory_limit", memory_limit)
        return self.executor.specialize(axes, limit)

    @overload
    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: Literal[False] = False
    ) -> tuple[Specialization, ...]: ...

    @overload
    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: Literal[True]
    ) -> BackgroundSpecialization: ...

    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: bool = False
    ) -> tuple[Specialization, ...] | BackgroundSpecialization:
        """The bindings that calls will have, ahead of time; in the `background`, while calls go
        on, with a handle to wait for them, watch or cancel them."""
        bindings = _mappings(bindings)
        if background:
            return BackgroundSpecialization(self.executor.specialize, bindings)
        return tuple(self.executor.specialize(binding) for binding in bindings)

    # --- memory -------------------------------------------------------------------------------

    def reserve(self, **axes: int) -> None:
        """Takes and touches the memory that one call at a time at this binding needs: the arena and
        its results. Calls up to that size then wait for no memory, until `trim()`. What depends on
        sizes that a host node computes cannot be reserved."""
        self.executor.reserve(axes)

    def largest(self, axis: str, *, memory: int | str, **axes: int) -> int:
        """The largest size of `axis` at which a call needs no more than `memory`, in bytes or as
        "2 GiB", for temporaries and results; `axes` are the sizes of the others.

        The next size that the model takes needs more. Raises `MemoryLimitError` if none fits.
        """
        limit = byte_count("memory", memory)
        declared = {each.name: each for each in self.axes}
        if axis not in declared:
            raise BindingNamesError([], [axis], tuple(declared))
        if axis in axes:
            raise InputError(axis, "has a size, and is asked for one", f"leave out {axis}=")
        return Largest(self.source.name, self.executor, declared[axis], axes, limit).size()

    def trim(self) -> None:
        """Gives back what is idle: arenas and specializations of this Executable, and what the
        process keeps for results to come. Calls that are running keep what they have."""
        self.executor.trim()
        trim_process()

    # --- reports ------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """What its executor is able to do."""
        return self.executor.capabilities

    def metrics(self) -> Metrics:
        """Counters of calls and of the cache of specializations."""
        return self.executor.metrics()

    def observed(self) -> ObservedSizes:
        """The sizes that calls have had, by axis, the most frequent first: of the bindings that are
        kept, so nothing is done for it at a call. Compiled again with `likely=` these sizes, which
        may be kept as text (`as_json`, `ObservedSizes.from_json`), the
        model is arranged for them."""
        return likely_sizes(self.executor.bindings_seen())

    def profile_calls(self, *, on: bool = True) -> None:
        """From now on calls are counted and timed by their sizes, in a sketch of bounded size:
        `profile` shows it, `strategies` uses it, `save` keeps it. A call takes about a microsecond
        more."""
        check_switch("on", on)
        self._earlier, self._recorder = self.profile(), CallRecorder() if on else None
        plain = self._run_checked if self.notes.checks else self.executor.run
        self.run_checked = self._run_recorded if on else plain

    def profile(self) -> CallProfile:
        """The bindings of calls since `profile_calls`, and of those before it was saved, the most
        frequent first."""
        if self._recorder is None:
            return self._earlier
        return self._earlier.merged(self._recorder.profile(self.bindings))

    def continue_profile(self, earlier: CallProfile) -> None:
        """What an earlier process has seen counts too."""
        self._earlier = self._earlier.merged(earlier)

    def estimate(self, **axes: int) -> Estimate:
        """What level 2 expects a call at this binding to take: seconds on all threads, by the costs
        by which it chooses kernels, and bytes. Nothing is kept or run."""
        found = self.executor.estimate(axes)
        if found is None:
            self.specialize(**axes)  # says which fact forbids it
            raise AssertionError("a binding that facts forbid is refused")
        return found

    def strategies(self) -> Strategies:
        """How each axis varies, what else could be done, and what that would cost. See
        `anyshape.strategies`."""
        return strategies_of(self.notes, self.executor, self.profile())

    def memory(self) -> ExecutableMemory:
        """What is held between calls."""
        return self.executor.memory()

    def as_text(self) -> str:
        """The graph as it is run: every `kernel` is one step."""
        return self.notes.text

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        """What its steps run, each with its loops and the listings of its target; every variant,
        and those of regions too."""
        return self.executor.kernels

    def explain(self, **axes: int) -> Explanation:
        """What was done and refused, and why; at a binding, also its steps and its memory plan."""
        has_plan = axes or self._has_one_shape()
        plan = self.specialize(**axes).as_text() if has_plan else None
        return self._explained(plan, self._strategy_lines())

    def _explained(self, plan: str | None = None, strategies: tuple[str, ...] = ()) -> Explanation:
        """Without what runs level 2: files for other machines are explained, too."""
        return Explanation(
            self.notes.name,
            self.capabilities.executor,
            self.executor.threads,
            self.reports,
            self.executor.kernel_summary(),
            self._host_ops(),
            tuple(self.memory()._asdict().items()),
            plan,
            self.executor.decisions(),
            next((described(kernel.target) for kernel in self.kernels), ""),
            groups=self.notes.groups,
            strategies=strategies,
            affinity=affinity(),
        )

    def _strategy_lines(self) -> tuple[str, ...]:
        if not self.capabilities.specializations or not self.axes:
            return ()
        return tuple(str(self.strategies()).splitlines())

    def explain_html(
        self,
        path: str | PathLike[str],
        bindings: Iterable[Mapping[str, int]] = (),
        *,
        assembly: bool = True,
    ) -> None:
        """Writes a page for a browser, complete in one file: graphs before and after, facts,
        decisions, and at each binding its plan, memory and a measured call with random arrays.
        Kernels have their loops with them, and with `assembly` their instructions."""
        write_page(path, page_data(self, _mappings(bindings), assembly=assembly))

    def _has_one_shape(self) -> bool:
        return self.capabilities.specializations and not self.axes

    def _host_ops(self) -> tuple[tuple[str, int], ...]:
        """Ops that a compiled graph leaves to Python."""
        return tuple(sorted(self.notes.host_ops.items()))


def _mappings(bindings: object) -> list[Mapping[str, int]]:
    given = list(cast(Iterable[object], bindings)) if isinstance(bindings, Iterable) else [bindings]
    for binding in given:
        if not isinstance(binding, Mapping):
            problem = f"has a {type(binding).__name__} where a binding stands"
            raise InputError("bindings", problem, "pass a list of dicts: [{'batch': 8}]")
    return cast(list[Mapping[str, int]], given)
