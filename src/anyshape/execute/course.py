"""A divided graph as one native run: its plan told to the runtime as a course.

`regions.py` says what happens in which order; here it gets the runtime's numbers. Segments,
branches, loops and sizes that data decide run without Python. Other host nodes are called back, in
the middle of the run.

Slots are renumbered: behind the parameters of a region stand the sizes that it is told. Those are
the sizes that its steps need and none of its values shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import numpy as np

from anyshape.base.location import Location
from anyshape.execute.native import NativeExecutor
from anyshape.execute.regions import HostStep, RegionPlan, SegmentStep, SizeProgram
from anyshape.ir.graph import Graph
from anyshape.ir.opdef import AnyOp
from anyshape.ir.types import Array, TensorType, Type
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.ops.known import COND, LATE_SIZE, PREFIX, RESHAPE, SCAN, WHILE
from anyshape.program import (
    WHOLE,
    Branch,
    CallHost,
    Constant,
    CourseDescription,
    CourseRegion,
    CourseStep,
    CutRows,
    Loop,
    LoopOverRows,
    Operand,
    RegionCall,
    RunProgram,
    TakeShape,
    TellSize,
)
from anyshape.sym import Fact, Symbol

TOKEN_DTYPE = np.dtype(np.bool_)


@dataclass(frozen=True)
class CoursePlan:
    """A course, and what its numbers stand for."""

    description: CourseDescription
    programs: tuple[NativeExecutor, ...]
    facts: dict[int, tuple[Fact, ...]]  # of the programs that check
    symbols: dict[int, tuple[Symbol, ...]]  # that programs of sizes are told, in order
    hosts: tuple[HostStep, ...]
    bearers: tuple[tuple[str, Location | None], ...]  # ops of sizes that are numbers in the graph
    constants: tuple[Array, ...]  # which hold the memory that the description points to


def plan_course(graph: Graph, plan: RegionPlan) -> CoursePlan | None:
    """The course of a plan; None if something of it is no program of the runtime's own."""
    executors = [segment.executor for segment in plan.segments]
    if not all(_is_plain(executor) for executor in executors):
        return None
    return _Courses(graph).of(plan)


def _is_plain(executor: object) -> bool:
    return isinstance(executor, NativeExecutor) and executor.linked.target.is_machine_code


def told_sizes(plan: RegionPlan) -> tuple[Symbol, ...]:
    """Sizes from outside of a region that nothing in it shows."""
    shown = {symbol for symbol, _, _ in plan.sizes}
    needed = set(_symbols_of(plan.check))
    for step in plan.steps:
        if isinstance(step, SegmentStep):
            needed |= set(step.sizes)
            continue
        shown |= {late.symbol for late in step.node.late}
        needed |= {*_symbols_of(step.check), *_symbols_of(step.shapes)}
        needed |= set(called_sizes(step)) if _is_called_back(step) else set[Symbol]()
        needed |= {symbol for inner in step.regions for symbol in told_sizes(inner)}
    return tuple(sorted(needed - shown, key=str))


def _symbols_of(program: SizeProgram | None) -> tuple[Symbol, ...]:
    return program.symbols if program else ()


def called_sizes(step: HostStep) -> tuple[Symbol, ...]:
    """The sizes that a host node's reference is told, in order."""
    born = {late.symbol for late in step.node.late}
    return tuple(sorted(step.node.all_symbols - born, key=str))


def _is_called_back(step: HostStep) -> bool:
    return step.node.op not in _STEPS


