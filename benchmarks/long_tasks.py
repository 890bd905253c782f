"""One long row: the sum, the running total and the sort of many f32, on two threads.

    python -m benchmarks.long_tasks [--elements 30000000] [--before PYTHON] [--threads N]

Each engine runs in a process of its own and they take turns; a figure is the best of several
rounds, in milliseconds. `--before` is a Python that has another version of anyshape.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, CALLS = 3, 3
CASES = ("sum", "cumsum", "sort")

SORT = """
graph sorted(x: f32[n]) -> (f32[n], i64[n]) {
  %0, %1 = sort(x) {axis=0}
  return %0, %1
}
"""

Run = Callable[[Any], object]

# Engines import what only their process has.
# ruff: noqa: PLC0415


def ours(case: str, threads: int) -> Run:
    import anyshape as ash
    from anyshape.ir import parse

    if case == "sort":
        return ash.compile(parse(SORT), threads=threads)

    def walked(x: Any) -> Any:
        return ash.sum(x) if case == "sum" else ash.cumsum(x, axis=0)

    walked.__annotations__ = {"x": ash.f32["n"]}
    return ash.compile(ash.jit(walked), threads=threads)


def torch_ops(case: str, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    ops: dict[str, Callable[[Any], object]] = {
        "sum": torch.sum,
        "cumsum": lambda x: torch.cumsum(x, 0),
        "sort": lambda x: torch.sort(x, stable=True),
    }
    return lambda x: ops[case](torch.as_tensor(x))


ENGINES = {"ours": ours, "torch": torch_ops}


def measure(engine: str, case: str, elements: int, threads: int) -> float:
    """Seconds of the quickest call."""
    x = np.random.default_rng(0).random(elements, np.float32)
    run = ENGINES[engine](case, threads)
    run(x)
    times: list[float] = []
    for _ in range(CALLS):
        start = time.perf_counter()
        run(x)
        times.append(time.perf_counter() - start)
    return min(times)


def in_process(python: str, *arguments: object) -> float:
    command = [python, str(Path(__file__).resolve()), "--one", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=30_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--before", help="a Python with another version of anyshape")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(measure(*json.loads(options.one)))
        return
    columns = {"before": (options.before, "ours")} if options.before else {}
    columns |= {"ours": (sys.executable, "ours"), "torch": (sys.executable, "torch")}
    print(f"{options.elements:,} f32, ms", *(f"{name:>10}" for name in columns))
    for case in CASES:
        sizes = case, options.elements, options.threads
        best = dict.fromkeys(columns, float("inf"))
        for _ in range(ROUNDS):
            for name, (python, engine) in columns.items():
                best[name] = min(best[name], in_process(python, engine, *sizes))
        print(f"{case:20}", *(f"{1e3 * seconds:10.1f}" for seconds in best.values()))


if __name__ == "__main__":
    main()
