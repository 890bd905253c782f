"""What compiling takes: does it grow with the graph, and where does the time go?

    python -m benchmarks.compile_time [--shapes chain,wide] [--sizes 100,1000,5000] [--limit 60]
    python -m benchmarks.compile_time --stages [--layers 12] [--width 768] [--repeat 3]
    python -m benchmarks.compile_time --modules [--repeat 3]

The first table has a row for each shape of graph and each number of nodes: milliseconds per node of
tracing and compiling, and their ratio to the row of the fewest nodes, which should not exceed 1.5;
CPU seconds include compile workers; level 2 of a new binding, and a call. A row is a process of its
own with an empty cache; one that takes longer than the limit is ended. Imports and the measuring of
the machine's costs are paid before.

The second shows the stages of one model: tracing, passes, lowering, the schedule, level 2, machine
code, linking. Each row is one process that has done nothing before: the first compiles into an
empty cache, the others find everything there. Seconds are of the CPU, in this process and in its
compile workers, so that a busy machine disturbs them little; the last column is the wall clock's.

The third has modules of torch, from the module to something that runs: seconds of the wall clock
before level 1, which should not exceed 1.5 plain exports by torch, and of level 1 with an empty
cache of kernels and with a full one. Of several processes each, the quickest counts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.capturing import Phases, export_seconds, phases
from benchmarks.harness.engines import traced
from benchmarks.harness.growth import Cell, cell, cpu_seconds
from benchmarks.harness.model import TorchModel
from benchmarks.harness.process import in_fresh_process
from benchmarks.workloads import Encoder, Gpt2, MiniLm
from benchmarks.workloads.growth import SHAPES

# ruff: noqa: PLC0415 - imports are part of what is measured

Seconds = dict[str, float]

MOST_GROWTH = 1.5
MOST_SECONDS = 20.0
"""Of the wall clock, for 5,000 nodes."""


# --- growth ---------------------------------------------------------------------------------------

COLUMNS = ("nodes", "trace s", "wall s", "CPU s", "ms/node", "ratio", "level 2 µs", "call µs")


def growth(shapes: Sequence[str], sizes: Sequence[int], limit: float) -> None:
    """Prints one row after the other."""
    print(f"{'shape':15}", *(f"{name:>10}" for name in COLUMNS))
    for shape in shapes:
        first: Cell | None = None
        for size in sizes:
            made = measured(shape, size, limit)
            print(f"{shape:15}", growth_row(size, made, first, limit), flush=True)
            first = first or made


def measured(shape: str, size: int, limit: float) -> Cell | None:
    """None where it takes longer than the limit."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            return in_fresh_process(cell, shape, size, folder, limit=limit)
        except TimeoutError:
            return None


def growth_row(size: int, made: Cell | None, first: Cell | None, limit: float) -> str:
    """The cells of a row; `!` marks what exceeds its goal."""
    if made is None:
        return f"{size:10} {f'> {limit:.0f} s':>10}"
    ratio = made.per_node / first.per_node if first else 1.0
    slow = "!" if made.trace + made.wall > MOST_SECONDS else " "
    steep = "!" if ratio > MOST_GROWTH else " "
    return (
        f"{made.nodes:10} {made.trace:10.2f} {made.wall:9.2f}{slow} {made.cpu:10.2f} "
        f"{1e3 * made.per_node:10.3f} {ratio:9.2f}{steep} "
        f"{1e6 * made.level_2:10.1f} {1e6 * made.call:10.1f}"
    )


# --- stages ---------------------------------------------------------------------------------------


class Stopwatch:
    """CPU seconds by stage, of this process and of the children that have ended."""

    def __init__(self) -> None:
        self.seconds: Seconds = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = cpu_seconds()
        yield
        self.seconds[name] = cpu_seconds() - start


