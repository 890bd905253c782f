"""`make fuzz-numpy`: random programs compiled and called in many ways, against NumPy."""

from __future__ import annotations

import sys

from tests.fuzz.against_numpy.check import Failure, Tally, check, random_program, variants_of
from tests.fuzz.against_numpy.known import known_defect
from tests.fuzz.against_numpy.shrink import shrunk, snippet
from tests.fuzz.against_numpy.spellings import SPELLINGS
from tests.fuzz.driver import Fuzzer, Job


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One program; any failure is a result."""
    tally = Tally()
    program = random_program(*job)
    known = known_defect(program)
    if known is not None:
        tally.counts[f"left out, {known}"] += 1
        return tally, None
    return tally, check(program, variants_of(program), tally)


def crashed(job: Job, how: str) -> Failure:
    program = random_program(*job)
    return Failure(how, how, program, variants_of(program)[-1], program.bindings[-1])


def summary(tally: Tally) -> str:
    counts, compared = tally.counts, tally.compared
    shares = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    refusals = [f"  refused {n} times: {why}" for why, n in tally.refusals.items()]
    elements = f"{compared.elements} elements compared, {compared.unknown} that rounding decides"
    return "\n".join([f"{shares}; {elements} were not; {len(tally.ops)} ops", *refusals])


FUZZER = Fuzzer(
    what="programs",
    count=5000,
    longest=11,
    tally=Tally,
    run=run,
    crashed=crashed,
    shrunk=shrunk,
    snippet=snippet,
    summary=summary,
    missing=lambda tally: set(SPELLINGS) - set(tally.ops),
    complete=2000,
)

if __name__ == "__main__":
    sys.exit(FUZZER.main(__doc__))
