"""Runs: what a task of a product with a computed operand goes through.

    rows are computed         a task has one block of rows and a run of panels
    columns are computed      a task has one panel and a run of blocks

Its part of the computed operand is computed once and used for the whole run, and for the runs of
further tasks if the same thread goes on with them. Long runs compute little twice, short ones give
every thread something to do; how long they are, level 2 computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.loop import Bind, For, Number, Statement
from anyshape.sym import Dim, Symbol, maximum, minimum

RUN, RUNS, FIRST, LAST = (Symbol(name) for name in ("c", "runs", "f", "e"))

SHARES = 4
"""Parts of the operand for each thread, from which on it does not matter that several threads
compute the first and the last that they use."""

SHORTEST = 4
"""Panels, or blocks, for which cheap ops on an operand cost a few percent of its product."""


@dataclass(frozen=True, slots=True)
class Run:
    """One of the runs into which `whole` panels, or blocks, are divided.

    How many runs there are is a size of the kernel, so that its code knows no threads.
    """

    index: Symbol  # counts within the run
    whole: Dim
    others: Dim  # tasks if all were one run

    def count(self, threads: int) -> Dim:
        """How many runs: few and equally many for each thread, lest parts are computed again.

        Where there are many parts, each thread has tasks in a row that share one, and short runs
        cost nothing.
        """
        even = maximum(1, self.whole // (SHORTEST * threads)) * threads
        many = self.others // (SHARES * threads) * self.whole
        return minimum(self.whole, maximum(even, many))

    @property
    def bounds(self) -> tuple[Bind, Bind]:
        """Where the run of a task starts and ends: they differ in length by one at most."""
        runs, number, room = maximum(1, Dim.of(RUNS)), Dim.of(RUN), self.whole + 1
        first, last = (self.whole * n // runs for n in (number, number + 1))
        return Bind(FIRST, Number(first), room), Bind(LAST, Number(last), room)

    @property
    def place(self) -> Dim:
        """Which panel, or block, it is."""
        return Dim.of(FIRST) + Dim.of(self.index)

    def loop(self, body: tuple[Statement, ...]) -> For:
        return For(self.index, Dim.of(LAST) - Dim.of(FIRST), body)