@dataclass
class _Courses:
    """What all regions of one course share."""

    graph: Graph
    regions: list[CourseRegion | None] = field(default_factory=list[CourseRegion | None])
    programs: list[NativeExecutor] = field(default_factory=list[NativeExecutor])
    facts: dict[int, tuple[Fact, ...]] = field(default_factory=dict[int, tuple[Fact, ...]])
    symbols: dict[int, tuple[Symbol, ...]] = field(default_factory=dict[int, tuple[Symbol, ...]])
    hosts: list[HostStep] = field(default_factory=list[HostStep])
    bearers: list[tuple[str, Location | None]] = field(
        default_factory=list[tuple[str, Location | None]]
    )
    constants: list[Array] = field(default_factory=list[Array])

    def of(self, plan: RegionPlan) -> CoursePlan:
        entry, *_ = plan.steps
        assert isinstance(entry, SegmentStep)
        program = self.program(entry.executor)
        region = _Region(self, plan, self.programs[program].symbols, 0)
        region.describe()
        typed = zip(plan.results, self.graph.results, strict=True)
        results = [(s, value.type) for s, value in typed if isinstance(value.type, TensorType)]
        description = CourseDescription(
            cast(tuple[CourseRegion, ...], tuple(self.regions)),
            tuple(region.slots[slot] for slot in _outputs(entry)),
            tuple(region.slots[slot] for slot, _ in results),
            tuple(type_.dtype.numpy for _, type_ in results),
        )
        return CoursePlan(
            description,
            tuple(self.programs),
            self.facts,
            self.symbols,
            tuple(self.hosts),
            tuple(self.bearers),
            tuple(self.constants),
        )

    def program(self, executor: object) -> int:
        assert isinstance(executor, NativeExecutor)
        self.programs.append(executor)
        return len(self.programs) - 1


def _outputs(step: SegmentStep) -> tuple[int, ...]:
    """The slots of a program's outputs: a result that it gives twice is one of them."""
    firsts = dict[int, int]()
    for number, slot in zip(_numbers(step), step.results, strict=True):
        firsts.setdefault(number, slot)
    return tuple(firsts[number] for number in range(len(firsts)))


def _numbers(step: SegmentStep) -> Sequence[int]:
    """The output of each result."""
    assert isinstance(step.executor, NativeExecutor)
    return step.executor.output_numbers or range(len(step.results))


