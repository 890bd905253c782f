"""Eight threads on one Executable at random shapes, for minutes, with every result checked.

Meanwhile its memory is trimmed and bindings are prepared in the background, again and again. Right
means: bit by bit what one thread computes alone. That one is held to the interpreter beforehand.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.harness.report import Row, Table
from benchmarks.harness.session import Session

import anyshape as ash

THREADS = 8
SECONDS, QUICK_SECONDS = 600.0, 20.0
MOST = 64  # of batch and seq
TICK = 0.5  # seconds between two looks, and two disturbances
ERRORS_SHOWN = 5
FIRST_CHECKS = 20  # shapes at which the interpreter is asked

Arrays = tuple[np.ndarray[Any, Any], ...]


TOKENS = ash.f32["batch", "seq", 32]


@ash.jit
def encoder(x: TOKENS, w: ash.f32[32, 96], v: ash.f32[32, 32]):
    q, k, values = (part[:, None] for part in ash.split(x @ w, 3, axis=-1))
    h = x + ash.attention(q, k, values)[:, 0] @ v
    return ash.layer_norm(h).sum(axis=1), ash.softmax(h, axis=-1)


def inputs(rng: np.random.Generator) -> Arrays:
    batch, seq = (int(size) for size in rng.integers(0, MOST, 2))
    shapes = (batch, seq, 32), (32, 96), (32, 32)
    return tuple(rng.random(shape, np.float32) / 4 for shape in shapes)


@dataclass
class Tally:
    """What one thread saw."""

    right: int = 0
    wrong: int = 0
    raised: list[Exception] = field(default_factory=list[Exception])


class Soak:
    """The Executable under load, and another one on one thread that says what is right."""

    def __init__(self, seconds: float) -> None:
        self.shared = ash.compile(encoder, deterministic=True)
        self.alone = ash.compile(encoder, deterministic=True, threads=1)
        self.until = time.monotonic() + seconds
        self.tallies = [Tally() for _ in range(THREADS)]

    def work(self, number: int) -> None:
        rng, tally = np.random.default_rng(number), self.tallies[number]
        while time.monotonic() < self.until:
            try:
                right = self.is_right(inputs(rng))
            except Exception as error:  # whatever it is belongs in the report
                tally.raised.append(error)
            else:
                tally.right += right
                tally.wrong += not right

    def is_right(self, given: Arrays) -> bool:
        pairs = zip(self.shared(*given), self.alone(*given), strict=True)
        return all(np.array_equal(one, other) for one, other in pairs)

    def disturb(self, look: Callable[[], None]) -> None:
        rng = np.random.default_rng(99)
        while time.monotonic() < self.until:
            sizes = rng.integers(0, 4 * MOST, (50, 2))
            bindings = [{"batch": int(batch), "seq": int(seq)} for batch, seq in sizes]
            self.shared.pre_specialize(bindings, background=True)
            time.sleep(TICK)
            self.shared.trim()
            look()


def check_first() -> int:
    """Shapes at which one thread is further from the interpreter than rounding explains."""
    alone = ash.compile(encoder, deterministic=True, threads=1)
    reference = ash.compile(encoder, executor="reference")
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(FIRST_CHECKS):
        given = inputs(rng)
        pairs = zip(alone(*given), reference(*given), strict=True)
        wrong += not all(np.allclose(one, other, 1e-4, 1e-4) for one, other in pairs)
    return wrong


def on_threads(count: int, work: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def threads(session: Session, title: str) -> None:
    seconds = QUICK_SECONDS if session.quick else SECONDS
    first = check_first()
    soak = Soak(seconds)
    with session.progress(title, int(seconds / TICK)) as advance:
        workers = on_threads(THREADS, soak.work)
        soak.disturb(lambda: advance(f"{sum(tally.right for tally in soak.tallies):,} right"))
        for worker in workers:
            worker.join()
    errors = [error for tally in soak.tallies for error in tally.raised]
    session.print(*(f"{type(error).__name__}: {error}" for error in errors[:ERRORS_SHOWN]))
    session.show(_table(f"{title}: {seconds:g} s at random shapes", soak, first))


def _table(title: str, soak: Soak, first: int) -> Table:
    right = [tally.right for tally in soak.tallies]
    wrong = sum(tally.wrong for tally in soak.tallies)
    metrics = soak.shared.metrics()
    raised = sum(len(tally.raised) for tally in soak.tallies)
    rows = (
        Row("calls", (f"{sum(right):,} right", ""), f"{wrong} wrong", "0", wrong == 0),
        Row("calls that raised", ("", ""), str(raised), "0", raised == 0),
        Row("one thread against the interpreter", (f"{FIRST_CHECKS} shapes", ""),
            f"{first} wrong", "0", first == 0),
        Row("calls of one thread", (f"fewest {min(right):,}", f"most {max(right):,}"), ""),
        Row("with the team", (f"{metrics.team_runs:,}", f"of {metrics.runs:,}"), ""),
        Row("specializations", (f"{metrics.misses:,} made", f"{metrics.hits:,} found"), ""),
    )  # fmt: skip
    return Table(title, ("", ""), rows, "figure")
