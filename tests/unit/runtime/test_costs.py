"""What steps cost decides who runs them: one thread, or the team in ranges of tasks."""

import pytest
from tests.unit.runtime.handmade import Handmade, add_kernel, matrices

from anyshape.runtime.program import Specialization


def specialized(
    *costs_ns: int | None, threads: int = 2, tasks: int = 1000, **options: int
) -> Specialization:
    """Steps of so many tasks each, said to cost so much."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    count = made.word(tasks)
    for cost in costs_ns:
        word = None if cost is None else made.word(1000 * cost)
        made.step(add_kernel(), [0, 1, out], sizes.count, count, cost=word)
    return made.program(threads=threads, **options).specialize([1, 1])


def ranges(*costs_ns: int | None, **options: int) -> list[int]:
    return [step.ranges for step in specialized(*costs_ns, **options).steps]


def workers() -> int:
    """Two, or one on a machine with one CPU."""
    made = Handmade()
    matrices(made, ["a"])
    return made.program(threads=2).threads


two_cpus = pytest.mark.skipif(workers() < 2, reason="needs two CPUs")


@two_cpus
def test_small_steps_are_not_split():
    assert ranges(2_999, 0) == [1, 1]
    assert ranges(2_999, split_cost_ns=2_999) != [1]


@two_cpus
def test_large_steps_are_split_into_four_ranges_for_each_thread():
    assert ranges(1_000_000) == [8]
    assert ranges(None) == [8]


@two_cpus
def test_threads_have_equally_many_ranges():
    assert [ranges(None, tasks=n) for n in (1, 2, 3, 5, 6, 7, 9)] == [
        [1],
        [2],
        [2],
        [4],
        [6],
        [6],
        [8],
    ]


@two_cpus
def test_no_range_is_too_short_to_be_noticed():
    """750 ns is the shortest."""
    assert ranges(3_000) == [4]
    assert ranges(4_499) == [4]
    assert ranges(4_500) == [6]


def test_one_thread_takes_everything():
    assert ranges(1_000_000, threads=1) == [4]
    assert not specialized(1_000_000, threads=1, team_cost_ns=1 << 60).worth_a_team


@two_cpus
def test_the_team_is_called_for_what_it_can_share():
    assert specialized(6_000, 6_000).worth_a_team
    assert not specialized(6_000, 2_000, 2_000, 2_000).worth_a_team
    assert specialized(6_000, 2_000, None).worth_a_team


def test_costs_are_added_up():
    found = specialized(5, 7)
    assert found.cost == 12_000
    assert [step.cost for step in found.steps] == [5_000, 7_000]
    unknown = specialized(5, None)
    assert unknown.cost is None
    assert [step.cost for step in unknown.steps] == [5_000, None]
    huge = specialized((1 << 62) // 1000, (1 << 62) // 1000)
    assert huge.cost == 1 << 62


def test_negative_costs_are_nothing():
    assert specialized(-5).cost == 0
