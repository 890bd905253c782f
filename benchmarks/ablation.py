"""What each optimisation is worth: workloads with a pass and without it, in turns.

    python -m benchmarks.ablation [--only TEXT] [--passes NAME ...] [--turns N] [--clock cpu]

A ratio is the time without the pass, or of the spelling with compounds, over that of the workload
as it is: above 1 the optimisation pays. Each turn calls both, so that what disturbs the machine
disturbs both; the median of the turns' ratios stands with the interval that holds the true one in
95 of 100 cases, from the ranks of the turns alone. In front of its ratios each workload has the
number of its kernels, and of those that there would be without any of the passes. A pass without
which a workload is the same program has no row: there is nothing to measure.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads.in_primitives import IN_PRIMITIVES, InPrimitives
from benchmarks.workloads.layers_in_primitives import LAYERS

WORKLOADS = (*IN_PRIMITIVES, *LAYERS)
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
LOSS = 0.97
"""A ratio whose interval ends below is a loss: the workload is quicker without the pass."""

PASSES = (
    "refine", "constants", "attention", "causal-masks", "row-products", "narrowing",
    "sibling-products", "sibling-maps", "slices-last", "rows-of-axes", "reshapes-last",
    "reshapes-first", "columns-last", "fuse", "several-results", "pipeline",
)  # fmt: skip
LEAST = 2e-3
"""Seconds that a turn takes, at least."""


@dataclass(frozen=True)
class Ratio:
    """A median of ratios, and its interval."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:6.3f}  [{self.low:.3f}, {self.high:.3f}]"

    @property
    def is_loss(self) -> bool:
        return self.high < LOSS


def ratio_of(turns: Sequence[tuple[float, float]]) -> Ratio:
    """Of the second to the first."""
    ratios = sorted(other / own for own, other in turns)
    count = len(ratios)
    # The number of ratios below the true median is binomial: 1.96 standard deviations hold 95 %.
    reach = math.ceil(0.98 * math.sqrt(count))
    low, high = max(0, count // 2 - reach), min(count - 1, count // 2 + reach)
    return Ratio(ratios[low], statistics.median(ratios), ratios[high])


Call = Callable[[], object]


def in_turns(
    own: Call, other: Call, turns: int, clock: Callable[[], float]
) -> Iterator[tuple[float, float]]:
    """Seconds of both, one after the other, each turn beginning with another of them."""
    calls = [max(1, math.ceil(LEAST / _seconds(call, 1, clock))) for call in (own, other)]
    for turn in range(turns):
        pair = [(0, own), (1, other)]
        spent = [0.0, 0.0]
        for index, call in pair if turn % 2 else reversed(pair):
            spent[index] = _seconds(call, calls[index], clock)
        yield spent[0], spent[1]


def _seconds(call: Call, count: int, clock: Callable[[], float]) -> float:
    call()
    start = clock()
    for _ in range(count):
        call()
    return max(1e-9, (clock() - start) / count)


def kernels_of(workload: InPrimitives, without: Sequence[str] = ()) -> int:
    """How many there are for one call, a kernel with variants counted once."""
    graph = workload.compiled(workload.by_hand, tuple(without)).executable.graph
    return sum(node.op.name == "kernel" for node in graph.nodes())


def others_of(workload: InPrimitives, own: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What there is to compare with: a pass that the workload has no use for leaves nothing."""
    found = {
        f"without {name}": workload.compiled(workload.by_hand, (name,), options.threads)
        for name in options.passes
    }
    if workload.compound is not None:
        found["compounds"] = workload.compiled(workload.compound, threads=options.threads)
    text = _text(own)
    return {label: other for label, other in found.items() if _text(other) != text}


def _text(compiled: Any) -> str:
    """All that code and schedule are made of: what was decided behind the passes is in no graph."""
    executable = compiled.executable
    planned = (f"{d.rule} {d.why}" for d in executable.explain().planned if d.taken)
    return "\n".join((executable.as_text(), *sorted(planned)))


def rows_of(workload: InPrimitives, options: argparse.Namespace) -> Iterator[tuple[str, Ratio]]:
    clock = CLOCKS[options.clock]
    own = workload.compiled(workload.by_hand, threads=options.threads)
    others = others_of(workload, own, options)
    for shape in workload.shapes:
        x = workload.inputs(shape)
        for label, other in others.items():
            turns = in_turns(lambda: own(x), lambda o=other: o(x), options.turns, clock)  # noqa: B023 - called at once
            yield f"{workload.name} {'×'.join(map(str, x.shape))}, {label}", ratio_of([*turns])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="workloads whose name has this text")
    parser.add_argument("--passes", nargs="*", default=PASSES)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    losses = 0
    for workload in WORKLOADS:
        if options.only.lower() in workload.name.lower():
            before, after = kernels_of(workload, options.passes), kernels_of(workload)
            print(f"{workload.name}: {before} -> {after} kernels", flush=True)
            for label, ratio in rows_of(workload, options):
                losses += ratio.is_loss and "without" in label
                print(f"{label:45} {ratio}{'  a loss' if ratio.is_loss else ''}", flush=True)
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
