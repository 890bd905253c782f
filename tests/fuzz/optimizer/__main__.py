"""`make fuzz-optimizer`: random graphs in primitives, optimised against unoptimised."""

from __future__ import annotations

import sys

from tests.fuzz.driver import Fuzzer, Job
from tests.fuzz.optimizer.check import Failure, Tally, check
from tests.fuzz.optimizer.program import random_program
from tests.fuzz.optimizer.shrink import shrunk, snippet


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One graph, whose length is its seed's choice; any failure is a result."""
    tally = Tally()
    return tally, check(random_program(job[0]), tally)


def crashed(job: Job, how: str) -> Failure:
    return Failure(how, how, "", random_program(job[0]))


def summary(tally: Tally) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(tally.counts.items()))


FUZZER = Fuzzer(
    what="graphs",
    count=10_000,
    longest=0,
    tally=Tally,
    run=run,
    crashed=crashed,
    shrunk=shrunk,
    snippet=snippet,
    summary=summary,
    missing=Tally.missing,
    complete=2000,
)

if __name__ == "__main__":
    sys.exit(FUZZER.main(__doc__))
