"""A course: several programs, and what happens between them, as one native run.

A graph whose sizes are born while it runs, or that branches and loops, is divided into programs. A
*course* says in which order they run. It is a tree of *regions*. A region has *slots*, which hold
values: first its parameters, then its constants, then what its steps compute. The first region is
the graph itself: its parameters are the inputs, and behind them the sizes that the first program
has solved, each told as a value of shape [size, 0], which has a size and no memory.

Like all of `program/`, these are frozen values that C++ reads by attribute: the same types are in
csrc/core/course_description.h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

WHOLE = -1


@dataclass(frozen=True, slots=True)
class Operand:
    """The value in a slot; with an `axis`, only the size of that axis, as a value of [size, 0]."""

    slot: int
    axis: int = WHOLE


@dataclass(frozen=True, slots=True)
class RegionCall:
    """A region by number, and what its parameters are given."""

    region: int
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """One program. Its outputs become the values of `results`."""

    program: int
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    over: tuple[int, ...] = ()  # slots whose memory nothing needs afterwards, in every step


@dataclass(frozen=True, slots=True)
class CutRows:
    """The first rows of each value, as many as the number in slot `count` says: no copies."""

    count: int
    values: tuple[int, ...]
    results: tuple[int, ...]
    number: int
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TellSize:
    """The number in slot `value` becomes a size: a value of [size, 0]."""

    value: int
    result: int
    number: int  # of what is told when it cannot be a size, as in CutRows
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TakeShape:
    """The value with other sizes, and as many elements: those of slot `shape`, without its last
    axis, which has none. So a program of sizes tells a shape."""

    value: int
    shape: int
    result: int
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """One of two regions, by the truth in slot `predicate`."""

    predicate: int
    then: RegionCall
    otherwise: RegionCall
    results: tuple[int, ...]
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """The body again and again, as long as the condition holds for the carried values, which are
    the first `carried` parameters of both regions."""

    condition: RegionCall
    body: RegionCall
    carried: int
    results: tuple[int, ...]
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopOverRows:
    """The body once for each row of the sequences, which are the `scanned` operands behind the
    `carried` ones. Slot `length` has as many rows as there are. The rows that the body gives are
    stacked in new memory, whose shapes are told by `shapes` as in `TakeShape`."""

    body: RegionCall
    carried: int
    scanned: int
    length: int
    shapes: tuple[int, ...]
    told_by: int  # the program that has told them, for the failure
    reverse: bool
    results: tuple[int, ...]  # the carried values, and what is stacked
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallHost:
    """What Python computes: function number `number`, with operands of `dtypes`, and sizes."""

    number: int
    operands: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    sizes: tuple[Operand, ...]
    results: tuple[int, ...]
    over: tuple[int, ...] = ()


CourseStep: TypeAlias = (
    RunProgram | CutRows | TellSize | TakeShape | Branch | Loop | LoopOverRows | CallHost
)


@dataclass(frozen=True, slots=True)
class Constant:
    """Memory that lives as long as the course."""

    slot: int
    address: int
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CourseRegion:
    """Slots, constants in some of them, steps, and the slots of the results with their dtypes."""

    params: int
    slots: int
    item_bytes: tuple[int, ...]  # of one element, by slot
    constants: tuple[Constant, ...]
    steps: tuple[CourseStep, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CourseDescription:
    """Region 0 is the graph; program 0 takes all its inputs, and runs before its steps: it checks
    the inputs, and fills the slots of `entered`."""

    regions: tuple[CourseRegion, ...]
    entered: tuple[int, ...]
    results: tuple[int, ...]  # those that callers see
    dtypes: tuple[np.dtype[Any], ...]  # of these results


def with_addresses(
    description: CourseDescription, address: Callable[[int], int]
) -> CourseDescription:
    """The same with other addresses of constants."""
    regions = (
        replace(each, constants=tuple(_moved(constant, address) for constant in each.constants))
        for each in description.regions
    )
    return replace(description, regions=tuple(regions))


def _moved(constant: Constant, address: Callable[[int], int]) -> Constant:
    return replace(constant, address=address(constant.address))
