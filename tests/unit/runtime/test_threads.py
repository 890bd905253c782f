"""Many callers at once, the team and when it is called, fork, and idleness."""

import os
import threading
import time

import numpy as np
import pytest
from tests.unit.runtime.graphs import chain_program, chain_reference, diamond_program, random_graph
from tests.unit.runtime.handmade import add_program

from anyshape.runtime import machine
from anyshape.runtime.program import Program

many_cpus = pytest.mark.skipif(machine().cpus < 2, reason="needs two CPUs")


def hammer(work, threads: int = 8) -> None:
    """Call work(number) on several threads at the same time and pass on what they raise."""
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def body(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    team = [threading.Thread(target=body, args=(number,)) for number in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("entries", [1024, 3])
def test_eight_callers_with_random_shapes(entries: int):
    program = chain_program(cache_entries=entries)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(150):
            shape = rng.integers(0, 90, 2)
            a, b = rng.random(shape, np.float32), rng.random(shape, np.float32)
            np.testing.assert_array_equal(program.run([a, b])[0], chain_reference(a, b))

    hammer(work)
    metrics = program.metrics()
    assert metrics.runs == 8 * 150
    assert metrics.hits + metrics.misses == 8 * 150
    assert metrics.entries <= entries
    assert metrics.misses - metrics.evictions == metrics.entries


def test_eight_callers_of_a_graph_with_branches():
    graph = random_graph(3, steps=60)
    rng = np.random.default_rng(0)
    a, b = rng.random((60, 70), np.float32), rng.random((60, 70), np.float32)
    expected = graph.reference(a, b)

    def work(_: int) -> None:
        for _ in range(100):
            np.testing.assert_array_equal(graph.program.run([a, b])[0], expected)

    hammer(work)


@many_cpus
def test_who_calls_the_team():
    def team_runs(program: Program, n: int) -> int:
        a = np.ones((n, n), np.float32)
        program.run([a, a])
        return program.metrics().team_runs

    assert team_runs(add_program(), 100) == 1
    assert team_runs(add_program(), 4) == 0  # one task
    assert team_runs(add_program(threads=1), 100) == 0
    assert team_runs(add_program(cost=9_999), 100) == 0
    assert team_runs(add_program(cost=10_000), 100) == 1
    assert team_runs(add_program(cost=500, team_cost_ns=400, split_cost_ns=400), 100) == 1
    assert team_runs(add_program(cost=500, team_cost_ns=400), 100) == 0  # nothing to share
    assert add_program(threads=1).threads == 1
    assert add_program(threads=1000).threads == add_program().threads == machine().cpus


def test_callers_of_different_programs_share_the_team():
    programs = [chain_program(), diamond_program(), add_program()]
    rng = np.random.default_rng(0)
    a, b = rng.random((200, 200), np.float32), rng.random((200, 200), np.float32)
    expected = [chain_reference(a, b), (a + a) * (a + b), a + b]

    def work(number: int) -> None:
        for _ in range(60):
            result = programs[number % 3].run([a, b])[0]
            np.testing.assert_array_equal(result, expected[number % 3])

    hammer(work, 6)


def test_idle_threads_use_no_cpu():
    a = np.ones((200, 200), np.float32)
    chain_program().run([a, a])
    time.sleep(0.01)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.02


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point
def test_a_child_has_a_team_of_its_own():
    program = chain_program()
    a = np.ones((200, 200), np.float32)
    expected = program.run([a, a])[0]
    child = os.fork()
    if child == 0:
        same = all(np.array_equal(program.run([a, a])[0], expected) for _ in range(20))
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(program.run([a, a])[0], expected)
