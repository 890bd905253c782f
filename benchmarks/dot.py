"""Matrix products with constant weights, against NumPy's BLAS, torch and onnxruntime.

    python -m benchmarks.dot [--peers PYTHON] [--seconds S]

One thread. Each engine runs in a process of its own and they take turns, the others idle; a figure
is the best of several rounds. `--peers` is a Python that has torch and onnxruntime; without it
NumPy is the only peer. Ours is the whole call of an Executable, NumPy arrays in and out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SHAPES = ((512, 512), (768, 768), (768, 3072), (500, 1000))  # depth, columns
ROWS = (1, 8, 16, 32, 128, 512, 1024)
GOALS = {1: 0.9, 8: 1.5, 16: 1.2, 32: 1.1, 128: 0.97, 512: 0.97, 1024: 0.97}
ROUNDS = 3

Run = Callable[[Any], object]


def weights(depth: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    w, bias = rng.normal(size=(depth, columns)), rng.normal(size=columns)
    return w.astype(np.float32), bias.astype(np.float32)


# --- engines: each makes a function of x; they import what only their process has -----------------
# ruff: noqa: PLC0415


def ours(depth: int, columns: int) -> Run:
    import anyshape as ash

    w, _ = weights(depth, columns)

    def product(x: Any) -> Any:
        return x @ w

    product.__annotations__ = {"x": ash.f32["rows", depth]}
    return ash.compile(ash.jit(product))


def ours_with_gelu(depth: int, columns: int) -> Run:
    import anyshape as ash

    w, bias = weights(depth, columns)

    def layer(x: Any) -> Any:
        return ash.gelu(x @ w + bias)

    layer.__annotations__ = {"x": ash.f32["rows", depth]}
    return ash.compile(ash.jit(layer))


def numpy_blas(depth: int, columns: int) -> Run:
    w, _ = weights(depth, columns)
    return lambda x: np.matmul(x, w)


def torch_product(depth: int, columns: int) -> Run:
    import torch

    torch.set_num_threads(1)
    w = torch.from_numpy(weights(depth, columns)[0])
    return lambda x: torch.from_numpy(x) @ w


def onnxruntime_product(depth: int, columns: int) -> Run:
    import onnxruntime as ort
    from onnx_bytes import matmul_model  # the peer's Python runs this file as a script

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = matmul_model(weights(depth, columns)[0])
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})


ENGINES = {
    "ours": ours,
    "ours+gelu": ours_with_gelu,
    "numpy": numpy_blas,
    "torch": torch_product,
    "onnxruntime": onnxruntime_product,
}
PEERS = ("torch", "onnxruntime")


# --- a process for each ---------------------------------------------------------------------------


def best(run: Run, x: Any, seconds: float) -> float:
    run(x)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run(x)
        times.append(time.perf_counter() - start)
    return min(times)


def serve(engine: str) -> None:
    """Answers lines of [depth, columns, rows, seconds] with the best time.

    All stay on the same CPU; that is also what makes our own runs single-threaded.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    runs: dict[tuple[int, int], Run] = {}
    for line in sys.stdin:
        depth, columns, rows, seconds = json.loads(line)
        if (depth, columns) not in runs:
            runs = {(depth, columns): ENGINES[engine](depth, columns)}
        x = np.random.default_rng(rows).normal(size=(rows, depth)).astype(np.float32)
        print(json.dumps(best(runs[depth, columns], x, seconds)), flush=True)


class Engine:
    """A process that measures when asked."""

    def __init__(self, name: str, python: str) -> None:
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [python, str(Path(__file__)), "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **one},
        )

    def seconds(self, *question: float) -> float:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return float(json.loads(self._process.stdout.readline()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="a Python with torch and onnxruntime")
    parser.add_argument("--seconds", type=float, default=0.15, help="for each figure and round")
    parser.add_argument("--serve", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    names = ["ours", "ours+gelu", "numpy", *(PEERS if options.peers else ())]
    engines = {n: Engine(n, options.peers if n in PEERS else sys.executable) for n in names}
    print("  depth columns rows  " + " ".join(f"{name:>11}" for name in names) + "   ratio  gelu")
    for depth, columns in SHAPES:
        for rows in ROWS:
            report(engines, depth, columns, rows, options.seconds)


def report(engines: dict[str, Engine], depth: int, columns: int, rows: int, seconds: float) -> None:
    """A line: GFLOP/s, the ratio to the best peer, and what bias and gelu add."""
    times = dict.fromkeys(engines, float("inf"))
    for _ in range(ROUNDS):
        for name, engine in engines.items():
            times[name] = min(times[name], engine.seconds(depth, columns, rows, seconds))
    rates = {name: 2e-9 * depth * columns * rows / t for name, t in times.items()}
    ratio = rates["ours"] / max(rate for name, rate in rates.items() if "ours" not in name)
    verdict = "" if ratio >= GOALS[rows] else f"  below {GOALS[rows]}"
    figures = " ".join(f"{rate:11.1f}" for rate in rates.values())
    gelu = times["ours+gelu"] / times["ours"] - 1
    where = f"{depth:7} {columns:7} {rows:4}"
    print(f"{where}  {figures}  {ratio:6.2f} {gelu:5.1%}{verdict}", flush=True)


if __name__ == "__main__":
    main()
