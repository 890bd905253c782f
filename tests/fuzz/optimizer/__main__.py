"""`make fuzz-optimizer`: random graphs in primitives, optimised against unoptimised.

A failure is printed as it is found, with its seed; with `--shrink` it is made small first.
`--seed S --graphs 1 --shrink` runs one again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.fuzz.against_numpy.isolate import Ended, each
from tests.fuzz.optimizer.check import Failure, Tally, check
from tests.fuzz.optimizer.moves import MOVES
from tests.fuzz.optimizer.program import random_program
from tests.fuzz.optimizer.shrink import shrunk, snippet

COMPLETE = 500
"""A run of so many graphs has every move, or fails."""


def run(seed: int) -> tuple[Tally, Failure | None]:
    """One graph; any failure is a result."""
    tally = Tally()
    return tally, check(random_program(seed), tally)


def failure_of(ended: Ended) -> Failure:
    return Failure(ended.how, ended.how, "", random_program(ended.job))


def report(tally: Tally, failures: list[Failure], seconds: float) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in sorted(tally.counts.items()))
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(f.kind for f in failures).items())
    return f"{counts} in {seconds:.0f} s\n{len(failures)} failures{': ' * bool(kinds)}{kinds}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    tally, failures, start = Tally(), list[Failure](), time.perf_counter()
    jobs = list(range(options.seed, options.seed + options.graphs))
    for number, item in enumerate(each(run, jobs, options.jobs), 1):
        failure = failure_of(item) if isinstance(item, Ended) else item[1]
        if not isinstance(item, Ended):
            tally.add(item[0])
        if failure is not None:
            failures.append(failure)
            print(f"\n{snippet(shrunk(failure) if options.shrink else failure)}\n", flush=True)
        if sys.stderr.isatty() or number % 100 == 0:
            text = f"\r{number}/{len(jobs)} graphs, {len(failures)} failures"
            print(text, end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print(report(tally, failures, time.perf_counter() - start))
    missing = sorted(set(MOVES) - set(tally.moves)) if len(jobs) >= COMPLETE else []
    if missing:
        print(f"never made: {', '.join(missing)}")
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
