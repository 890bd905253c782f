"""A short run of `make fuzz-optimizer`, and what its checks can see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from tests.fuzz.optimizer import check as checks
from tests.fuzz.optimizer.check import Failure, Tally, Way, check, interpreted, ways
from tests.fuzz.optimizer.program import (
    ALL,
    Program,
    axes_of,
    graph_of,
    plain_program,
    random_program,
)
from tests.fuzz.optimizer.shrink import shrunk, snippet

from anyshape.ir import Graph, evaluate
from anyshape.ir.text.parser import parse

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
    assert checks.passes_are_done(graph_of(plain_program(seed)), Tally())


def test_scores_of_halves_that_overflow_between_ops_are_let_be() -> None:
    program = plain_program(7_703_266)
    assert check(program, Tally(), lambda program: islice(ways(program), 1)) is None


def test_passes_have_something_to_do() -> None:
    """A part of them in each of a few graphs; a long run fails for any that never has."""
    tally = Tally()
    for seed in range(FIRST, FIRST + 100):
        program = random_program(seed)
        tally.moves.update(name for name, _ in program.moves)
        assert checks.passes_are_done(graph_of(program), tally)
    assert len(tally.missing()) <= 6, tally.missing()
    assert not tally.passes.keys() & checks.IDLE.keys()


def test_programs_are_reproducible() -> None:
    for seed in range(FIRST, FIRST + 5):
        program = random_program(seed)
        assert graph_of(program) == graph_of(random_program(seed))
        assert all(name in ALL for name, _ in program.moves)


def test_axes_have_facts_of_many_kinds() -> None:
    axes = [axis for seed in range(40) for axis in axes_of(random_program(seed))]
    assert {axis.multiple_of for axis in axes} == {1, 2, 8}
    assert {axis.ranges[0][0] for axis in axes} == {0, 1, 2, 8}
    assert {len(axis.ranges) for axis in axes} == {1, 2}
    assert {axis.broadcasts for axis in axes} == {True, False}
    assert None in {axis.ranges[0][1] for axis in axes}
    assert any(axis.likely for axis in axes)


PROGRAM = Program(FIRST, (("binary", 5), ("softmax", 3), ("norm", 1), ("unary", 8)))


def times(factor: float) -> Way:
    """As an optimisation that is a little off, everywhere."""

    def make(graph: Graph) -> checks.Run:
        right = interpreted(graph, ())
        return lambda inputs: [(x * factor).astype(x.dtype) for x in right(inputs)]

    return Way("wrong, interpreted", make)


def other_gelu(graph: Graph) -> checks.Run:
    """As an optimisation that takes one definition for another, which is nearly the same."""
    other = parse(re.sub(r"(= gelu\(.*?\)) :", r"\1 {approximate=tanh} :", graph.as_text()))
    assert other != graph
    return lambda inputs: evaluate(other, *inputs)


def test_values_that_are_hardly_wrong_are_seen() -> None:
    """Less than a hundredth of what rounding an input to 16 bits does."""
    failure = check(PROGRAM, Tally(), lambda _: iter([times(1 + 1e-5)]))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.way) == ("values", "wrong, interpreted")


def test_another_definition_of_an_op_is_seen() -> None:
    program = Program(FIRST, (("gated", 2), ("residual", 3)))
    failure = check(program, Tally(), lambda _: iter([Way("wrong, interpreted", other_gelu)]))
    assert failure is not None


def test_most_graphs_show_a_small_error() -> None:
    programs = [random_program(seed) for seed in range(FIRST, FIRST + 30)]
    seen = [check(each, Tally(), lambda _: iter([times(1 + 3e-5)])) for each in programs]
    assert sum(failure is not None for failure in seen) >= 24


def test_what_cancels_in_a_gelu_is_rounding() -> None:
    """Its tail near -5, times a gate of some hundreds: right, and off by 6e-5."""
    program = plain_program(91_510_135)
    assert check(program, Tally()) is None


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
