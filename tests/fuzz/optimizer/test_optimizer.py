"""A short run of `make fuzz-optimizer`, and what its checks can see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from tests.fuzz.optimizer import check as checks
from tests.fuzz.optimizer.check import Failure, Tally, Way, check, interpreted, ways
from tests.fuzz.optimizer.moves import MOVES
from tests.fuzz.optimizer.program import Program, axes_of, graph_of, random_program
from tests.fuzz.optimizer.shrink import shrunk, snippet

from anyshape.ir import Graph

BLOCKS, GRAPHS = 4, 25
FIRST = 700_000


def mostly_interpreted(program: Program) -> Iterator[Way]:
    """Machine code for every sixth graph."""
    for way in ways(program):
        if "interpreted" in way.name or program.seed % 6 == 0:
            yield way


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_graphs(block: int) -> None:
    tally = Tally()
    for seed in range(FIRST + block * GRAPHS, FIRST + (block + 1) * GRAPHS):
        failure = check(random_program(seed), tally, mostly_interpreted)
        assert failure is None, snippet(failure)
    assert tally.counts["native"] >= GRAPHS // 7
    assert tally.counts["elements"] > 1000
    assert tally.counts["loose elements"] < 0.1 * tally.counts["elements"]


@pytest.mark.parametrize("seed", [7_700_256, 7_701_573, 7_704_444, 7_706_224, 7_708_208])
def test_passes_leave_nothing_for_a_second_run(seed: int) -> None:
    """Slices that met others once they had moved, and constants that these left, of a long run."""
    assert checks.passes_are_done(graph_of(random_program(seed)))


def test_scores_of_halves_that_overflow_between_ops_are_let_be() -> None:
    program = random_program(7_703_266)
    assert check(program, Tally(), lambda program: islice(ways(program), 1)) is None


def test_programs_are_reproducible() -> None:
    for seed in range(FIRST, FIRST + 5):
        program = random_program(seed)
        assert graph_of(program) == graph_of(random_program(seed))
        assert all(name in MOVES for name, _ in program.moves)


def test_axes_have_facts_of_many_kinds() -> None:
    axes = [axis for seed in range(40) for axis in axes_of(seed)]
    assert {axis.multiple_of for axis in axes} == {1, 2}
    assert {axis.ranges[0][0] for axis in axes} == {0, 1, 2}
    assert None in {axis.ranges[0][1] for axis in axes}


PROGRAM = Program(FIRST, (("binary", 5), ("softmax", 3), ("norm", 1), ("unary", 8)))


def wrong(graph: Graph) -> checks.Run:
    """As an optimisation that adds a little to everything."""
    right = interpreted(graph, ())
    return lambda inputs: [np.add(x, np.asarray(0.01, x.dtype)) for x in right(inputs)]


def test_wrong_values_are_seen() -> None:
    failure = check(PROGRAM, Tally(), lambda _: iter([Way("wrong, interpreted", wrong)]))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.way) == ("values", "wrong, interpreted")


def test_errors_are_failures() -> None:
    def refuse(graph: Graph) -> checks.Run:
        raise ValueError("no")

    failure = check(PROGRAM, Tally(), lambda _: iter([Way("refuses", refuse)]))
    assert failure is not None
    assert failure.kind == "ValueError"


def test_shrinking_leaves_out_moves_that_matter_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_with_a_norm(program: Program) -> Failure | None:
        has = any(name == "norm" for name, _ in program.moves)
        return Failure("values", "", "", program) if has else None

    monkeypatch.setattr("tests.fuzz.optimizer.shrink.failure_of", fails_with_a_norm)
    small = shrunk(Failure("values", "", "", PROGRAM))
    assert small.program.moves == (("norm", 1),)
    assert "graph fuzz" in snippet(small)
