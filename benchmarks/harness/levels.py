"""What level 1 and level 2 take: ours alone, each figure from a process that did nothing before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.engines import executable, traced
from benchmarks.harness.model import Array, Binding, Model

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it


def level_1_seconds(model: Model, folder: str) -> float:
    """All of level 1 from a graph on, with a cache of kernels in a folder."""
    import anyshape as ash
    from anyshape.base.options import Options

    graph = traced(model)
    start = time.perf_counter()
    ash.compile(graph, options=Options(cache_dir=Path(folder)))
    return time.perf_counter() - start


def level_2_seconds(model: Model, chosen: Sequence[Binding]) -> list[float]:
    """Level 2 of each binding, as the runtime counts it: all of it, without Python."""
    compiled = executable(model)
    spent: list[float] = []
    for binding in chosen:
        before = compiled.metrics().specialize_ns
        compiled.specialize(**binding)
        spent.append((compiled.metrics().specialize_ns - before) * 1e-9)
    return spent


def passes(model: Model, chosen: Sequence[Binding]) -> tuple[list[float], list[float]]:
    """Seconds of a call at each binding, when it is new and when it is not.

    Each is the median of five fresh Executables, so that a disturbed one does not decide. A sixth,
    before them, keeps threads and clock busy until both have settled.
    """
    graph = traced(model)
    inputs = [model.inputs(binding) for binding in chosen]
    _, *runs = [_two_passes(graph, inputs) for _ in range(6)]
    first, second = (zip(*(run[n] for run in runs), strict=True) for n in (0, 1))
    return [median(times) for times in first], [median(times) for times in second]


def _two_passes(graph: Any, inputs: Sequence[tuple[Array, ...]]) -> tuple[list[float], list[float]]:
    import anyshape as ash

    compiled = ash.compile(graph)
    spent: tuple[list[float], list[float]] = ([], [])
    for times in spent:
        for arrays in inputs:
            start = time.perf_counter()
            compiled(*arrays)
            times.append(time.perf_counter() - start)
    return spent
