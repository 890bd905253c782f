"""What a call of a small model takes while others call it too, and whether anyone starves.

A caller that holds Python's lock keeps it for up to `sys.getswitchinterval()` (5 ms), however short
its calls are: that is the worst case, and it is Python's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.report import Row, Table, at_least, at_most, microseconds, number
from benchmarks.harness.session import Session

import anyshape as ash

CALLERS = 4
SECONDS, QUICK_SECONDS = 10.0, 2.0
MOST_CALLS = 5_000_000  # that are remembered, of one caller
LATENCY_GOAL = 3.0  # p99 of several callers over p50 of one
FAIR_GOAL = 0.5  # fewest calls of a caller over its share

ROWS, TOKENS = ash.f32["n", 64], ash.f32["batch", "seq", 64]


@ash.jit
def product(x: ROWS, w: ash.f32[64, 64]):
    return ash.softmax(ash.tanh(x @ w))


@ash.jit
def attention(x: TOKENS, w: ash.f32[64, 192]):
    q, k, v = (part[:, None] for part in ash.split(x @ w, 3, axis=-1))
    return ash.layer_norm(x + ash.attention(q, k, v)[:, 0])


MODELS = {
    "product, 16 × 64": (product, (16, 64), (64, 64)),
    "attention, 4 × 16 × 64": (attention, (4, 16, 64), (64, 192)),
}
"""Functions with the shapes of their inputs. Only the first keeps Python's lock."""


@dataclass(frozen=True)
class Latency:
    """Seconds of single calls by all callers, at some percentiles, and the calls of each."""

    p50: float
    p99: float
    p999: float
    worst: float
    calls: tuple[int, ...]

    @property
    def fairness(self) -> float:
        return min(self.calls) * len(self.calls) / sum(self.calls)


def latency_of(model: str, callers: int, seconds: float) -> Latency:
    """In a process of its own: so many threads call for so long."""
    rng = np.random.default_rng(0)
    function, *shapes = MODELS[model]
    given = tuple(rng.random(shape, np.float32) / 8 for shape in shapes)
    executable = ash.compile(function)
    executable(*given)
    start, until = threading.Barrier(callers), time.perf_counter() + seconds
    times: list[list[float]] = [[] for _ in range(callers)]
    threads = [
        threading.Thread(target=_call, args=(executable, given, until, start, one)) for one in times
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary(times)


def _call(
    executable: Any, given: Any, until: float, start: threading.Barrier, times: list[float]
) -> None:
    clock = time.perf_counter
    start.wait()
    before = clock()
    while before < until and len(times) < MOST_CALLS:
        executable(*given)
        after = clock()
        times.append(after - before)
        before = after


def summary(times: Sequence[Sequence[float]]) -> Latency:
    together = np.concatenate([np.asarray(one) for one in times])
    p50, p99, p999, worst = (float(np.percentile(together, p)) for p in (50, 99, 99.9, 100))
    return Latency(p50, p99, p999, worst, tuple(len(one) for one in times))


def latency(session: Session, title: str) -> None:
    seconds = QUICK_SECONDS if session.quick else SECONDS
    rows: list[Row] = []
    with session.progress(title, 2 * len(MODELS)) as advance:
        for model in MODELS:
            advance(model)
            one = in_fresh_process(latency_of, model, 1, seconds)
            advance(f"{model}, {CALLERS} callers")
            many = in_fresh_process(latency_of, model, CALLERS, seconds)
            rows += _rows(model, one, many)
            session.record(f"latency: {model}", {"calls": many.calls})
    columns = ("p50", "p99", "p99.9", "worst")
    session.show(Table(f"{title}, µs", columns, tuple(rows), "figure"))


def _rows(model: str, one: Latency, many: Latency) -> list[Row]:
    ratio, fair = many.p99 / one.p50, many.fairness
    calls = f"calls of each: {min(many.calls):,} to {max(many.calls):,}"
    return [
        Row(f"{model}, one caller", _cells(one)),
        Row(f"{CALLERS} callers: p99 ÷ p50 of one", _cells(many), number(ratio),
            f"≤ {LATENCY_GOAL:g}", at_most(ratio, LATENCY_GOAL)),
        Row(f"{calls}; fewest ÷ share", ("",) * 4, number(fair), f"≥ {FAIR_GOAL}",
            at_least(fair, FAIR_GOAL)),
    ]  # fmt: skip


def _cells(found: Latency) -> tuple[str, ...]:
    return tuple(microseconds(value) for value in (found.p50, found.p99, found.p999, found.worst))
