"""Threads under load: every result checked for minutes, and how long a call takes meanwhile.

python -m benchmarks.soak_threads [--seconds 600]   eight threads, random shapes, all checked
python -m benchmarks.soak_threads --latency         four callers of a small model against one
"""

import argparse
import threading
import time
from collections.abc import Callable

import numpy as np

import anyshape as ash

THREADS = 8
CALLERS = 4


TOKENS = ash.f32["batch", "seq", 32]
ROWS = ash.f32["n", 64]


@ash.jit
def encoder(x: TOKENS, w: ash.f32[32, 96], v: ash.f32[32, 32]):
    q, k, values = (part[:, None] for part in ash.split(x @ w, 3, axis=-1))
    h = x + ash.attention(q, k, values)[:, 0] @ v
    return ash.layer_norm(h).sum(axis=1), ash.softmax(h, axis=-1)


@ash.jit
def small(x: ROWS, w: ash.f32[64, 64]):
    return ash.softmax(ash.tanh(x @ w))


def on_threads(count: int, work: Callable[[int], None]) -> None:
    """Call work(number) on each thread; what one of them raises ends the process with a trace."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def soak(seconds: float) -> None:
    shared = ash.compile(encoder, deterministic=True)
    alone = ash.compile(encoder, deterministic=True, threads=1)
    until = time.monotonic() + seconds
    right = [0] * THREADS
    wrong = [0] * THREADS

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < until:
            batch, seq = (int(size) for size in rng.integers(0, 64, 2))
            shapes = (batch, seq, 32), (32, 96), (32, 32)
            given = [rng.random(shape, np.float32) / 4 for shape in shapes]
            pairs = zip(shared(*given), alone(*given), strict=True)
            same = all(np.array_equal(one, other) for one, other in pairs)
            (right if same else wrong)[number] += 1

    on_threads(THREADS, work)
    metrics = shared.metrics()
    print(f"{THREADS} threads, {seconds:g} s: {sum(right)} calls right, {sum(wrong)} wrong")
    print(f"fewest and most of one thread: {min(right)}, {max(right)}")
    print(f"{metrics.team_runs} of {metrics.runs} runs with the team")
    if sum(wrong):
        raise SystemExit(1)


def latency(calls: int = 20_000) -> None:
    """Microseconds of single calls: one caller alone, and several at once."""
    executable = ash.compile(small)
    rng = np.random.default_rng(0)
    x, w = rng.random((16, 64), np.float32), rng.random((64, 64), np.float32)
    times = np.zeros((CALLERS, calls))

    def work(number: int) -> None:
        for call in range(calls):
            start = time.perf_counter()
            executable(x, w)
            times[number, call] = time.perf_counter() - start

    work(0)
    alone = float(np.percentile(times[0], 50)) * 1e6
    on_threads(CALLERS, work)
    middle, late, worst = (float(np.percentile(times, p)) * 1e6 for p in (50, 99, 100))
    print(f"one caller: p50 {alone:.1f} µs")
    print(f"{CALLERS} callers: p50 {middle:.1f} µs, p99 {late:.1f} µs, worst {worst:.0f} µs")
    print(f"p99 of {CALLERS} over p50 of one: {late / alone:.2f} (goal: 3)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--latency", action="store_true")
    arguments = parser.parse_args()
    if arguments.latency:
        latency()
    else:
        soak(arguments.seconds)


if __name__ == "__main__":
    main()
