"""Attention against torch's scaled_dot_product_attention.

    python -m benchmarks.attention [--peers PYTHON] [--threads N] [--seconds S]

f32, 12 heads of width 64. Each engine runs in a process of its own and they take turns; a figure is
the best of several rounds. `--peers` is a Python that has torch. With one thread the time is that
of the CPU, which is steadier on a busy machine.
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

HEADS, WIDTH = 12, 64
CASES = (  # batch, queries, keys, causal
    (1, 128, 128, False), (1, 512, 512, False), (1, 2048, 2048, False), (4, 128, 128, False),
    (4, 512, 512, False), (1, 512, 512, True), (1, 2048, 2048, True), (1, 16, 16, False),
    (1, 1, 512, False), (1, 1, 2048, False), (4, 1, 512, False), (4, 1, 2048, False),
    (1, 8, 512, False),
)  # fmt: skip
ROUNDS = 3

Arrays = tuple[Any, Any, Any]
Run = Callable[..., object]

# Engines import what only their process has.
# ruff: noqa: PLC0415


def ours(causal: bool, threads: int) -> Run:
    import anyshape as ash

    def attend(q: Any, k: Any, v: Any) -> Any:
        return ash.attention(q, k, v, causal=causal)

    keys = ash.f32["batch", HEADS, "keys", WIDTH]
    queries = ash.f32["batch", HEADS, "queries", WIDTH]
    attend.__annotations__ = {"q": queries, "k": keys, "v": keys}
    return ash.compile(ash.jit(attend), threads=threads)


def torch_sdpa(causal: bool, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)

    def attend(*arrays: Any) -> Any:
        q, k, v = map(torch.from_numpy, arrays)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return attend


ENGINES = {"ours": ours, "torch": torch_sdpa}


def operands(batch: int, queries: int, keys: int) -> Arrays:
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.normal(size=(batch, HEADS, length, WIDTH)).astype(np.float32)
        for length in (queries, keys, keys)
    )
    return q, k, v


def best(run: Run, arrays: Arrays, seconds: float, clock: Callable[[], float]) -> float:
    run(*arrays)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = clock()
        run(*arrays)
        times.append(clock() - start)
    return min(times)


def serve(engine: str, threads: int) -> None:
    """Answers lines of [batch, queries, keys, causal, seconds] with the best time."""
    runs = {causal: ENGINES[engine](causal, threads) for causal in (False, True)}
    clock = time.thread_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        batch, queries, keys, causal, seconds = json.loads(line)
        found = best(runs[causal], operands(batch, queries, keys), seconds, clock)
        print(json.dumps(found), flush=True)


class Engine:
    """A process that measures when asked."""

    def __init__(self, name: str, python: str, threads: int) -> None:
        command = [python, str(Path(__file__)), "--serve", name, "--threads", str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, *question: float) -> float:
        from benchmarks.harness.answers import answer_of

        assert self._process.stdin
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return float(json.loads(answer_of(self._process)))


def compare(peers: str | None, threads: int, seconds: float) -> None:
    engines = [Engine("ours", sys.executable, threads)]
    if peers:
        engines.append(Engine("torch", peers, threads))
    print(f"{'batch queries keys':>20} {'':6} {'ours µs':>10} {'torch µs':>10} ratio GFLOP/s")
    for batch, queries, keys, causal in CASES:
        question = (batch, queries, keys, causal, seconds)
        rounds = [[engine.seconds(*question) for engine in engines] for _ in range(ROUNDS)]
        times = [min(of_engine) for of_engine in zip(*rounds, strict=True)]
        flops = 4 * batch * HEADS * queries * keys * WIDTH / (2 if causal else 1)
        shown = "".join(f"{t * 1e6:11.1f}" for t in times)
        ratio = f"{times[0] / times[-1]:.2f}" if peers else "-"
        kind = "causal" if causal else ""
        print(f"{batch:8}{queries:6}{keys:6} {kind:6}{shown} {ratio} {flops / times[0] / 1e9:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="a Python with torch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement")
    parser.add_argument("--serve", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
    else:
        compare(options.peers, options.threads, options.seconds)


if __name__ == "__main__":
    main()
