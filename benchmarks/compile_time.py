"""Where the time of level 1 goes: tracing, passes, lowering, emitting, LLVM, the disk.

    python -m benchmarks.compile_time [--layers 12] [--width 768] [--repeat 3]

A row is one process that has done nothing before: the first compiles into an empty cache, the
others find everything there. Seconds are of the CPU, in this process and in its compile workers,
so that a busy machine disturbs them little; the last column is the wall clock's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.engines import traced
from benchmarks.harness.process import in_fresh_process
from benchmarks.workloads import Encoder

# ruff: noqa: PLC0415 - imports are part of what is measured

Seconds = dict[str, float]


class Stopwatch:
    """CPU seconds by stage, of this process and of the children that have ended."""

    def __init__(self) -> None:
        self.seconds: Seconds = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = _cpu_seconds()
        yield
        self.seconds[name] = _cpu_seconds() - start


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def level_1(model: Encoder, folder: str) -> Seconds:
    """The stages of compiling a model, with a cache in a folder."""
    watch, started = Stopwatch(), time.perf_counter()
    with watch.stage("import"):
        from anyshape.codegen.cache import ObjectCache
        from anyshape.codegen.compiler import Compiler
        from anyshape.execute import PASSES
        from anyshape.execute.assemble import assemble
        from anyshape.execute.library import loaded_code
        from anyshape.execute.target import target_for
        from anyshape.ir.interpret import entry_plan
        from anyshape.passes import run_passes
        from anyshape.plan.schedule import schedule
        from anyshape.runtime import machine
    with watch.stage("trace"):
        graph = traced(model)
    target = target_for()
    compiler = Compiler(target, cpus=machine().cpus, cache=ObjectCache(Path(folder)))
    with watch.stage("passes"):
        graph = run_passes(graph, PASSES).graph
    with watch.stage("lower"):
        plan = schedule(graph, target.tiling)
    with watch.stage("code"):
        kernels = [way.variant.kernel for step in plan.steps for way in step.choices]
        kept = loaded_code(compiler, kernels)
    with watch.stage("assemble"):
        assemble(plan, entry_plan(graph), compiler)
    distinct = len(set(kept.codes))
    wall = time.perf_counter() - started
    return {
        **watch.seconds,
        "LLVM": float("llvmlite" in sys.modules),
        "kernels": distinct,
        "wall": wall,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    model = Encoder(layers=arguments.layers, width=arguments.width, heads=12)
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.repeat):
            found = in_fresh_process(level_1, model, folder)
            if turn == 0:
                print("       ", *(f"{name:>9}" for name in found))
            label = "cold" if turn == 0 else "cached"
            print(f"{label:7}", *(f"{seconds:9.3f}" for seconds in found.values()), flush=True)


if __name__ == "__main__":
    main()
