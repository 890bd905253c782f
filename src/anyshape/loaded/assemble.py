"""Executables from records: the loaded programs, with all that executors say of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from anyshape.base.errors import CapabilityError
from anyshape.base.options import Options
from anyshape.codegen.target import Origins, Target
from anyshape.dynamic.buckets import PaddedGraph, padded_axes
from anyshape.execute.branches import BranchedExecutable, BranchExecutor
from anyshape.execute.call_profile import CallProfile
from anyshape.execute.cases import Case, Cases, NativeSelector
from anyshape.execute.course import CoursePlan
from anyshape.execute.course_calls import NativeCourse
from anyshape.execute.executable import Executable
from anyshape.execute.executor import Executor, RunCounter
from anyshape.execute.host import HostExecutor
from anyshape.execute.link import LinkedFunction, LinkedProgram
from anyshape.execute.native import NativeExecutor
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.execute.regions import HostStep, RegionPlan, SegmentStep
from anyshape.execute.static_axes import static_ranges
from anyshape.execute.target import target_for
from anyshape.ir.interpret import Interpreter
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Locations
from anyshape.ir.text.parser import parse
from anyshape.level2.words import Words
from anyshape.loaded.notes import SavedGraphNotes, SavedProgramNotes
from anyshape.loaded.programs import FileCode
from anyshape.loaded.read_texts import facts_of, place_of, plan_of, symbols_of
from anyshape.program import with_addresses
from anyshape.saved.records import (
    OWN,
    CaseRecord,
    CasesRecord,
    CourseRecord,
    ExecutableRecord,
    Function,
    HostRecord,
    PaddedRecord,
    ProgramRecord,
)


def executable_of(record: ExecutableRecord, code: FileCode) -> Executable:
    """An Executable of the program that the file has."""
    executable = _assembled(SavedGraphNotes(record, code), _executor_of(record, code))
    executable.continue_profile(CallProfile.from_json(record.profile))
    return executable


def _assembled(notes: SavedGraphNotes, executor: Executor) -> Executable:
    if isinstance(executor, BranchExecutor):
        return BranchedExecutable(executor, notes)
    if isinstance(executor, NativeExecutor) and any(a.static for a in executor.notes.bindings.axes):
        executor.take_static_memory(static_ranges(executor.notes.bindings.axes))
    return Executable(notes, executor)


def _executor_of(record: ExecutableRecord, code: FileCode) -> Executor:
    if not isinstance(record.executor, PaddedRecord):
        return _executor(record.executor, code)
    source = parse(code.file.text(record.source))
    masked = parse(code.file.text(record.executor.masked))
    inner = _executor(record.executor.executor, code)
    return PaddingExecutor(inner, PaddedGraph(source, masked, padded_axes(source)))


def _executor(record: ProgramRecord | CourseRecord | CasesRecord, code: FileCode) -> Executor:
    match record:
        case ProgramRecord():
            return _native(record, code)
        case CourseRecord():
            return LoadedCourse(record, code)
        case CasesRecord():
            return _branches(record, code)


# --- one program ----------------------------------------------------------------------------------


def _native(record: ProgramRecord, code: FileCode) -> NativeExecutor:
    functions = tuple(_function(each, code) for each in record.kernels)
    level_2 = code.code(record.bind.blob)
    pieces = {level_2, *(function.code for function in functions if function.code)}
    linked = LinkedProgram(
        code.program(record),
        Words(),
        (),
        sum(piece.mapped_bytes for piece in pieces),
        Origins(disk=len(pieces)),
        _target(code),
        functions,
        level_2,
        (),
        code.options(record),
    )
    return NativeExecutor(SavedProgramNotes(record, code), linked)


def _target(code: FileCode) -> Target:
    """What its kernels were compiled for: this machine, maybe with fewer instructions."""
    return target_for(Options(isa=code.target.isa, target="native"))


def _function(function: Function, code: FileCode) -> LinkedFunction:
    return LinkedFunction(None if function.blob == OWN else code.code(function.blob), function.name)


# --- cases ----------------------------------------------------------------------------------------


def _branches(record: CasesRecord, code: FileCode) -> BranchExecutor:
    executables = [executable_of(each, code) for each in record.executables]
    cases = Cases(plan_of(record.sizes), tuple(map(case_of, record.cases)))
    selector = NativeSelector(code.program(record.selector), code.code(record.selector.bind.blob))
    return BranchExecutor(cases, executables, selector)


def case_of(record: CaseRecord) -> Case:
    return Case(facts_of(record.facts).facts, record.problem, place_of(record.place))


# --- courses --------------------------------------------------------------------------------------


class LoadedCourse(HostExecutor):
    """A course from a file. It has no plan to be walked step by step."""

    def __init__(self, record: CourseRecord, code: FileCode) -> None:
        programs = tuple(_native(each, code) for each in record.programs)
        self.plan = _segments(record, programs)
        entry, *_ = self.plan.steps
        assert isinstance(entry, SegmentStep)
        self.entry = entry.executor
        self.capabilities = self.entry.capabilities
        self.threads = self.entry.threads
        self._interpreter = Interpreter(WeightStore(), Locations())
        self._counter = RunCounter()
        self.course = NativeCourse(_course(record, programs, code), self._run_host)

    def steps(self, arrays: Sequence[Any]) -> NoReturn:
        problem = "has no steps of a loaded graph that branches, loops or has late sizes"
        raise CapabilityError("native", problem, "load it with recompile=True")


def _segments(record: CourseRecord, programs: Sequence[NativeExecutor]) -> RegionPlan:
    """What reports ask of a plan: its segments."""
    steps = tuple(
        SegmentStep(programs[each.program], frozenset(each.axes), (), (), ())
        for each in record.segments
    )
    return RegionPlan((), (), (), steps, 0, (), ())


def _course(
    record: CourseRecord, programs: tuple[NativeExecutor, ...], code: FileCode
) -> CoursePlan:
    arrays = tuple(map(code.array, record.constants))
    addresses = [array.ctypes.data for array in arrays]
    return CoursePlan(
        with_addresses(record.description, addresses.__getitem__),
        programs,
        {each.program: facts_of(each.facts).facts for each in record.checks},
        {each.program: symbols_of(each.symbols) for each in record.told},
        tuple(map(_host, record.hosts)),
        tuple((each.op, place_of(each.place)) for each in record.bearers),
        arrays,
    )


def _host(record: HostRecord) -> HostStep:
    """A node that Python computes: the only one of its graph."""
    (node,) = {value.node for value in parse(record.graph).results}
    return HostStep(node, (), (), (), facts_of(record.facts).facts)
