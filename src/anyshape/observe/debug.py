"""The debug dial: what compiling shows on stderr while it happens.

| ANYSHAPE_DEBUG | shows                                               |
|----------------|-----------------------------------------------------|
| 1              | a line for each pass, and one for what is compiled  |
| 2              | and every decision, taken or refused, with its why  |
| 3              | and the graph after each pass that changed it       |
| 4              | and the loops of each kernel                        |
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TextIO

from anyshape.ir.graph import Graph
from anyshape.loop import Kernel
from anyshape.passes import PassReport

PASSES, DECISIONS, GRAPHS, KERNELS = range(1, 5)

MOST: Final = KERNELS


@dataclass(frozen=True, slots=True)
class DebugPrinter:
    """Shows as much as its level says; nothing at level 0."""

    level: int
    stream: TextIO | None = None  # None: stderr, whatever that is at the time

    def passed(self, report: PassReport, graph: Graph) -> None:
        """After a pass."""
        self._show(PASSES, f"[{graph.name}] {report}")
        for decision in report.decisions:
            self._show(DECISIONS, f"  {decision}")
        if report.changed:
            self._show(GRAPHS, graph)

    def scheduled(self, name: str, kernels: Iterable[Kernel]) -> None:
        """Before code is made of the kernels of a program."""
        distinct = dict.fromkeys(kernels)
        self._show(PASSES, f"[{name}] {len(distinct)} kernels")
        for kernel in distinct:
            self._show(KERNELS, kernel)

    def _show(self, level: int, what: object) -> None:
        """Made into text only if it is shown: a graph's takes a while."""
        if level <= self.level:
            print(what, file=self.stream or sys.stderr)
