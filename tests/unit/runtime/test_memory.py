"""Memory between runs: arenas grow and shrink, idle contexts and blocks go, reserves stay."""

import gc
import threading
from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np
import pytest
from tests.unit.runtime.graphs import chain_program
from tests.unit.runtime.handmade import add_program

from anyshape.base.errors import OutOfMemoryError
from anyshape.runtime.failures import MemoryLimitExceededError
from anyshape.runtime.program import Program, output_pool, set_output_pool_limit, trim_process

ARENA_WINDOW = 256  # runs, as in arena.h
POOL_WINDOW = 1024  # blocks, as in pool.h
MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean_pool() -> Iterator[None]:
    gc.collect()
    trim_process()
    yield
    trim_process()


def run(program: Program, rows: int, columns: int = 1024) -> None:
    a = np.ones((rows, columns), np.float32)
    program.run([a, a])


def arena(program: Program) -> int:
    return program.metrics().idle_arena_bytes


# --- arenas -----------------------------------------------------------------------------------


def test_an_arena_shrinks_when_demand_falls():
    program = chain_program(threads=1)
    large = program.specialize([1024, 1024]).memory.arena
    small = program.specialize([1, 1024]).memory.arena
    run(program, 1024)
    assert arena(program) >= large > 2 * MIB
    for _ in range(3 * ARENA_WINDOW):  # two of them without the large run
        run(program, 1)
    assert small <= arena(program) < small + 4096
    run(program, 1024)
    assert arena(program) >= large


def test_an_arena_grows_by_huge_pages_once_it_is_large():
    """Sizes that grow a little from call to call then ask the system for nothing."""
    program = chain_program(threads=1)
    run(program, 1)
    assert 0 < arena(program) < 2 * MIB
    sizes = set[int]()
    for rows in range(40, 240):
        run(program, rows)
        assert arena(program) >= program.specialize([rows, 1024]).memory.arena
        sizes.add(arena(program))
    large = {size for size in sizes if size >= 2 * MIB}
    assert large
    assert all(size % (2 * MIB) == 0 for size in large)
    assert len(large) <= max(large) // (2 * MIB)


def test_an_arena_that_is_needed_now_and_then_is_kept():
    program = chain_program(threads=1)
    large = program.specialize([1024, 1024]).memory.arena
    rows = chain.from_iterable(repeat([1024, *repeat(1, ARENA_WINDOW - 1)], 6))
    run(program, 1024)
    for n in rows:
        run(program, n)
        assert arena(program) >= large


def test_a_growing_arena_keeps_results_right():
    """Through several reservations of address space, up and down."""
    program = chain_program(threads=1)
    rng = np.random.default_rng(0)
    for rows in (1, 3, 50, 700, 9, 3000, 12_000, 2, 12_001):
        a = rng.standard_normal((rows, 257)).astype(np.float32)
        first = program.run([a, a])[0]
        program.trim()
        np.testing.assert_array_equal(program.run([a, a])[0], first)


def test_contexts_of_a_burst_of_callers_go():
    program = chain_program(threads=1)
    steppers = [program.stepwise([np.ones((256, 256), np.float32)] * 2) for _ in range(6)]
    del steppers
    assert program.metrics().idle_contexts == 6
    for _ in range(2 * ARENA_WINDOW):
        run(program, 256, 256)
    assert program.metrics().idle_contexts == 1


# --- the pool -----------------------------------------------------------------------------------


def test_blocks_that_nobody_needs_go_back():
    program = add_program(threads=1)
    run(program, 1024)  # 4 MiB
    assert output_pool().idle == 4 * MIB
    for _ in range(2 * POOL_WINDOW):
        run(program, 1, 16)
    assert output_pool().idle == 64