class _Region:
    """One region; `passing` of its parameters are given anew whenever it runs."""

    def __init__(
        self, course: _Courses, plan: RegionPlan, told: Sequence[Symbol], passing: int
    ) -> None:
        self.course = course
        self.plan = plan
        self.told = told
        self.passing = passing
        self.number = len(course.regions)
        course.regions.append(None)
        self.slots = self._slots()
        self.count = len(plan.types) + len(told)
        self.shown = {symbol: self._at(param, axis) for symbol, param, axis in plan.sizes}
        first = self.params - len(told)
        self.shown |= {symbol: Operand(first + i, 0) for i, symbol in enumerate(told)}

    # --- slots --------------------------------------------------------------------------------

    def _slots(self) -> list[int]:
        """Of each slot of the plan its number here: parameters, sizes, tokens of the graph, and
        the others. What a program gives twice has one."""
        count = len(self.plan.types) - self.plan.computed - len(self.plan.constants)
        given = range(count)
        if self._is_graph:  # whose tokens nobody passes
            given = [s for s in given if isinstance(self.plan.types[s], TensorType)]
        self.params = len(given) + len(self.told)
        order = [*given, *(s for s in range(len(self.plan.types)) if s not in set(given))]
        slots = [0] * len(order)
        for number, slot in enumerate(order):
            slots[slot] = number if number < len(given) else number + len(self.told)
        for step in self.plan.steps:
            if isinstance(step, SegmentStep):
                firsts = _outputs(step)
                for number, slot in zip(_numbers(step), step.results, strict=True):
                    slots[slot] = slots[firsts[number]]
        return slots

    @property
    def _is_graph(self) -> bool:
        return self.number == 0

    def _new_slot(self) -> int:
        self.count += 1
        return self.count - 1

    def _at(self, slot: int, axis: int) -> Operand:
        return Operand(self.slots[slot], axis)

    def _here(self, slots: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.slots[slot] for slot in slots)

    def _whole(self, slots: Iterable[int]) -> tuple[Operand, ...]:
        return tuple(map(Operand, self._here(slots)))

    def _sizes(self, symbols: Iterable[Symbol]) -> tuple[Operand, ...]:
        return tuple(self.shown[symbol] for symbol in symbols)

    # --- the region ---------------------------------------------------------------------------

    def describe(self) -> int:
        plan = self.plan
        steps = list(self._steps())
        items = [1] * self.count
        for slot, type_ in enumerate(plan.types):
            items[self.slots[slot]] = _dtype(type_).itemsize
        results = self._here(plan.results)
        constants = tuple(self._constants())
        kept = {*results, *(constant.slot for constant in constants)}
        kept |= set(range(self.passing, self.params))
        self.course.regions[self.number] = CourseRegion(
            self.params,
            self.count,
            tuple(items),
            constants,
            tuple(_with_endings(steps, kept)),
            results,
        )
        return self.number

    def _constants(self) -> Iterator[Constant]:
        first = len(self.plan.types) - self.plan.computed - len(self.plan.constants)
        arrays = dict(enumerate(self.plan.constants, first))
        if self._is_graph:
            tokens = (s for s in range(first) if not isinstance(self.plan.types[s], TensorType))
            arrays |= {slot: np.zeros((), TOKEN_DTYPE) for slot in tokens}
        for slot, array in arrays.items():
            dense = np.asarray(array, order="C")
            dense = dense if dense.flags.c_contiguous else dense.copy()
            self.course.constants.append(dense)
            yield Constant(self.slots[slot], dense.ctypes.data, dense.shape)

    def _steps(self) -> Iterator[CourseStep]:
        steps = self.plan.steps[1:] if self._is_graph else self.plan.steps
        if self.plan.check:
            yield self._check(self.plan.check, self.plan.facts)
        for step in steps:
            if isinstance(step, SegmentStep):
                yield self._segment(step)
                continue
            yield from self._host(step)
            self.shown |= dict(self._borne(step))
            if step.check:
                yield self._check(step.check, step.facts)

    def _borne(self, step: HostStep) -> Iterator[tuple[Symbol, Operand]]:
        """Late sizes, each with a result that shows it."""
        for slot, type_ in zip(step.results, step.node.types, strict=True):
            for axis, dim in enumerate(type_.shape if isinstance(type_, TensorType) else ()):
                if dim.symbol is not None and dim.symbol not in self.shown:
                    yield dim.symbol, self._at(slot, axis)

    def _segment(self, step: SegmentStep) -> RunProgram:
        operands = (*self._whole(step.operands), *self._sizes(step.sizes))
        program = self.course.program(step.executor)
        return RunProgram(program, operands, self._here(_outputs(step)))

    def _check(self, check: SizeProgram, facts: tuple[Fact, ...]) -> RunProgram:
        run = self._of_sizes(check)
        self.course.facts[run.program] = facts
        return run

    def _of_sizes(self, program: SizeProgram) -> RunProgram:
        number = self.course.program(program.executor)
        self.course.symbols[number] = program.symbols
        outputs = self.course.programs[number].linked.program.description.outputs
        results = tuple(self._new_slot() for _ in outputs)
        return RunProgram(number, self._sizes(program.symbols), results)

    def _shapes(self, step: HostStep) -> tuple[RunProgram, list[int]]:
        """What tells the shapes of a step, and the slot of each: equal ones are told once."""
        assert step.shapes is not None
        run = self._of_sizes(step.shapes)
        numbers = self.course.programs[run.program].output_numbers
        return run, [run.results[number] for number in numbers or range(len(run.results))]

    # --- host nodes ---------------------------------------------------------------------------

    def _host(self, step: HostStep) -> Iterator[CourseStep]:
        describe = _STEPS.get(step.node.op)
        yield from describe(self, step) if describe else [self._call_back(step)]

    def _call_back(self, step: HostStep) -> CallHost:
        number = len(self.course.hosts)
        self.course.hosts.append(step)
        dtypes = tuple(_dtype(self.plan.types[slot]) for slot in step.operands)
        sizes = self._sizes(called_sizes(step))
        return CallHost(number, self._here(step.operands), dtypes, sizes, self._here(step.results))

    def _call(self, plan: RegionPlan, operands: Sequence[int], passing: int) -> RegionCall:
        told = told_sizes(plan)
        number = _Region(self.course, plan, told, passing).describe()
        return RegionCall(number, (*self._whole(operands), *self._sizes(told)))

    def branch(self, step: HostStep) -> Iterator[CourseStep]:
        predicate, *captures = step.operands
        then, otherwise = (self._call(plan, captures, len(captures)) for plan in step.regions)
        here = self.slots[predicate]
        yield Branch(here, then, otherwise, self._here(step.results))

    def loop(self, step: HostStep) -> Iterator[CourseStep]:
        carried = cast(WhileAttrs, step.node.attrs).carried
        calls = (self._call(plan, step.operands, carried) for plan in step.regions)
        condition, body = calls
        yield Loop(condition, body, carried, self._here(step.results))

    def scan(self, step: HostStep) -> Iterator[CourseStep]:
        attrs = cast(ScanAttrs, step.node.attrs)
        told, (length, *shapes) = self._shapes(step)
        yield told
        body = self._call(step.regions[0], step.operands, attrs.carried + attrs.scanned)
        yield LoopOverRows(
            body,
            attrs.carried,
            attrs.scanned,
            length,
            tuple(shapes),
            told.program,
            attrs.reverse,
            self._here(step.results),
        )

    def alias(self, step: HostStep) -> Iterator[CourseStep]:
        told, (shape,) = self._shapes(step)
        yield told
        (value,), (result,) = self._here(step.operands), self._here(step.results)
        yield TakeShape(value, shape, result)

    def prefix(self, step: HostStep) -> Iterator[CourseStep]:
        count, *values = self._here(step.operands)
        yield CutRows(count, tuple(values), self._here(step.results), self._borne_by(step))

    def size(self, step: HostStep) -> Iterator[CourseStep]:
        (value,), (result,) = self._here(step.operands), self._here(step.results)
        yield TellSize(value, result, self._borne_by(step))

    def _borne_by(self, step: HostStep) -> int:
        place = self.course.graph.locations.of(step.node)
        self.course.bearers.append((step.node.op.name, place))
        return len(self.course.bearers) - 1


