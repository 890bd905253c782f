"""Many callers at once, the team and when it is called, fork, and idleness.

Signals, forks at bad moments and the like are in test_faults.py.
"""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from tests.forks import in_child
from tests.unit.runtime.duration import seconds_to_test, wait_until_idle
from tests.unit.runtime.graphs import chain_program, chain_reference, diamond_program, random_graph
from tests.unit.runtime.handmade import Handmade, add_program, elementwise, matrices
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.options import Options, options_from_environment
from anyshape.runtime import machine
from anyshape.runtime.program import Program

SECONDS = seconds_to_test(short=3, in_ci=20)
WATCHDOG_SECONDS = 120 + SECONDS

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

    team = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join(WATCHDOG_SECONDS)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in team), "a caller hangs"


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


@many_cpus
def test_workers_do_not_take_the_cpus_of_callers_that_go_alone():
    big, small = np.ones((2000, 2000), np.float32), np.ones((100, 100), np.float32)
    shared, long = add_program(), add_program(threads=1)
    over = threading.Event()

    def work(number: int) -> None:
        if number > 0:
            while not over.is_set():
                long.run([big, big])
            return
        while long.metrics().runs < 2 * machine().cpus:
            time.sleep(0.001)
        for _ in range(100):
            shared.run([small, small])
        over.set()

    hammer(work, machine().cpus)
    assert shared.metrics().team_runs < 50


@many_cpus
def test_threads_have_the_same_share_of_every_step():
    """Each writes its number. Of two runs close together, nobody is late for the second."""
    made = Handmade()
    sizes = matrices(made, ["a"])
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    number = elementwise("  %r = uitofp i64 %worker to float", 1)
    made.step(number, [0, out], sizes.count, sizes.tasks)
    program, a = made.program(threads=2), np.ones((1000, 512), np.float32)
    expected = np.repeat(np.float32([0, 1]), a.size // 2).reshape(a.shape)
    until = time.monotonic() + HANGS_AFTER
    while not np.array_equal([program.run([a])[0] for _ in range(2)][1], expected):
        assert time.monotonic() < until


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
    wait_until_idle()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point
def test_a_child_has_a_team_of_its_own():
    program = chain_program()
    a = np.ones((200, 200), np.float32)
    expected = program.run([a, a])[0]
    runs = (program.run([a, a])[0] for _ in range(20))
    assert in_child(lambda: all(np.array_equal(found, expected) for found in runs))
    np.testing.assert_array_equal(program.run([a, a])[0], expected)


# ---- waiting for the team ----------------------------------------------------------------------


@many_cpus
def test_callers_that_wait_all_have_the_team():
    rng = default_rng(0)
    a, b = rng.random((200, 200), np.float32), rng.random((200, 200), np.float32)
    expected = chain_reference(a, b)
    waiting, alone = chain_program(wait_for_team=True), chain_program()

    def work(number: int) -> None:
        for _ in range(100):
            program = alone if number == 0 else waiting
            np.testing.assert_array_equal(program.run([a, b])[0], expected)

    hammer(work, 5)
    assert waiting.metrics().team_runs == waiting.metrics().runs == 400


@pytest.mark.parametrize("wait_for_team", [False, True])
def test_no_caller_starves(wait_for_team: bool):
    program = chain_program(wait_for_team=wait_for_team)
    a = np.ones((300, 300), np.float32)
    program.run([a, a])
    until = time.monotonic() + HANGS_AFTER
    turns = [0] * 4

    def work(number: int) -> None:
        """Goes on until everybody has had some turns."""
        while min(turns) < 50 and time.monotonic() < until:
            program.run([a, a])
            turns[number] += 1

    hammer(work, 4)
    assert min(turns) >= 50


# ---- executables -------------------------------------------------------------------------------


@ash.jit
def encoder(x: ash.f32["batch", "seq", 32], w: ash.f32[32, 96], v: ash.f32[32, 32]):
    q, k, values = (part[:, None] for part in ash.split(x @ w, 3, axis=-1))
    h = x + ash.attention(q, k, values)[:, 0] @ v
    return ash.layer_norm(h).sum(axis=1), ash.softmax(h, axis=-1)


def encoder_inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    batch, seq = (int(size) for size in rng.integers(0, 24, 2))
    shapes = (batch, seq, 32), (32, 96), (32, 32)
    return tuple(rng.random(shape, np.float32) / 4 for shape in shapes)


def test_eight_threads_on_one_executable():
    """Random shapes for a while, every result the same as one thread computes alone."""
    shared = ash.compile(encoder, deterministic=True)
    alone = ash.compile(encoder, deterministic=True, threads=1)
    until = time.monotonic() + SECONDS

    def work(seed: int) -> None:
        rng = default_rng(seed)
        while time.monotonic() < until:
            given = encoder_inputs(rng)
            for found, expected in zip(shared(*given), alone(*given), strict=True):
                np.testing.assert_array_equal(found, expected)

    hammer(work)
    assert shared.metrics().runs == alone.metrics().runs > 8


def at_most(threads: int) -> Options:
    return replace(options_from_environment(), threads=threads)


def compiled_encoders(**options: bool) -> list[ash.Executable]:
    by_threads = [ash.compile(encoder, threads=threads, **options) for threads in (1, 2, 0)]
    return [*by_threads, ash.compile(encoder, options=at_most(1), **options)]


def choices(executable: ash.Executable) -> list[object]:
    """The variants of each step with their costs, of which the least is taken."""
    steps = executable.specialize(batch=3, seq=50).steps
    return [step.cost.variants for step in steps if step.cost.variants]


@many_cpus
def test_what_decides_between_kernels():
    plain = [choices(executable) for executable in compiled_encoders()]
    assert plain[0] != plain[1]  # costs for one thread and for two
    deterministic = [choices(executable) for executable in compiled_encoders(deterministic=True)]
    assert deterministic[0]
    assert all(chosen == deterministic[0] for chosen in deterministic)


def test_deterministic_results_do_not_depend_on_threads():
    executables = compiled_encoders(deterministic=True)
    rng = default_rng(0)
    for _ in range(20):
        given = encoder_inputs(rng)
        first, *others = (executable(*given) for executable in executables)
        for found in others:
            for one, other in zip(first, found, strict=True):
                np.testing.assert_array_equal(one, other)


def test_threads_of_an_executable():
    cpus = machine().cpus
    threads = [
        ash.compile(encoder, threads=wanted, options=at_most(most)).executor.threads
        for wanted, most in [(0, 0), (1, 0), (1000, 0), (0, 1), (2, 1)]
    ]
    assert threads == [cpus, 1, cpus, 1, 1]
