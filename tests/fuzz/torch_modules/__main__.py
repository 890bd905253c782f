"""`make fuzz-torch`: random torch modules, captured at one size and compared at others.

A failure is printed as it is found, with its seed; with `--shrink` it is made small first.
`--seed S --modules 1 --shrink` runs one again.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter

import torch
from tests.fuzz.against_numpy.isolate import Ended, each
from tests.fuzz.torch_modules.check import Failure, Tally, check
from tests.fuzz.torch_modules.generator import random_program
from tests.fuzz.torch_modules.moves import MOVES
from tests.fuzz.torch_modules.shrink import shrunk, snippet

Job = tuple[int, int]
"""Seed and greatest length of a module."""


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One module; any failure is a result."""
    tally = Tally()
    return tally, check(random_program(*job, MOVES), tally)


def failure_of(ended: Ended) -> Failure:
    program = random_program(*ended.job, MOVES)
    return Failure(ended.how, ended.how, program, program.example)


def report(tally: Tally, failures: list[Failure]) -> str:
    modules, calls = (
        ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        for counts in (tally.modules, tally.calls)
    )
    refusals = [f"  {count} refused: {why}" for why, count in tally.refusals.most_common()]
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(f.kind for f in failures).items())
    moves = f"{len(tally.moves)} kinds of statements"
    summary = f"modules: {modules}; calls: {calls}; {moves}"
    return "\n".join([*refusals, summary, f"{len(failures)} failures{': ' * bool(kinds)}{kinds}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    logging.getLogger("torch").setLevel(logging.ERROR)  # it warns of its own parts
    torch.set_num_threads(1)  # children are forked
    torch.export.export(torch.nn.ReLU(), (torch.zeros(2),))  # and find all of torch imported
    tally, failures = Tally(), list[Failure]()
    jobs = [(options.seed + index, options.longest) for index in range(options.modules)]
    for number, item in enumerate(each(run, jobs, options.jobs), 1):
        failure = failure_of(item) if isinstance(item, Ended) else item[1]
        if not isinstance(item, Ended):
            tally.add(item[0])
        if failure is not None:
            failures.append(failure)
            print(f"\n{snippet(shrunk(failure) if options.shrink else failure)}\n", flush=True)
        if sys.stderr.isatty() or number % 100 == 0:
            text = f"\r{number}/{len(jobs)} modules, {len(failures)} failures"
            print(text, end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print(report(tally, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
