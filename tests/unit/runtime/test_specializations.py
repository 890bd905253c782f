"""Level 2: the cache and its metrics, checks and sizes that fail, one flight per binding."""

import threading

import numpy as np
import pytest
from tests.unit.runtime.graphs import chain_program, chain_reference
from tests.unit.runtime.handmade import (
    Handmade,
    add_kernel,
    add_program,
    compiled,
    double_kernel,
    matrices,
)

from anyshape.program import AliasStore, ArenaStore, ProgramDescription
from anyshape.runtime.failures import CheckFailedError, ImpossibleSizeError
from anyshape.runtime.program import Program


def counts(program: Program) -> tuple[int, int, int, int]:
    metrics = program.metrics()
    return metrics.hits, metrics.misses, metrics.evictions, metrics.entries


def call(program: Program, m: int, n: int) -> None:
    a = np.full((m, n), 2, np.float32)
    np.testing.assert_array_equal(program.run([a, a])[0], a + a)


def test_least_recently_used_goes_first():
    program = add_program(cache_entries=2)
    call(program, 1, 1)
    call(program, 2, 2)
    call(program, 1, 1)
    assert counts(program) == (1, 2, 0, 2)
    call(program, 3, 3)  # 2×2 goes
    call(program, 1, 1)
    assert counts(program) == (2, 3, 1, 2)
    call(program, 2, 2)  # 3×3 goes
    assert counts(program) == (2, 4, 2, 2)


def test_bounded_by_bytes():
    program = add_program()
    size = program.specialize([1, 1]).held_bytes
    assert program.metrics().bytes == size
    small = add_program(cache_bytes=3 * size)
    for n in range(10):
        call(small, n, 1)
    assert small.metrics().entries == 3
    assert small.metrics().bytes == 3 * size
    assert small.metrics().evictions == 7
    tiny = add_program(cache_bytes=0)
    for n in range(3):
        call(tiny, n, 1)
        assert tiny.metrics().entries == 1


def test_an_evicted_specialization_can_still_be_read():
    program = add_program(cache_entries=1)
    kept = program.specialize([7, 9])
    call(program, 1, 1)
    assert kept.symbols == (7, 9)
    assert kept.words[:3] == (7, 9, 63)


def test_symbols_in_another_order_are_another_binding():
    program = add_program()
    for shape in [(2, 3), (3, 2), (1, 6), (6, 1), (0, 6), (6, 0)]:
        call(program, *shape)
    assert counts(program) == (0, 6, 0, 6)
    assert program.specialize([3, 2]).symbols == (3, 2)
    assert counts(program) == (1, 6, 0, 6)


def test_number_of_symbols():
    with pytest.raises(ValueError, match="another number of symbols"):
        add_program().specialize([1])


def test_trim():
    program = chain_program(threads=1)
    call_chain = np.ones((300, 300), np.float32)
    program.run([call_chain, call_chain])
    assert program.metrics().idle_arena_bytes >= 2 * 360_000
    program.trim()
    metrics = program.metrics()
    assert (metrics.entries, metrics.bytes, metrics.idle_arena_bytes) == (0, 0, 0)
    program.run([call_chain, call_chain])


@pytest.mark.parametrize("entries", [1, 2, 64])
def test_an_arena_is_one_for_its_sizes_whatever_was_made_before(entries: int):
    """Sizes in another order have buffers as large as before, and others do not."""
    program = chain_program(threads=1, cache_entries=entries)
    for shape in [(2, 12), (12, 2), (3, 8), (300, 2), (2, 300), (0, 5), (24, 1), (25, 1), (24, 1)]:
        found, alone = program.specialize(shape), chain_program(threads=1).specialize(shape)
        assert (found.memory, found.placements) == (alone.memory, alone.placements)
        a, b = (np.full(shape, number, np.float32) for number in (2, 3))
        np.testing.assert_array_equal(program.run([a, b])[0], chain_reference(a, b))


# ---- failures ----------------------------------------------------------------------------------


def test_failed_check_of_shape():
    made = Handmade()
    sizes = matrices(made, ["a"])
    made.shape.check("sge", made.shape.read(0), 2)
    made.shape.check("sle", made.shape.read(1), 10)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    made.step(double_kernel(), [0, out], sizes.count, sizes.tasks)
    program = made.program()
    with pytest.raises(CheckFailedError) as caught:
        program.run([np.zeros((1, 5), np.float32)])
    assert (caught.value.stage, caught.value.check, caught.value.values) == ("shape", 0, (1, 5))
    with pytest.raises(CheckFailedError) as caught:
        program.specialize([2, 11])
    assert (caught.value.check, caught.value.values) == (1, (2, 11))
    assert program.metrics().entries == 0
    assert program.run([np.ones((2, 10), np.float32)])[0].sum() == 40


