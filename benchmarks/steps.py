"""Where a row of `seed_tables` or `models` spends its time: every step by itself, in order.

    python -m benchmarks.steps 4×128×256 [--calls 200]
    python -m benchmarks.steps "GPT-2, prompt of 512" --calls 10

A figure is the quickest of many calls. The rate counts the operations of the step's products.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.harness.engines import executable
from benchmarks.harness.model import Binding, Model
from benchmarks.harness.report import Row, Table, microseconds, number, show
from benchmarks.seed_tables import TABLES
from benchmarks.workloads import Gpt2, MiniLm, Moe
from rich.console import Console

ROWS: dict[str, tuple[Model, Binding]] = {
    entry.label: (entry.model, entry.binding) for entries in TABLES.values() for entry in entries
} | {
    "MiniLM, 1×24": (MiniLm(), {"batch": 1, "seq": 24}),
    "MiniLM, 4×128": (MiniLm(), {"batch": 4, "seq": 128}),
    "GPT-2, prompt of 512": (Gpt2(), {"batch": 1, "seq": 512, "past": 0}),
    "GPT-2, a token after 100": (Gpt2(), {"batch": 1, "seq": 1, "past": 100}),
    "experts, 1 token": (Moe(8), {"tokens": 1}),
    "experts, 128 tokens": (Moe(8), {"tokens": 128}),
}


def measure(model: Model, binding: Binding, calls: int) -> list[tuple[Any, float]]:
    """Each step, with the seconds of its quickest run."""
    compiled = executable(model)
    inputs = model.inputs(binding)
    runs = [list(compiled.steps(*inputs)) for _ in range(calls)]
    return [
        (same[0], 1e-9 * min(run.nanoseconds for run in same)) for same in zip(*runs, strict=True)
    ]


def flops(step: Any) -> int:
    """Twice the elements of each product's result, times what is summed for each of them."""
    total = 0
    for node in step.node.regions[0].nodes():
        if node.op.name == "dot":
            lhs = node.operands[0].tensor
            depth = [lhs.shape[axis].evaluate({}) for axis in node.attrs.contract[0]]
            total += 2 * step.values[0].size * depth[0]
    return total


def row(step: Any, seconds: float, whole: float) -> Row:
    shape = " ".join(str(value.shape) for value in step.values)
    rate = flops(step) / seconds / 1e9
    cells = (shape, microseconds(seconds), number(rate, 0) if rate else "")
    return Row(f"{step.number} {step.name}", cells, f"{100 * seconds / whole:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=ROWS, help="what to take apart")
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    steps = measure(*ROWS[options.row], options.calls)
    whole = sum(seconds for _, seconds in steps)
    rows = tuple(row(step, seconds, whole) for step, seconds in steps)
    columns = ("result", "µs", "GFLOP/s")
    show(Console(), Table(f"{options.row}, step by step", columns, rows, "%"))


if __name__ == "__main__":
    main()
