"""One Executable for several programs: a call is run by the program of its case.

A model whose code branches on sizes has a program for each case. Which one a call takes is decided
by a selector before anything else; the program then checks its own facts, the case among them, so
that nothing but an error could come of a wrong choice. Cases in which the model itself raises have
no program: they are refused in its words.

Programs may differ in all but their inputs: in steps, in memory, in how many results there are and
of which types. Whoever needs to know which one it was asks `run_case`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from time import perf_counter_ns
from typing import Any

from numpy import ndarray

from anyshape.base.errors import AnyshapeError, RefusedCaseError, UncapturedCaseError
from anyshape.execute.cases import Cases, NativeSelector, Selector
from anyshape.execute.executable import Executable
from anyshape.execute.executor import ExecutableMemory, Out, Steps, memory_together
from anyshape.execute.kernel_view import KernelView
from anyshape.execute.link import LinkedConstant
from anyshape.execute.notes import CompiledNotes, GraphNotes
from anyshape.execute.record_program import facts_text, place_record, selector_record, sizes_record
from anyshape.execute.specialization import Specialization
from anyshape.execute.tensors import as_torch, is_torch, readable, shape_of
from anyshape.ir.rewrite import Decision
from anyshape.ir.types import Array, TensorType
from anyshape.observe.explain import Explanation, KernelSummary
from anyshape.runtime.failures import MemoryRefusedError, RuntimeFailure
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.runtime.program import Estimate, Metrics
from anyshape.saved.container import Blobs
from anyshape.saved.records import CaseRecord, CasesRecord
from anyshape.sym import Facts, Symbol


class BranchExecutor:
    """The executors of several programs. The first cases are theirs, in order; the others have no
    program."""

    def __init__(
        self, cases: Cases, executables: Sequence[Executable], selector: NativeSelector | None
    ) -> None:
        first = executables[0]
        self.cases = cases
        self.executables = tuple(executables)
        self.selector = selector
        self.select: Selector = selector.program.first_word if selector else cases.number_of
        self.capabilities = first.capabilities
        self.threads = first.executor.threads
        self._name = first.notes.name
        self._runs = tuple(executable.run_checked for executable in executables)

    def run(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        return self.run_case(arrays)[1]

    def run_case(self, arrays: Sequence[Any]) -> tuple[int, tuple[Array, ...]]:
        """The number of the program that ran, and its results."""
        number = self.select(arrays)
        if number >= len(self._runs):
            raise self._no_program(number, self.cases.bindings.solve(list(map(shape_of, arrays))))
        try:
            return number, self._runs[number](arrays)
        except RuntimeFailure as failure:
            raise self.executables[number].in_words_of_model(failure, arrays) from None

    def run_within(
        self, arrays: Sequence[Any], limits: RunLimits, out: Out | None = None
    ) -> tuple[Array, ...]:
        if limits is UNLIMITED and out is None:
            return self.run(arrays)
        taken = self.taken_by(arrays)
        own = [*out, None] if out is not None and taken.notes.checks else out
        try:
            return taken.checked(taken.executor.run_within(arrays, limits, own), arrays)
        except RuntimeFailure as failure:
            raise taken.in_words_of_model(failure, arrays) from None

    def steps(self, arrays: Sequence[Any]) -> Steps:
        taken = self.taken_by(arrays)
        try:
            return taken.checked((yield from taken.executor.steps(arrays)), arrays)
        except RuntimeFailure as failure:
            raise taken.in_words_of_model(failure, arrays) from None

    # --- cases --------------------------------------------------------------------------------

    def taken_by(self, arrays: Sequence[Any]) -> Executable:
        """What a call with these arrays runs."""
        number = self.select(arrays)
        if number < len(self.executables):
            return self.executables[number]
        raise self._no_program(number, self.cases.bindings.solve(list(map(shape_of, arrays))))

    def _taken_at(self, sizes: Mapping[str, int]) -> tuple[Executable, dict[str, int]]:
        """What runs at a binding, with the sizes of the axes that it has: a case may have numbers
        in place of some."""
        binding = self.cases.binding(sizes)
        number = self.cases.number_at(binding)
        if number >= len(self.executables):
            raise self._no_program(number, binding)
        taken = self.executables[number]
        names = {axis.name for axis in taken.axes}
        return taken, {name: size for name, size in sizes.items() if name in names}

    def _no_program(self, number: int, sizes: Mapping[Symbol, int]) -> AnyshapeError:
        """Why no program is for these sizes."""
        given = ", ".join(f"axis {symbol} = {size}" for symbol, size in sizes.items())
        if number < len(self.cases.all):
            case = self.cases.all[number]
            return RefusedCaseError(self._name, given, str(case), case.problem, case.location)
        known = self.cases.all[: len(self.executables)]
        return UncapturedCaseError(self._name, given, [str(case) for case in known])

    # --- as the program at a binding ----------------------------------------------------------

    def specialize(self, sizes: Mapping[str, int], limit: int | None = None) -> Specialization:
        taken, own = self._taken_at(sizes)
        return taken.executor.specialize(own, limit)

    def planned_bytes(self, sizes: Mapping[str, int], limit: int | None = None) -> int | None:
        taken, own = self._taken_at(sizes)
        return taken.executor.planned_bytes(own, limit)

    def estimate(self, sizes: Mapping[str, int]) -> Estimate | None:
        taken, own = self._taken_at(sizes)
        return taken.executor.estimate(own)

    def reserve(self, sizes: Mapping[str, int]) -> None:
        taken, own = self._taken_at(sizes)
        taken.executor.reserve(own)

    def beyond_limit(self, failure: MemoryRefusedError) -> AnyshapeError:
        """Programs have told theirs."""
        return failure

    # --- of all programs ----------------------------------------------------------------------

    def trim(self) -> None:
        for executable in self.executables:
            executable.executor.trim()

    def bindings_seen(self) -> Sequence[Mapping[str, int]]:
        return [each for exe in self.executables for each in exe.executor.bindings_seen()]

    def metrics(self) -> Metrics:
        every = (executable.metrics() for executable in self.executables)
        return Metrics(*map(sum, zip(*every, strict=True)))

    def memory(self) -> ExecutableMemory:
        """Weights that programs share are held once."""
        return memory_together([executable.executor for executable in self.executables])

    @property
    def weights(self) -> Mapping[int, int]:
        every = (executable.executor.weights for executable in self.executables)
        return {at: size for weights in every for at, size in weights.items()}

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return tuple(kernel for each in self.executables for kernel in each.kernels)

    def kernel_summary(self) -> KernelSummary:
        """A kernel that two programs share is counted twice."""
        every = (astuple(each.executor.kernel_summary()) for each in self.executables)
        return KernelSummary(*map(sum, zip(*every, strict=True)))

    @property
    def constants(self) -> Sequence[LinkedConstant]:
        return [constant for each in self.executables for constant in each.executor.constants]

    def record(self, name: str, blobs: Blobs) -> CasesRecord:
        executables = tuple(each.record(blobs) for each in self.executables)
        assert self.selector is not None, "programs of this machine are told apart by one"
        plan = self.cases.bindings
        cases = tuple(
            CaseRecord(facts_text(each.facts), each.problem, place_record(each.location))
            for each in self.cases.all
        )
        description, code = self.selector.program.description, self.selector.code
        select = selector_record(description, code, plan, name, blobs)
        sizes = sizes_record(plan, Facts(plan.axes, plan.facts), frozenset())
        return CasesRecord(cases, sizes, select, executables)

    def decisions(self) -> tuple[Decision, ...]:
        return tuple(d for each in self.executables for d in each.executor.decisions())


class BranchedExecutable(Executable):
    """An Executable of several programs. It takes the same arrays whichever runs them."""

    def __init__(self, executor: BranchExecutor, notes: GraphNotes | None = None) -> None:
        super().__init__(notes or _notes(executor), executor)
        self.executor: BranchExecutor = executor

    def call_case(self, arrays: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
        """As a call, with the number of the program that ran."""
        for array in arrays:
            if type(array) is not ndarray:
                return self._call_case_with_tensors(arrays)
        return self._run_case(arrays)

    def _call_case_with_tensors(self, arrays: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
        number, results = self._run_case(readable(arrays, self._inputs))
        if not any(map(is_torch, arrays)):
            return number, results
        return number, tuple(each if is_torch(each) else as_torch(each) for each in results)

    def _run_case(self, arrays: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
        started = perf_counter_ns()
        try:
            number, results = self.executor.run_case(arrays)
        except RuntimeFailure as failure:
            raise self.in_words_of_model(failure, arrays) from None
        if self._recorder is not None:
            self._recorder.add(arrays, perf_counter_ns() - started)
        return number, results

    def as_text(self) -> str:
        """The graphs as they are run, each behind its case."""
        cases = zip(self.executor.cases.all, self.executor.executables, strict=False)
        return "\n\n".join(f"# where {case}\n{each.as_text()}" for case, each in cases)

    def explain(self, **axes: int) -> Explanation:
        return replace(super().explain(**axes), branches=tuple(self._branches()))

    def _branches(self) -> list[str]:
        """A line for each case."""
        programs = len(self.executor.executables)
        return [
            f"{number if number < programs else 'refused'}: {case}"
            + (f": {case.problem}" if case.problem else "")
            for number, case in enumerate(self.executor.cases.all)
        ]

    def _result_types(self, arrays: Sequence[Any]) -> Sequence[TensorType]:
        return self.executor.taken_by(arrays)._result_types(arrays)

    def _host_ops(self) -> tuple[tuple[str, int], ...]:
        counts: Counter[str] = Counter()
        for executable in self.executor.executables:
            counts.update(dict(executable._host_ops()))
        return tuple(sorted(counts.items()))


def _notes(executor: BranchExecutor) -> GraphNotes:
    """As those of the first program, with what was done to all."""
    first = executor.executables[0]
    reports = [report for each in executor.executables for report in each.reports]
    source = first.source.without_checks()  # programs make their own
    return CompiledNotes(source, first.graph, reports, executor.cases.bindings)
