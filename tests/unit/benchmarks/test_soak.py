"""The parts of the soak that compute: chart, percentiles, streams, and what counts as right."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.soaks import threads
from benchmarks.soaks.chart import MIB, chart
from benchmarks.soaks.latency import summary
from benchmarks.soaks.memory import STREAMS, Residence, part_of


def test_a_chart():
    lines = chart({"ours": [MIB, 2 * MIB, 2 * MIB], "theirs": [MIB, 3 * MIB, 4 * MIB]}, height=5)
    assert lines == [
        "        4 ┤  o",
        "        3 ┤ o",
        "        2 ┤ ##",
        "        1 ┤#",
        "        0 ┤",
        "      MiB └─── # ours, o theirs",
    ]
    assert chart({}, height=2)[-1] == "      MiB └ "


def test_percentiles_and_shares():
    found = summary([[1.0] * 30, [1.0] * 60 + [2.0] * 9 + [9.0]])
    assert (found.p50, found.worst, found.calls) == (1.0, 9.0, (30, 70))
    assert 2 <= found.p99 < found.p999 < 9
    assert found.fairness == pytest.approx(0.6)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_a_stream_has_its_largest_once_and_in_the_first_half(stream):
    bindings = list(stream.bindings(1000))
    assert bindings == list(stream.bindings(1000))
    assert bindings.index(dict(stream.largest)) < 500
    for binding in bindings:
        assert all(1 <= size <= stream.largest[axis] for axis, size in binding.items())
    inputs = stream.model.inputs(stream.largest)
    (part,) = part_of(inputs, stream.model, stream.smallest)
    assert part.size == inputs[0].shape[-1]


def test_the_level_is_that_of_the_second_half():
    assert Residence((9, 1, 2, 3), after=1).level == 3


def test_wrong_results_and_errors_are_counted():
    soak = threads.Soak(seconds=0)
    given = threads.inputs(np.random.default_rng(0))
    assert soak.is_right(given)
    right = soak.shared
    soak.shared = lambda *arrays: tuple(np.asarray(result) + 1 for result in right(*arrays))
    assert not soak.is_right(given)
    rows = threads._table("t", soak_with(soak, wrong=2, raised=[ValueError()]), first=1).rows
    assert [row.met for row in rows[:3]] == [False, False, False]
    rows = threads._table("t", soak_with(soak), first=0).rows
    assert [row.met for row in rows[:3]] == [True, True, True]


def soak_with(soak, **seen):
    metrics = SimpleNamespace(team_runs=0, runs=0, misses=0, hits=0)
    shared = SimpleNamespace(metrics=lambda: metrics)
    return SimpleNamespace(shared=shared, tallies=[threads.Tally(right=1, **seen)])
