"""Calls of a course: what Python computes in the middle of one, and what one refuses, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.base.errors import AnyshapeError, LateSizeError, VerifyError
from anyshape.execute.course import CoursePlan, called_sizes, plan_course
from anyshape.execute.memory_limits import arrays_of_numpy
from anyshape.execute.regions import HostStep, RegionPlan
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import check_facts
from anyshape.ir.types import Array
from anyshape.runtime.course import Course
from anyshape.runtime.failures import MemoryRefusedError, RuntimeFailure, UnfitSizeError
from anyshape.runtime.limits import UNLIMITED, RunLimits
from anyshape.sym import Symbol

RunHost = Callable[[HostStep, Sequence[Array], dict[Symbol, int]], tuple[Array, ...]]
"""What a host node computes from its operands, at the sizes known around it."""


class NativeCourse:
    """A plan as a course of the runtime. Holds nothing of a call."""

    def __init__(self, plan: CoursePlan, run_host: RunHost) -> None:
        self.plan = plan
        self._run_host = run_host
        self._sizes = tuple(map(called_sizes, plan.hosts))
        programs = [executor.linked.program for executor in plan.programs]
        self._course = Course(plan.description, programs, self._call_back, plan.constants)

    @staticmethod
    def of(graph: Graph, plan: RegionPlan, run_host: RunHost) -> NativeCourse | None:
        """None for programs that are not the runtime's own."""
        course = plan_course(graph, plan)
        return NativeCourse(course, run_host) if course else None

    def run(self, arrays: Sequence[Any], limits: RunLimits) -> tuple[Array, ...]:
        try:
            if limits is UNLIMITED:
                return self._course.run(arrays)
            return self._course.run_within(arrays, limits)
        except UnfitSizeError as unfit:
            op, place = self.plan.bearers[unfit.number]
            raise LateSizeError(op, unfit.size, unfit.rows, place) from None
        except RuntimeFailure as failure:
            if failure.segment is None:  # of the entry: its caller says it better
                raise
            raise self._in_words(failure, *failure.segment) from None

    def _call_back(
        self, number: int, operands: list[Array], sizes: tuple[int, ...]
    ) -> Sequence[Array]:
        known = dict(zip(self._sizes[number], sizes, strict=True))
        with arrays_of_numpy():
            results = self._run_host(self.plan.hosts[number], operands, known)
            return [_dense(np.asarray(result)) for result in results]

    def _in_words(
        self, failure: RuntimeFailure, program: int, dims: tuple[int, ...]
    ) -> AnyshapeError:
        """What a program other than the entry met."""
        executor = self.plan.programs[program]
        if isinstance(failure, MemoryRefusedError):
            return executor.beyond_limit(failure)
        if program in self.plan.facts:
            sizes = dict(zip(self.plan.symbols[program], dims[::2], strict=True))
            try:
                check_facts(self.plan.facts[program], sizes)
            except AnyshapeError as error:
                return error
        inputs = executor.linked.program.description.inputs
        shapes = list(_shapes([input.rank for input in inputs], dims))
        return VerifyError(f"a segment on {shapes}", failure.message())

    def reserve(self, arena: int) -> None:
        self._course.reserve(arena)

    def trim(self) -> None:
        self._course.trim()

    @property
    def idle_arena_bytes(self) -> int:
        return self._course.idle_arena_bytes


def _dense(array: Array) -> Array:
    """Without gaps, and with elements where the machine wants them."""
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy()


def _shapes(ranks: Sequence[int], dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for rank in ranks:
        yield dims[:rank]
        dims = dims[rank:]
