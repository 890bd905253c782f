"""`make fuzz-onnx-graphs`: random ONNX graphs, one session each, against onnxruntime."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from tests.fuzz.against_numpy.isolate import Ended, alone
from tests.fuzz.driver import Fuzzer, Job
from tests.fuzz.onnx_graphs.check import Failure, Tally, check
from tests.fuzz.onnx_graphs.generator import random_program
from tests.fuzz.onnx_graphs.moves import MOVES
from tests.fuzz.onnx_graphs.program import Program
from tests.fuzz.onnx_graphs.shrink import shrunk, snippet


def program_of(job: Job) -> Program:
    return random_program(*job, MOVES)


def run(job: Job) -> tuple[Tally, Failure | None]:
    """One model; any failure is a result."""
    tally = Tally()
    return tally, check(program_of(job), tally)


def crashed(job: Job, how: str) -> Failure | None:
    """None where onnxruntime ends the process: nodes are run by it while a model grows."""
    program: Any = alone(program_of, job)
    if not isinstance(program, Ended):
        return Failure(how, how, program, 0)
    assert "SIG" in program.how, f"no model of {job}: {program.how}"
    return None


def summary(tally: Tally) -> str:
    models, calls, ops = (
        ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        for counts in (tally.models, tally.calls, tally.ops)
    )
    refusals = [f"  {count} refused: {why}" for why, count in tally.refusals.most_common()]
    return "\n".join(
        [*refusals, f"{len(tally.ops)} ops: {ops}", f"models: {models}; calls: {calls}"]
    )


FUZZER = Fuzzer(
    what="models",
    count=3000,
    longest=10,
    tally=Tally,
    run=run,
    crashed=crashed,
    shrunk=shrunk,
    snippet=snippet,
    summary=summary,
)

if __name__ == "__main__":
    # Children are forked and find everything imported. The interpreter starts no threads.
    check(replace(program_of((0, 1)), executor="reference"), Tally())
    sys.exit(FUZZER.main(__doc__))