def level_1(model: Encoder, folder: str) -> Seconds:
    """The stages of compiling a model, with a cache in a folder."""
    watch, started = Stopwatch(), time.perf_counter()
    with watch.stage("import"):
        from anyshape.codegen.cache import ObjectCache
        from anyshape.codegen.target import Setup
        from anyshape.execute.link import link, unlinked_program
        from anyshape.execute.target import target_for
        from anyshape.families.lower_graph import lower_graph
        from anyshape.ir.inputs import entry_plan
        from anyshape.passes import PASSES, run_passes
        from anyshape.plan.schedule import schedule
        from anyshape.runtime import load_code, machine
    with watch.stage("trace"):
        graph = traced(model)
    target = target_for()
    setup = Setup(load_code, machine().cpus, ObjectCache(Path(folder)))
    generator = target.generator(setup)
    with watch.stage("passes"):
        graph = run_passes(graph, PASSES).graph
    with watch.stage("lower"):
        lowered = lower_graph(graph, target.tiling)
    with watch.stage("schedule"):
        plan = schedule(lowered)
    with watch.stage("level 2"):
        unlinked = unlinked_program(plan, entry_plan(graph))
    with watch.stage("code"):
        code = generator.code(unlinked.sources)
    with watch.stage("link"):
        link(unlinked, code, target)
    distinct = len(set(code.codes)) - 1  # level 2 is no kernel
    wall = time.perf_counter() - started
    return {
        **watch.seconds,
        "LLVM": float("llvmlite" in sys.modules),
        "kernels": distinct,
        "wall": wall,
    }


def stages(model: Encoder, repeat: int) -> None:
    """Prints one row per process."""
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(repeat):
            seconds_by_stage = in_fresh_process(level_1, model, folder)
            if turn == 0:
                print("       ", *(f"{name:>9}" for name in seconds_by_stage))
            label = "cold" if turn == 0 else "cached"
            row = (f"{seconds:9.3f}" for seconds in seconds_by_stage.values())
            print(f"{label:7}", *row, flush=True)


# --- modules --------------------------------------------------------------------------------------

MODULES = {"MiniLM": MiniLm(), "GPT-2 small, past": Gpt2()}
MOST_EXPORTS = 1.5
MOST_COLD = 4.0  # seconds of level 1
MOST_OVER_EXPORT = 0.5  # seconds, all in all, where kernels are cached


def modules(repeat: int) -> None:
    """Prints one row per module; `!` marks what exceeds its goal."""
    names = ("export", "capture", "ratio", "cold", "cached", "over export")
    print(f"{'module':18}", *(f"{name:>12}" for name in names))
    for name, model in MODULES.items():
        print(f"{name:18}", module_row(model, repeat), flush=True)


def module_row(model: TorchModel, repeat: int) -> str:
    """All rows of one turn are taken one after the other, so that they meet the same machine."""
    exports: list[float] = []
    cold: list[Phases] = []
    cached: list[Phases] = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            exports.append(in_fresh_process(export_seconds, model))
            cold.append(in_fresh_process(phases, model, folder))
            cached.append(in_fresh_process(phases, model, folder))
    export = min(exports)
    capture = min(phase.capture for phase in cold + cached)
    level_1 = min(phase.level_1 for phase in cold)
    over = min(phase.total for phase in cached) - export
    return (
        f"{export:12.2f} {capture:12.2f} {_marked(capture / export, MOST_EXPORTS)} "
        f"{_marked(level_1, MOST_COLD)} {min(phase.level_1 for phase in cached):12.2f} "
        f"{_marked(over, MOST_OVER_EXPORT)}"
    )


def _marked(value: float, most: float) -> str:
    return f"{value:11.2f}{'!' if value > most else ' '}"


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", default=",".join(SHAPES), help="of graphs")
    parser.add_argument("--sizes", default="100,1000,5000", help="numbers of nodes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each row")
    parser.add_argument("--stages", action="store_true", help="of compiling an encoder")
    parser.add_argument("--modules", action="store_true", help="of torch: capture and level 1")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.modules:
        modules(arguments.repeat)
    elif arguments.stages:
        stages(Encoder(arguments.layers, arguments.width, heads=12), arguments.repeat)
    else:
        sizes = [int(size) for size in arguments.sizes.split(",")]
        growth(arguments.shapes.split(","), sizes, arguments.limit)


if __name__ == "__main__":
    main()