_STEPS: Final[Mapping[AnyOp, Callable[[_Region, HostStep], Iterator[CourseStep]]]] = {
    RESHAPE: _Region.alias,
    COND: _Region.branch,
    WHILE: _Region.loop,
    SCAN: _Region.scan,
    PREFIX: _Region.prefix,
    LATE_SIZE: _Region.size,
}
"""How the runtime does a host node by itself."""


def _dtype(type_: Type) -> np.dtype[Any]:
    return type_.dtype.numpy if isinstance(type_, TensorType) else TOKEN_DTYPE


def _with_endings(steps: Sequence[CourseStep], kept: Set[int]) -> Iterator[CourseStep]:
    """Each step with the slots whose last use it is."""
    uses = [{*_used(step), *_given(step)} for step in steps]
    last = {slot: number for number, used in enumerate(uses) for slot in used}
    for number, (step, used) in enumerate(zip(steps, uses, strict=True)):
        over = (slot for slot in used - kept if last[slot] == number)
        yield replace(step, over=tuple(sorted(over)))


def _used(step: CourseStep) -> Iterator[int]:
    """Slots whose memory a step reads: sizes stay when memory goes."""
    match step:
        case RunProgram():
            yield from _memory(step.operands)
        case CutRows():
            yield from (step.count, *step.values)
        case TellSize() | TakeShape():
            yield step.value
        case Branch():
            yield step.predicate
            yield from (*_memory(step.then.operands), *_memory(step.otherwise.operands))
        case Loop():
            yield from (*_memory(step.condition.operands), *_memory(step.body.operands))
        case LoopOverRows():
            yield from _memory(step.body.operands)
        case CallHost():
            yield from step.operands


def _memory(operands: Sequence[Operand]) -> Iterator[int]:
    return (operand.slot for operand in operands if operand.axis == WHOLE)


def _given(step: CourseStep) -> tuple[int, ...]:
    return (step.result,) if isinstance(step, TellSize | TakeShape) else step.results
