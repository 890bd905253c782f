"""Calls that end in the middle of loops: by limits, deadlines, cancellation, impossible sizes.

A call gives what NumPy gives, bit by bit, or raises the error of its fault. Afterwards the memory
of results is what it was before, and the executable is as good as new.
"""

import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.harness.report import Row, Table, at_most
from benchmarks.harness.session import Session

import anyshape as ash
from anyshape.base.errors import (
    CancelledError,
    DeadlineError,
    LateSizeError,
    MemoryLimitError,
)
from anyshape.runtime.program import output_pool

# ruff: noqa: F821 - names of axes

CALLS, QUICK_CALLS = 100_000, 2_000
MOST_ELEMENTS, MOST_ROUNDS = 60, 25
GROWTH_LIMIT = 64 << 20  # bytes, of the whole process
FAULTS = (CancelledError, DeadlineError, LateSizeError, MemoryLimitError)


@ash.jit
def gathered(x: ash.f32["n"], rounds: ash.i64[()], last: ash.i64[()]):
    """A cache that a loop fills with what data select, in one of two branches; and some numbers."""

    def step(number: Any, cache: Any) -> Any:
        chosen = x[x > number % 5]
        added = ash.cond(number % 2 == 0, lambda: chosen * 2, lambda: chosen[::-1] - number)
        return number + 1, ash.concat([cache, added])

    _, cache = ash.while_loop(lambda i, cache: i < rounds, step, rounds * 0, x[:0])
    return cache, ash.arange(last.item()) * 3


def expected(x: Any, rounds: int, last: int) -> tuple[Any, Any]:
    parts = [x[:0]]
    for number in range(rounds):
        chosen = x[x > number % 5]
        parts.append(chosen * 2 if number % 2 == 0 else chosen[::-1] - np.float32(number))
    return np.concatenate(parts), np.arange(last) * 3


@dataclass
class Tally:
    """How calls ended."""

    right: int = 0
    wrong: int = 0
    raised: Counter[str] = field(default_factory=Counter[str])
    kept: int = 0  # bytes of results that nobody holds and the pool thinks are used
    growth: int = 0  # bytes


def call_with_faults(calls: int, seed: int = 0) -> Tally:
    compiled, rng, tally = ash.compile(gathered, strict=True), np.random.default_rng(seed), Tally()
    used, resident = output_pool().used, 0
    for number in range(calls):
        if number == calls // 4:
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        one_call(compiled, rng, tally)
    tally.kept = output_pool().used - used
    tally.growth = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident)
    return tally


def one_call(compiled: ash.Executable, rng: np.random.Generator, tally: Tally) -> None:
    x = rng.integers(-9, 9, rng.integers(0, MOST_ELEMENTS)).astype(np.float32)
    rounds, last = int(rng.integers(0, MOST_ROUNDS)), int(rng.integers(-1, 9))
    try:
        found = compiled.run((x, np.array(rounds), np.array(last)), **limits(rng))
    except FAULTS as error:
        tally.raised[type(error).__name__] += 1
    else:
        right = all(map(np.array_equal, found, expected(x, rounds, last)))
        tally.right += right
        tally.wrong += not right


def limits(rng: np.random.Generator) -> dict[str, Any]:
    """None, or one that may end the call somewhere."""
    kind = rng.integers(0, 5)
    if kind == 0:
        return {"deadline": float(rng.uniform(0, 60e-6))}
    if kind == 1:
        return {"memory_limit": int(rng.integers(0, 8_000))}
    if kind == 2:
        stop = ash.Cancellation()
        if rng.integers(0, 2):
            stop.cancel()
        return {"cancellation": stop}
    return {}


def faults(session: Session, title: str) -> None:
    tally = call_with_faults(QUICK_CALLS if session.quick else CALLS)
    ended = ", ".join(f"{count:,} {name}" for name, count in sorted(tally.raised.items()))
    growth = f"{tally.growth / 2**20:.1f} MiB"
    rows = (
        Row("calls", (f"{tally.right:,} right",), f"{tally.wrong} wrong", "0", tally.wrong == 0),
        Row("ended", (ended,), f"{sum(tally.raised.values()):,}"),
        Row("memory of results kept", ("",), f"{tally.kept} B", "0", tally.kept == 0),
        Row("growth of the process", ("",), growth, "≤ 64 MiB",
            at_most(tally.growth, GROWTH_LIMIT)),
    )  # fmt: skip
    session.show(Table(title, ("",), rows, "figure"))
