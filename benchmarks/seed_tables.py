"""An MLP and a transformer block at several shapes, against four engines.

    python -m benchmarks.seed_tables [--quick] [--only TEXT] [--without ENGINE ...]

Two threads. Times are the quickest calls, in microseconds. A goal is a multiple of the best peer's
time; where the machine itself is the limit, 1.07 of the roofline will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.engines import EngineName
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.report import Row, Table, at_most, microseconds, number
from benchmarks.harness.roofline import Roofline
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Measured, race
from benchmarks.workloads import Encoder, Mlp

ENGINES: tuple[EngineName, ...] = (
    "anyshape", "torch", "torch.compile", "onnxruntime", "openvino",
)  # fmt: skip
THREADS = 2
NEAR_ROOFLINE = 1.07


@dataclass(frozen=True)
class Entry:
    """A row of a table. `small`: bound by what a call costs, so the roofline excuses nothing."""

    label: str
    model: Model
    binding: Binding
    limit: float = 0.95
    small: bool = False


def mlp(batch: int, width: int, limit: float = 0.95, small: bool = False) -> Entry:
    return Entry(f"{batch}×{width}", Mlp(width), {"batch": batch}, limit, small)


def blocks(naive: bool) -> tuple[Entry, ...]:
    return (
        block(1, 16, 64, naive, 0.8, small=True),
        block(4, 16, 64, naive, 0.8, small=True),
        block(4, 64, 128, naive),
        block(4, 128, 256, naive),
    )


def block(
    batch: int, seq: int, width: int, naive: bool, limit: float = 0.95, small: bool = False
) -> Entry:
    model = Encoder(layers=1, width=width, heads=4, naive=naive)
    return Entry(f"{batch}×{seq}×{width}", model, {"batch": batch, "seq": seq}, limit, small)


TABLES = {
    "MLP, 3 × Linear + ReLU, µs": (
        mlp(1, 512, 0.9, small=True),
        mlp(32, 512, 0.8, small=True),
        mlp(128, 512),
        mlp(1, 2048),
        mlp(32, 2048),
        mlp(128, 2048),
    ),
    "transformer block, µs": blocks(naive=False),
    "transformer block with naive attention, µs": blocks(naive=True),
}


def row(entry: Entry, measured: Measured, engines: Sequence[str], best: Roofline) -> Row:
    ours, peer = measured.best(OURS), measured.best_peer
    floor = best.seconds(entry.model, entry.binding)
    by_peer, by_machine = entry.limit * peer, NEAR_ROOFLINE * floor
    excused = not entry.small and by_machine > by_peer
    goal = f"{NEAR_ROOFLINE} × roofline" if excused else f"{entry.limit} × peer"
    return Row(
        entry.label,
        (*(microseconds(measured.best(name)) for name in engines), microseconds(floor)),
        number(ours / peer),
        goal,
        at_most(ours, by_machine if excused else by_peer),
    )


def main() -> None:
    with Session("seed_tables", __doc__ or "") as session:
        engines = session.taking_part(ENGINES)
        for title, entries in TABLES.items():
            if not session.wants(title):
                continue
            cases = [race(e.label, e.model, e.binding, engines, THREADS) for e in entries]
            measured = session.measure(title, cases)
            best = session.roofline(THREADS)
            rows = [row(e, m, engines, best) for e, m in zip(entries, measured, strict=True)]
            session.show(Table(title, (*engines, "roofline"), tuple(rows), "÷ best peer"))


if __name__ == "__main__":
    main()