def test_blocks_that_are_needed_stay():
    program = add_program(threads=1)
    run(program, 1024)
    for n in range(4 * POOL_WINDOW):
        run(program, 1024 if n % (POOL_WINDOW // 2) == 0 else 1, 1024)
    assert output_pool().idle >= 4 * MIB


def test_blocks_of_all_sizes_are_apart():
    program = add_program(threads=1)
    results = [program.run([np.full((n, 700), n, np.float32)] * 2)[0] for n in range(0, 3000, 211)]
    for number, result in enumerate(results):
        assert (result == 2 * 211 * number).all()


# --- reserve and trim -------------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_reserved_memory_is_there_and_stays():
    program = chain_program(threads=1)
    memory = program.specialize([8192, 1024]).memory
    before = resident()
    program.reserve([8192, 1024])
    assert resident() - before > 0.9 * (memory.arena + memory.outputs)
    for _ in range(3 * POOL_WINDOW):
        run(program, 1, 16)
    assert resident() - before > 0.9 * (memory.arena + memory.outputs)
    assert arena(program) >= memory.arena
    program.trim()
    trim_process()
    assert resident() - before < 0.2 * (memory.arena + memory.outputs)
    assert arena(program) == output_pool().idle == 0


def test_reserves_are_kept_beyond_the_limit_of_the_pool():
    limit = output_pool().limit
    set_output_pool_limit(0)
    program = add_program(threads=1)
    program.reserve([1024, 1024])
    assert output_pool().idle == 4 * MIB
    run(program, 1024)
    assert output_pool().idle == 4 * MIB
    trim_process()
    assert output_pool().idle == 0
    set_output_pool_limit(limit)


def test_trim_while_runs_go_on():
    program = chain_program(threads=1)
    a = np.ones((64, 64), np.float32)
    expected = program.run([a, a])[0]
    stop = threading.Event()
    wrong: list[str] = []

    def calls() -> None:
        while not stop.is_set():
            if not np.array_equal(program.run([a, a])[0], expected):
                wrong.append("a result")

    callers = [threading.Thread(target=calls) for _ in range(3)]
    for caller in callers:
        caller.start()
    for _ in range(300):
        program.trim()
        trim_process()
    stop.set()
    for caller in callers:
        caller.join()
    assert not wrong


# --- limits -----------------------------------------------------------------------------------


def test_a_limit_is_exact():
    memory = chain_program(threads=1).specialize([100, 100]).memory
    needed = memory.arena + memory.outputs
    run(chain_program(threads=1, memory_limit=needed), 100, 100)
    refusing = chain_program(threads=1, memory_limit=needed - 1)
    with pytest.raises(MemoryLimitExceededError) as caught:
        run(refusing, 100, 100)
    assert (caught.value.arena, caught.value.outputs) == (memory.arena, memory.outputs)
    assert (caught.value.copies, caught.value.limit) == (0, needed - 1)
    assert str(caught.value) == (
        f"a run for (100, 100) needs {needed} bytes, the limit is {needed - 1}"
    )
    assert arena(refusing) == output_pool().used == 0
    with pytest.raises(MemoryLimitExceededError):
        refusing.reserve([100, 100])
    with pytest.raises(MemoryLimitExceededError):
        refusing.stepwise([np.ones((100, 100), np.float32)] * 2)
    run(refusing, 99, 100)


def test_copies_of_inputs_count():
    program = add_program(threads=1, memory_limit=40_000)
    dense = np.ones((100, 100), np.float32)
    program.run([dense, dense])
    with pytest.raises(MemoryLimitExceededError) as caught:
        program.run([dense.T, dense])
    assert (caught.value.outputs, caught.value.copies) == (40_000, 40_000)


@pytest.mark.parametrize("rows", [2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**47])
def test_huge_inputs_are_refused_by_arithmetic(rows: int):
    """Broadcast arrays take no memory themselves; their copies and results would."""
    huge = np.broadcast_to(np.zeros(1, np.float32), (rows, 64))
    with pytest.raises(MemoryLimitExceededError) as caught:
        add_program(threads=1, memory_limit=1 << 20).run([huge, huge])
    assert caught.value.outputs == rows * 256
    assert caught.value.copies == 2 * rows * 256
    if rows >= 2**40:  # more than any machine that runs this has
        with pytest.raises(OutOfMemoryError):
            add_program(threads=1).run([huge, huge])


def test_planned_bytes_are_not_kept():
    program = chain_program(threads=1)
    planned = program.planned_bytes([100, 100])
    assert program.metrics().entries == program.metrics().misses == 0
    memory = program.specialize([100, 100]).memory
    assert planned == memory.arena + memory.outputs
    with pytest.raises(ValueError, match="another number of symbols"):
        program.planned_bytes([1])
    with pytest.raises(ValueError, match="another number of symbols"):
        program.reserve([1, 2, 3])


# --- counters -----------------------------------------------------------------------------------


def test_counters_are_exact_while_threads_evict_what_others_use():
    program = add_program(threads=1, cache_entries=3)
    calls, callers = 400, 4

    def call(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(calls):
            m, n = (int(size) for size in rng.integers(0, 4, 2))
            a = np.full((m, n), seed, np.float32)
            np.testing.assert_array_equal(program.run([a, a])[0], a + a)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(callers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen = program.metrics()
        assert seen.entries <= 3
        assert seen.hits + seen.misses <= calls * callers
    for thread in threads:
        thread.join()
    metrics = program.metrics()
    assert metrics.runs == metrics.hits + metrics.misses == calls * callers
    assert metrics.entries == metrics.misses - metrics.evictions == 3
    assert metrics.evictions > 100
