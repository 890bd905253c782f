"""`make fuzz-numpy`: random programs compiled and called in many ways, against NumPy.

A failure is printed as it is found, with its seed; with `--shrink` it is made small first.
`--seed S --programs 1 --shrink` runs one again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.fuzz.against_numpy.check import Failure, Tally, check, random_program, variants_of
from tests.fuzz.against_numpy.isolate import Ended, each
from tests.fuzz.against_numpy.known import known_defect
from tests.fuzz.against_numpy.shrink import shrunk, snippet
from tests.fuzz.against_numpy.spellings import SPELLINGS

Job = tuple[int, int]
"""Seed and greatest length of a program."""


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One program; any failure is a result."""
    tally = Tally()
    program = random_program(*job)
    known = known_defect(program)
    if known is not None:
        tally.counts[f"left out, {known}"] += 1
        return tally, None
    return tally, check(program, variants_of(program), tally)


def failure_of(ended: Ended) -> Failure:
    program = random_program(*ended.job)
    variants = variants_of(program)
    return Failure(ended.how, ended.how, program, variants[-1], program.bindings[-1])


def report(tally: Tally, failures: list[Failure], seconds: float) -> str:
    counts, compared = tally.counts, tally.compared
    shares = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    refusals = "\n".join(f"  refused {n} times: {why}" for why, n in tally.refusals.items())
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(f.kind for f in failures).items())
    return (
        f"{shares}; {compared.elements} elements compared, {compared.unknown} that rounding "
        f"decides were not, in {seconds:.0f} s; {len(tally.ops)} ops\n"
        + (f"{refusals}\n" if refusals else "")
        + f"{len(failures)} failures{': ' if kinds else ''}{kinds}"
    )


COMPLETE = 2000
"""A run of so many programs has every op, or fails."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    tally, failures, start = Tally(), [], time.perf_counter()
    jobs = [(options.seed + index, options.longest) for index in range(options.programs)]
    for number, item in enumerate(each(run, jobs, options.jobs), 1):
        found = failure_of(item) if isinstance(item, Ended) else item[1]
        if not isinstance(item, Ended):
            tally.add(item[0])
        if found is not None:
            failures.append(found)
            shown = shrunk(found) if options.shrink else found
            print(f"\n{snippet(shown)}\n", flush=True)
        if sys.stderr.isatty() or number % 100 == 0:
            text = f"\r{number}/{len(jobs)} programs, {len(failures)} failures"
            print(text, end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print(report(tally, failures, time.perf_counter() - start))
    missing = sorted(set(SPELLINGS) - set(tally.ops)) if len(jobs) >= COMPLETE else []
    if missing:
        print(f"never generated: {', '.join(missing)}")
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