def doubling_with(**words) -> Program:
    """A program with some words replaced by constants."""
    made = Handmade()
    sizes = matrices(made, ["a"])
    changed = {name: made.word(value) for name, value in words.items()}
    nbytes = changed.get("nbytes", sizes.nbytes)
    t = made.buffer(ArenaStore(0, 1), changed.get("arena", sizes.nbytes))
    u = made.buffer(ArenaStore(0, 1, (t,)), changed.get("arena", sizes.nbytes))
    none = made.word(0)
    made.buffer(AliasStore(t, changed.get("offset")), changed.get("alias", none))
    out = made.output([changed.get("dim", sizes.m), sizes.n], nbytes)
    tasks, variant = changed.get("tasks", sizes.tasks), changed.get("variant")
    s0 = made.step(double_kernel(), [0, t], sizes.count, tasks, variant=variant)
    made.step(add_kernel(), [t, 0, out], sizes.count, sizes.tasks, [s0])
    assert u == t + 1
    return made.program(threads=1)


@pytest.mark.parametrize(
    ("words", "subject", "value"),
    [
        ({"arena": -1}, "bytes of buffer 1", -1),
        ({"arena": (1 << 62) + 1}, "bytes of buffer 1", (1 << 62) + 1),
        ({"arena": 1 << 62}, "bytes of the arena, at least", 1 << 62),
        ({"nbytes": -8}, "bytes of buffer 4", -8),
        ({"nbytes": 8}, "bytes, too few for its shape, of buffer 4", 8),
        ({"dim": -1}, "a size of the output in buffer 4", -1),
        ({"dim": 1 << 61}, "bytes, too few for its shape, of buffer 4", 64),
        ({"offset": -4}, "offset of buffer 3", -4),
        ({"offset": 65}, "end of buffer 3", 65),
        ({"offset": 60, "alias": 8}, "end of buffer 3", 68),
        ({"tasks": -1}, "tasks of step 0", -1),
        ({"variant": 1}, "variant of step 0", 1),
        ({"variant": -1}, "variant of step 0", -1),
    ],
)
def test_impossible_sizes(words: dict[str, int], subject: str, value: int):
    with pytest.raises(ImpossibleSizeError) as caught:
        doubling_with(**words).specialize([4, 4])
    assert (caught.value.subject, caught.value.value) == (subject, value)
    assert str(caught.value) == f"impossible {subject}: {value}"


def test_sizes_that_no_memory_has():
    program = doubling_with(nbytes=1 << 55)
    program.specialize([4, 4])  # arithmetic only
    with pytest.raises(MemoryError):
        program.run([np.zeros((4, 4), np.float32)])
    program = doubling_with(arena=1 << 55)
    assert program.specialize([4, 4]).memory.arena == 1 << 56
    with pytest.raises(MemoryError):
        program.run([np.zeros((4, 4), np.float32)])


# ---- threads -----------------------------------------------------------------------------------

# Counts in memory that words[0] does not depend on: takes a few hundredths of a second.
_SLOW_SHAPE = """
define i64 @slow(ptr %in, ptr %out) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  store volatile i64 %i, ptr %out
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 50000000
  br i1 %more, label %loop, label %done
done:
  %s = load i64, ptr %in
  store i64 %s, ptr %out
  %bad = icmp slt i64 %s, 0
  %answer = select i1 %bad, i64 7, i64 -1
  ret i64 %answer
}
"""


def slow_program() -> Program:
    made = Handmade()
    bind = made.description().bind
    slow = compiled(_SLOW_SHAPE).address("slow")
    return Program(ProgramDescription(bind, slow, 1, 1, (), (), (), (), (), ()))


@pytest.mark.parametrize("symbol", [5, -5])
def test_a_new_binding_on_many_threads_is_made_once(symbol: int):
    program = slow_program()
    results: list[object] = []
    start = threading.Barrier(6)

    def ask() -> None:
        start.wait()
        try:
            results.append(program.specialize([symbol]).words)
        except CheckFailedError as error:
            results.append(error.check)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(5,) if symbol > 0 else 7] * 6
    if symbol > 0:
        assert counts(program) == (5, 1, 0, 1)
    else:  # a failure is not kept, so a late thread tries again
        hits, misses, _, entries = counts(program)
        assert (hits + misses, entries) == (6, 0)
    assert program.metrics().specialize_ns > 1_000_000
