"""Timings of a model at several bindings: cold, first of each binding, steady."""

from __future__ import annotations

import random
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from anyshape.cli.models import Model
from anyshape.cli.sizes import Given, Sizes
from anyshape.ir.types import Array

Call = Callable[[Sequence[Array]], Any]
MICROSECONDS = 1e6


@dataclass(frozen=True)
class Measured:
    """Microseconds of calls. `first` is that of the process, `new` the median of the first calls
    at each binding, the rest are of calls at bindings that were seen."""

    engine: str
    calls: int
    first: float
    new: float
    p50: float
    p90: float
    p99: float
    calls_per_second: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def bindings_of(model: Model, given: Given, count: int, seed: int) -> list[dict[str, int]]:
    """Of `count` random bindings of the ranges that are given the different ones; one, if there are
    none."""
    ranges = given.by_axis(model.shapes())
    base = model.binding(given)
    if all(size.low == size.high for size in ranges.values()):
        return [base]
    chance = random.Random(seed)
    drawn = [{**base, **_drawn(ranges, chance)} for _ in range(count)]
    return list({tuple(binding.items()): binding for binding in drawn}.values())


def _drawn(ranges: Mapping[str, Sizes], chance: random.Random) -> dict[str, int]:
    return {name: chance.randint(size.low, size.high) for name, size in ranges.items()}


def measured(engine: str, call: Call, inputs: Sequence[Sequence[Array]], repeat: int) -> Measured:
    """Each input once, and then all of them again and again."""
    new = [_seconds(call, arrays) for arrays in inputs]
    steady = np.array(list(_steady(call, inputs, repeat)))
    p50, p90, p99 = np.percentile(steady, [50, 90, 99]) * MICROSECONDS
    median = float(np.median(new)) * MICROSECONDS
    rate = len(steady) / float(steady.sum())
    spread = float(p50), float(p90), float(p99)
    return Measured(engine, len(steady), new[0] * MICROSECONDS, median, *spread, rate)


def _steady(call: Call, inputs: Sequence[Sequence[Array]], repeat: int) -> Iterator[float]:
    for number in range(repeat):
        yield _seconds(call, inputs[number % len(inputs)])


def _seconds(call: Call, arrays: Sequence[Array]) -> float:
    start = perf_counter()
    call(arrays)
    return perf_counter() - start


def peak_bytes() -> int:
    """The most memory that this process has had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
