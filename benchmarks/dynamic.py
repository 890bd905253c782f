"""Sizes that data decide, branches and loops: what they cost, against torch where it has the same.

    python -m benchmarks.dynamic [--quick] [--only TEXT] [--without ENGINE ...]

Two threads. Layers of experts are measured by `benchmarks.moe`, what an iteration and a late axis
add to a call by `benchmarks.levels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import get_args

import numpy as np
from benchmarks.harness.engines import EngineName
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.regions import best_seconds, cache_seconds, exit_seconds
from benchmarks.harness.report import Row, Table, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Measured, race
from benchmarks.workloads.recurrent import LstmScan, Recurrent
from benchmarks.workloads.selections import Kind, Selection

# ruff: noqa: PLC0415 - anyshape is imported by the processes that use it

THREADS = 2
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LAYERS, WIDTH, TOKENS = 12, 384, 128
KEYS = (128, 1024, 4096)
PROCESSES = 5  # each has its memory elsewhere; the one with the median ratio is shown
SELECTION_LIMIT, SCAN_LIMIT, RECURRENT_LIMIT = 0.9, 1.0, 0.9
EXIT_LIMIT, SPECULATIVE_LIMIT, CACHE_LIMIT = 1.05, 0.6, 1.0


# --- against others -------------------------------------------------------------------------------


def selections(session: Session, title: str) -> None:
    cases = {
        f"{kind}, {size:,}": (Selection(kind), {"n": size})
        for kind in get_args(Kind)
        for size in SIZES
    }
    _against(session, title, cases, ("anyshape", "torch"), SELECTION_LIMIT)


def scans(session: Session, title: str) -> None:
    cases = {f"batch {n}": (LstmScan(), {"steps": 100, "batch": n}) for n in (1, 16)}
    _against(session, title, cases, ("anyshape", "torch"), SCAN_LIMIT)


def recurrent(session: Session, title: str) -> None:
    cases = {
        f"{kind}, batch {n}": (Recurrent(kind), {"steps": 100, "batch": n})
        for kind in ("LSTM", "GRU", "RNN")
        for n in (1, 16)
    }
    engines: tuple[EngineName, ...] = ("anyshape", "torch", "onnxruntime", "openvino")
    _against(session, title, cases, engines, RECURRENT_LIMIT)


def _against(
    session: Session,
    title: str,
    cases: Mapping[str, tuple[Model, Binding]],
    engines: tuple[EngineName, ...],
    limit: float,
) -> None:
    taking_part = session.taking_part(engines)
    races = [race(label, *case, taking_part, THREADS) for label, case in cases.items()]
    rows = [_row(measured, taking_part, limit) for measured in session.measure(title, races)]
    session.show(Table(title, taking_part, tuple(rows), "÷ best"))


def _row(measured: Measured, engines: tuple[EngineName, ...], limit: float) -> Row:
    ratio = measured.best(OURS) / measured.best_peer
    cells = tuple(microseconds(measured.best(name)) for name in engines)
    return Row(measured.case.label, cells, number(ratio), f"≤ {limit}", at_most(ratio, limit))


# --- against ourselves ----------------------------------------------------------------------------


def early_exits(session: Session, title: str) -> None:
    """Each layer is as much work as any other."""
    spent = in_fresh_process(exit_seconds, LAYERS, WIDTH, TOKENS)
    rows: list[Row] = []
    for count in (1, 3, 6, 9, 12):
        share = spent[count - 1] / (spent[-1] * count / LAYERS)
        met = at_most(share, EXIT_LIMIT)
        cells = (microseconds(spent[count - 1]),)
        rows.append(Row(f"{count} of {LAYERS}", cells, number(share), f"≤ {EXIT_LIMIT}", met))
    session.show(Table(title, ("µs",), tuple(rows), "÷ share of all"))


def caches(session: Session, title: str) -> None:
    rows: list[Row] = []
    for keys in KEYS:
        runs = [in_fresh_process(cache_seconds, keys) for _ in range(PROCESSES)]
        spent = sorted(runs, key=lambda spent: spent[0] / spent[-1])[PROCESSES // 2]
        ratio = spent[0] / spent[-1]
        cells = tuple(map(microseconds, spent))
        met = at_most(ratio, CACHE_LIMIT)
        rows.append(Row(f"{keys} keys", cells, number(ratio), f"≤ {CACHE_LIMIT}", met))
    session.show(Table(title, ("growing", "lengths seen before", "dense"), tuple(rows), "ratio"))


def writing_seconds(tokens: int, noise: float) -> tuple[float, float, float]:
    """A text by a model of GPT-2's size alone and with a draft, and how many guesses were right."""
    from examples.speculative_decoding import Model as Decoder
    from examples.speculative_decoding import greedy, speculative

    import anyshape as ash

    target = Decoder(layers=12, width=768, noise=noise, words=50_257)
    draft = Decoder(layers=1, width=64, noise=0.1, words=50_257)
    given = np.arange(8), np.array(8 + tokens)
    alone = ash.compile(greedy(target), threads=THREADS)
    (expected,) = alone(*given)
    plain = best_seconds(partial(alone, *given), 1)
    together = ash.compile(speculative(draft, target, most=4, sure=0.0), threads=THREADS)
    text, rounds, guesses = together(*given)
    np.testing.assert_array_equal(text, expected)
    right = (tokens - int(rounds)) / int(guesses)
    return plain, best_seconds(partial(together, *given), 1), right


def drafts(session: Session, title: str) -> None:
    tokens = 16 if session.quick else 64
    rows: list[Row] = []
    for noise in (0.8, 1.4, 1.5):
        plain, spent, right = in_fresh_process(writing_seconds, tokens, noise)
        ratio = spent / plain
        cells = number(1e3 * plain / tokens), number(1e3 * spent / tokens)
        goal = f"≤ {SPECULATIVE_LIMIT}"
        met = at_most(ratio, SPECULATIVE_LIMIT)
        rows.append(Row(f"{right:.0%} of guesses right", cells, number(ratio), goal, met))
    session.show(Table(title, ("alone", "with a draft"), tuple(rows), "ratio"))


TABLES: Mapping[str, Callable[[Session, str], None]] = {
    "selections, µs": selections,
    "an LSTM cell written as scan, 100 steps, 256 wide, µs": scans,
    "recurrent layers, 100 steps, 256 wide, µs": recurrent,
    "an encoder that stops early": early_exits,
    "a token that attends to a cache, µs": caches,
    "a token of GPT-2's size, ms": drafts,
}


def main() -> None:
    with Session("dynamic", __doc__ or "") as session:
        session.run(TABLES)


if __name__ == "__main__":
    main()
