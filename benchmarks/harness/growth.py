"""How the time of compiling grows with a graph: one cell of the table, in a process of its own."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.workloads.growth import SHAPES, Growing

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it

BINDINGS = 5
CALLS = 5


@dataclass(frozen=True)
class Cell:
    """What one graph takes, in seconds. `trace` is not part of `wall` and `cpu`, which compile."""

    nodes: int
    trace: float
    wall: float
    cpu: float
    level_2: float
    call: float

    @property
    def per_node(self) -> float:
        return (self.trace + self.wall) / max(self.nodes, 1)


def cell(shape: str, nodes: int, folder: str) -> Cell:
    """Compiles one graph with a cache of kernels in a folder that is empty so far.

    What a process pays once, such as imports and measuring the costs of the machine, a small graph
    has paid before.
    """
    import anyshape as ash
    from anyshape.base.options import Options

    options = Options(cache_dir=Path(folder))
    ash.compile(SHAPES["layers"](4).graph(), options=options)
    made = SHAPES[shape](nodes)
    start = time.perf_counter()
    graph = made.graph()
    trace = time.perf_counter() - start
    start, cpu = time.perf_counter(), cpu_seconds()
    compiled = ash.compile(graph, options=options)
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    count = len(graph.nodes()) - len(graph.inputs)
    return Cell(count, trace, wall, cpu, _level_2(compiled, made), _call(compiled, made))


def cpu_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


def _level_2(compiled: object, made: Growing) -> float:
    """The median over bindings that were never seen, as the runtime counts it."""
    from anyshape import Executable

    assert isinstance(compiled, Executable)
    spent: list[float] = []
    for turn in range(1, BINDINGS + 1):
        before = compiled.metrics().specialize_ns
        compiled.specialize(**made.sizes(turn))
        spent.append((compiled.metrics().specialize_ns - before) * 1e-9)
    return median(spent)


def _call(compiled: object, made: Growing) -> float:
    """The quickest of a few calls at small sizes."""
    from anyshape import Executable

    assert isinstance(compiled, Executable)
    arrays = made.arrays(made.sizes(1))
    spent: list[float] = []
    for _ in range(CALLS):
        start = time.perf_counter()
        compiled(*arrays)
        spent.append(time.perf_counter() - start)
    return min(spent)
