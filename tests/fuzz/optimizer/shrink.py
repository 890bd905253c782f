"""Makes a failing program small: fewer moves, as long as it fails in the same way."""

from __future__ import annotations

from tests.fuzz.against_numpy.isolate import Ended, alone
from tests.fuzz.optimizer.check import Failure, Tally, check
from tests.fuzz.optimizer.program import Program, graph_of


def failure_of(program: Program) -> Failure | None:
    """In a child of its own: whatever ends that is a failure too."""
    answer = alone(_attempt, program)
    if isinstance(answer, Ended):
        return Failure(answer.how, answer.how, "", program)
    return answer


def _attempt(program: Program) -> Failure | None:
    return check(program, Tally())


def shrunk(failure: Failure) -> Failure:
    """Without every move that the failure does not need."""
    best, index = failure, len(failure.program.moves) - 1
    while index >= 0:
        candidate = failure_of(best.program.without(index))
        if candidate is not None and candidate.kind == best.kind:
            best = candidate
        index -= 1
    return best


def snippet(failure: Failure) -> str:
    """The failure, the graph, and how to see it again."""
    program = failure.program
    return (
        f"{failure.kind} ({failure.way}): {failure.detail}\n"
        f"{graph_of(program).as_text()}\n"
        f"moves {program.moves}\n"
        f"make fuzz-optimizer ARGS='--seed {program.seed} --graphs 1'"
    )
