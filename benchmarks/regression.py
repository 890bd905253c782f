"""Every row of the other scripts, ours against an earlier anyshape: nothing may get slower.

    python -m benchmarks.regression --before PYTHON [--quick] [--only TEXT]

PYTHON is the interpreter of an environment in which the earlier one is installed, say of a second
checkout; models and harness are this checkout's for both. The two take turns, and a figure is the
quickest call, so a row says something on a busy machine too. Rows of several shapes are sums.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import kernels, levels, models, seed_tables
from benchmarks.harness.levels import level_1_seconds, level_2_seconds
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.process import in_fresh_process
from benchmarks.harness.report import Row, Table, at_most, microseconds, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Case, Contender, Effort, Measured
from benchmarks.workloads import (
    Add,
    Attention,
    Dense,
    FiveOps,
    Gpt2,
    Gpt2Steps,
    MiniLm,
    Moe,
    Rows,
)

BEFORE = "before"
WORST_ROW = 1.03
REPEATS = 5  # of what has to be measured in fresh processes


@dataclass(frozen=True)
class Workload:
    """A row: a model at some bindings, whose quickest calls are added up."""

    label: str
    model: Model
    bindings: tuple[Binding, ...]
    threads: int = 2
    effort: Effort | None = None

    def cases(self, before: str) -> list[Case]:
        both = (
            Contender(OURS, "anyshape", self.model, self.threads),
            Contender(BEFORE, "anyshape", self.model, self.threads, before),
        )
        return [Case(self.label, binding, both) for binding in self.bindings]


# --- rows -----------------------------------------------------------------------------------------


def products() -> list[Workload]:
    plain = [
        Workload(kernels.product_label(Dense(*w), n), Dense(*w), ({"rows": n},), 1)
        for w in kernels.WEIGHTS
        for n in kernels.SPEEDUPS
    ]
    gelu = [
        Workload(f"{n} × {k} × {m}, gelu", Dense(k, m, gelu=True), ({"rows": n},), 1)
        for k, m in kernels.WEIGHTS
        for n in (32, 128, 512)
    ]
    odd = [
        Workload(f"128 × {k} × {n}", Dense(k, n), ({"rows": 128},), 1)
        for k, n in kernels.OFF_TILE_SIZES
    ]
    return [*plain, *gelu, *odd]


def rows() -> list[Workload]:
    ops = [
        Workload(op, Rows(op, 768), ({"rows": 4096},)) for op in ("softmax", "layer_norm", "gelu")
    ]
    attention = [
        Workload(f"attention, seq {seq}", Attention(12, 64), ({"batch": 1, "seq": seq},))
        for seq in (128, 512, 2048)
    ]
    five = Workload("five ops, 16 M floats", FiveOps(), (kernels.FLOATS_16M,))
    add = Workload("add 4×4", Add(), ({"rows": 4, "columns": 4},))
    return [*ops, *attention, five, add]


def blocks() -> list[Workload]:
    entries = [entry for table in seed_tables.TABLES.values() for entry in table]
    return [Workload(entry.label, entry.model, (entry.binding,)) for entry in entries]


def whole_models() -> list[Workload]:
    part = models.STEPS // models.PARTS
    starts = tuple({"batch": 1, "seq": 1, "past": 17 + n * part} for n in range(models.PARTS))
    prompts = [
        Workload(f"GPT-2, prompt of {seq}", Gpt2(), ({"batch": 1, "seq": seq, "past": 0},))
        for seq in models.PROMPTS
    ]
    experts = [
        Workload(f"{count} experts, {n} tokens", Moe(count), ({"tokens": n},))
        for count in (models.FEW, models.MANY)
        for n in (1, 128)
    ]
    return [
        Workload("MiniLM, 60 shapes", MiniLm(), models.sentence_shapes(), 2, models.MANY_SHAPES),
        *prompts,
        Workload("GPT-2, 200 tokens", Gpt2Steps(steps=part), starts, 2, models.LONG_CALLS),
        *experts,
    ]


WORKLOADS: Mapping[str, Callable[[], list[Workload]]] = {
    "products, one thread, µs": products,
    "rows, attention, elementwise, a call, µs": rows,
    "MLP and transformer block, µs": blocks,
    "whole models, µs": whole_models,
}


# --- what surrounds the kernels -------------------------------------------------------------------


def level_2(python: str, model: Model) -> float:
    """Seconds for a binding never seen: the least of several medians."""
    chosen = levels.bindings(model, 1000, 4096)  # the first 150 warm the machine up
    runs = (in_fresh_process(level_2_seconds, model, chosen, python=python) for _ in range(REPEATS))
    return min(map(statistics.median, runs))


def level_1(python: str, model: Model) -> float:
    """Seconds of compiling with kernels in the cache, the quickest of several."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            in_fresh_process(level_1_seconds, model, folder, python=python) for _ in range(REPEATS)
        ]
    return min(runs[1:])


SURROUNDINGS: Mapping[str, tuple[Callable[[str, Model], float], Model]] = {
    "level 2, MLP": (level_2, levels.MLP),
    "level 2, encoder of 12 layers": (level_2, levels.ENCODER),
    "level 1, encoder of 12 layers, cached": (level_1, levels.ENCODER),
}


# --- the report -----------------------------------------------------------------------------------


def total(measured: Sequence[Measured], label: str) -> float:
    return sum(one.best(label) for one in measured)


def ratio_row(label: str, now: float, before: float) -> tuple[Row, float]:
    ratio = now / before
    cells = microseconds(before), microseconds(now)
    goal = f"≤ {WORST_ROW}"
    return Row(label, cells, number(ratio, 3), goal, at_most(ratio, WORST_ROW)), ratio


def show(session: Session, title: str, found: Sequence[tuple[Row, float]]) -> list[float]:
    session.show(Table(title, ("before", "now"), tuple(row for row, _ in found), "ratio"))
    return [ratio for _, ratio in found if not math.isnan(ratio)]


def main() -> None:
    with Session("regression", __doc__ or "") as session:
        if not session.before:
            sys.exit("regression: --before PYTHON says which anyshape to compare with")
        ratios: list[float] = []
        for title, workloads in WORKLOADS.items():
            if not session.wants(title):
                continue
            found: list[tuple[Row, float]] = []
            for work in workloads():
                measured = session.measure(title, work.cases(session.before), work.effort)
                times = total(measured, OURS), total(measured, BEFORE)
                found.append(ratio_row(work.label, *times))
            ratios += show(session, title, found)
        if session.wants("levels, µs"):
            pairs = [
                ratio_row(label, measure("", model), measure(session.before, model))
                for label, (measure, model) in SURROUNDINGS.items()
            ]
            ratios += show(session, "levels, µs", pairs)
        if ratios:
            mean = statistics.geometric_mean(ratios)
            verdict = Row("all rows", (), number(mean, 3), "≤ 1.00", at_most(mean, 1.0))
            session.show(Table("geometric mean", (), (verdict,), "ratio"))


if __name__ == "__main__":
    main()
