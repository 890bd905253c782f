"""`make fuzz-torch`: random torch modules, captured at one size and compared at others."""

from __future__ import annotations

import logging
import sys

import torch
from tests.fuzz.driver import Fuzzer, Job
from tests.fuzz.torch_modules.check import Failure, Tally, check
from tests.fuzz.torch_modules.generator import random_program
from tests.fuzz.torch_modules.moves import MOVES
from tests.fuzz.torch_modules.shrink import shrunk, snippet


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One module; any failure is a result."""
    tally = Tally()
    return tally, check(random_program(*job, MOVES), tally)


def crashed(job: Job, how: str) -> Failure:
    program = random_program(*job, MOVES)
    return Failure(how, how, program, program.example)


def summary(tally: Tally) -> str:
    modules, calls = (
        ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        for counts in (tally.modules, tally.calls)
    )
    refusals = [f"  {count} refused: {why}" for why, count in tally.refusals.most_common()]
    kinds = f"{len(tally.moves)} kinds of statements"
    return "\n".join([*refusals, f"modules: {modules}; calls: {calls}; {kinds}"])


FUZZER = Fuzzer(
    what="modules",
    count=2000,
    longest=10,
    tally=Tally,
    run=run,
    crashed=crashed,
    shrunk=shrunk,
    snippet=snippet,
    summary=summary,
)

if __name__ == "__main__":
    logging.getLogger("torch").setLevel(logging.ERROR)  # it warns of its own parts
    torch.set_num_threads(1)  # children are forked
    torch.export.export(torch.nn.ReLU(), (torch.zeros(2),))  # and find all of torch imported
    sys.exit(FUZZER.main(__doc__))
