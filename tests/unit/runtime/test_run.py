"""Program.run: results at many shapes, aliases, weights, variants, scratch, steps without work."""

import gc

import numpy as np
import pytest
from tests.unit.runtime.graphs import (
    chain_program,
    chain_reference,
    diamond_program,
    random_graph,
    with_conflicts,
)
from tests.unit.runtime.handmade import (
    GRAIN,
    Handmade,
    add_kernel,
    add_program,
    compiled,
    double_kernel,
    elementwise,
    matrices,
    multiply_kernel,
)

from anyshape.program import Address, AliasStore, ArenaStore, Immediate, Step, Word
from anyshape.runtime.program import Program

SHAPES = [
    (0, 0),
    (0, 5),
    (5, 0),
    (1, 1),
    (1, 7),
    (4, 4),
    (7, 9),
    (8, 8),
    (13, 5),
    (64, 65),
    (300, 401),
]
THREADS = [1, 0]


def pair(m: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((m, n), np.float32), rng.random((m, n), np.float32)


@pytest.mark.parametrize("threads", THREADS)
def test_add(threads: int):
    program = add_program(threads=threads)
    for m, n in SHAPES:
        a, b = pair(m, n)
        (result,) = program.run([a, b])
        assert result.shape == (m, n)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, a + b)


@pytest.mark.parametrize("threads", THREADS)
def test_chain_reuses_memory(threads: int):
    program = chain_program(threads=threads)
    for m, n in SHAPES:
        a, b = pair(m, n)
        np.testing.assert_array_equal(program.run([a, b])[0], chain_reference(a, b))
    memory = program.specialize([64, 65]).memory
    aligned = -(-64 * 65 * 4 // 64) * 64
    assert memory.arena == memory.lower_bound == 2 * aligned
    placed = program.specialize([64, 65]).placements
    assert placed[2].offset == placed[4].offset != placed[3].offset


@pytest.mark.parametrize("threads", THREADS)
def test_diamond(threads: int):
    program = diamond_program(threads=threads)
    for m, n in SHAPES:
        a, b = pair(m, n)
        product, fourfold = program.run([a, b])
        np.testing.assert_array_equal(product, (a + a) * (a + b))
        np.testing.assert_array_equal(fourfold, (4 * a).reshape(n, m))


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed: int):
    graph = random_graph(seed, steps=40)
    for m, n in [(1, 1), (3, 50), (40, 80), (0, 9), (128, 64)]:
        a, b = pair(m, n, seed)
        for _ in range(5):
            (result,) = graph.program.run([a, b])
            np.testing.assert_array_equal(result, graph.reference(a, b))


def test_results_are_new_each_time():
    program = add_program()
    a, b = pair(4, 4)
    first, second = program.run([a, b])[0], program.run([a, a])[0]
    np.testing.assert_array_equal(first, a + b)
    np.testing.assert_array_equal(second, a + a)
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert first.ctypes.data % 64 == 0


def test_results_outlive_the_program():
    program = add_program()
    a, b = pair(100, 100)
    (result,) = program.run([a, b])
    del program
    gc.collect()
    np.testing.assert_array_equal(result, a + b)


def test_in_place_and_offset_aliases():
    """t = a + b; u = t * b in t's memory; out = u[1:] + u[1:], through an alias of one row less."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    shape = made.shape
    m, n = shape.read(0), shape.read(1)
    shape.check("sge", m, 1)
    rows = shape.op("sub", m, 1)
    rest = made.word(rest_value := shape.op("mul", rows, n))
    rest_bytes = made.word(shape.op("mul", rest_value, 4))
    row_bytes = made.word(shape.op("mul", n, 4))
    rows_word = made.word(rows)
    rest_tasks = made.word(shape.ceil_div(rest_value, GRAIN))
    t = made.buffer(ArenaStore(0, 0), sizes.nbytes)
    u = made.buffer(AliasStore(t), sizes.nbytes)
    tail = made.buffer(AliasStore(u, row_bytes), rest_bytes)
    out = made.output([rows_word, sizes.n], rest_bytes)
    s0 = made.step(add_kernel(), [0, 1, t], sizes.count, sizes.tasks)
    s1 = made.step(multiply_kernel(), [t, 1, u], sizes.count, sizes.tasks, [s0])
    made.step(double_kernel(), [tail, out], rest, rest_tasks, [s1])
    program = with_conflicts(made).program()
    for m_size, n_size in [(1, 5), (2, 3), (9, 100)]:
        a, b = pair(m_size, n_size)
        np.testing.assert_array_equal(program.run([a, b])[0], 2 * ((a + b) * b)[1:])
    specialization = program.specialize([9, 100])
    assert specialization.memory.aliased == 9 * 400 + 8 * 400
    assert specialization.placements[tail].offset == specialization.placements[t].offset + 400


def test_constants():
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = Handmade()
    sizes = matrices(made, ["a"])
    made.shape.check("eq", made.shape.read(0), 3)
    w = made.constant(weight)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    made.step(add_kernel(), [0, w, out], sizes.count, sizes.tasks)
    program = Program(made.description(), keep=[weight])
    expected = 2 * weight
    a = weight.copy()
    del weight
    gc.collect()
    np.testing.assert_array_equal(program.run([a])[0], expected)


def test_variants():
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    wide = made.shape._value(f"icmp sgt i64 {made.shape.read(1)}, 8")
    variant = made.word(made.shape._value(f"zext i1 {wide} to i64"))
    kernels = (add_kernel(), multiply_kernel())
    made.step(kernels, [0, 1, out], sizes.count, sizes.tasks, variant=variant)
    program = made.program()
    for n in (3, 8, 9, 40):
        a, b = pair(5, n)
        np.testing.assert_array_equal(program.run([a, b])[0], a * b if n > 8 else a + b)


# Each task goes through its worker's slice: slice[0] = task, then out[task] = slice[0].
_THROUGH_SCRATCH = """
define void @kernel(ptr %block, i64 %first, i64 %last, i64 %worker) {
entry:
  %out = load ptr, ptr %block
  %p1 = getelementptr i64, ptr %block, i64 1
  %scratch = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %block, i64 2
  %stride = load i64, ptr %p2
  %offset = mul i64 %worker, %stride
  %slice = getelementptr i8, ptr %scratch, i64 %offset
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  store volatile i64 %i, ptr %slice
  %x = load volatile i64, ptr %slice
  %p = getelementptr i64, ptr %out, i64 %i
  store i64 %x, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def test_scratch_of_each_worker():
    made = Handmade(symbols=1)
    made.input("a", 1, made.word(made.shape.op("mul", made.shape.read(0), 4)))
    made.bind.store(made.bind.read(0))
    n = made.word(made.shape.read(0))
    nbytes = made.word(made.shape.op("mul", made.shape.read(0), 8))
    slice_bytes = made.word(64)
    scratch = made.buffer(ArenaStore(0, 0, per_worker=True), slice_bytes)
    out = made.output([n], nbytes, np.int64)
    kernel = made.variant(compiled(_THROUGH_SCRATCH).address("kernel"))
    block = (Address(out), Address(scratch), Immediate(64))
    made.steps.append(Step("through", (kernel,), n, block))
    program = made.program()
    for size in (1, 2, 1000, 100_000):
        (result,) = program.run([np.zeros(size, np.float32)])
        np.testing.assert_array_equal(result, np.arange(size))
    assert program.specialize([5]).memory.arena == 64 * program.threads


def test_waiting_for_a_step_without_work_is_waiting_for_what_it_waits_for():
    """t = a + b; nothing; out = t + t, which waits for the step with no tasks only."""
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    none = made.word(0)
    t = made.buffer(ArenaStore(0, 2), sizes.nbytes)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    s0 = made.step(add_kernel(), [0, 1, t], sizes.count, sizes.tasks)
    s1 = made.step(add_kernel(), [0, 1, t], sizes.count, none, [s0])
    made.step(double_kernel(), [t, out], sizes.count, sizes.tasks, [s1])
    program = with_conflicts(made).program()
    a, b = pair(500, 500)
    for _ in range(50):
        np.testing.assert_array_equal(program.run([a, b])[0], 2 * (a + b))
    assert program.specialize([2, 2]).tasks == (1, 0, 1)


def test_words_and_addresses_inside_of_buffers():
    """out = a[1:] + a[:-1] on one axis: the first operand is the input plus four bytes."""
    made = Handmade(symbols=1)
    a_buffer = made.input("a", 1, made.word(made.shape.op("mul", made.shape.read(0), 4)))
    made.bind.store(made.bind.read(0))
    size = made.shape.op("sub", made.shape.read(0), 1)
    made.shape.check("sge", size, 0)
    n, nbytes = made.word(size), made.word(made.shape.op("mul", size, 4))
    tasks, four = made.word(made.shape.ceil_div(size, GRAIN)), made.word(4)
    behind = made.buffer(AliasStore(a_buffer, four), nbytes)
    out = made.output([n], nbytes)
    block = (Address(behind), Address(a_buffer), Address(out), Word(n))
    made.steps.append(Step("neighbours", (made.variant(add_kernel()),), tasks, block))
    a = np.random.default_rng(0).random(1000, np.float32)
    np.testing.assert_array_equal(made.program().run([a])[0], a[1:] + a[:-1])


def test_no_inputs_no_symbols_and_no_outputs():
    made = Handmade()
    n, nbytes, one = made.word(3), made.word(12), made.word(1)
    weight = np.array([1, 2, 3], np.float32)
    w = made.constant(weight)
    out = made.output([n], nbytes)
    made.step(double_kernel(), [w, out], n, one)
    program = Program(made.description(), keep=[weight])
    assert program.run([])[0].tolist() == [2, 4, 6]
    assert Handmade().program().run(()) == ()


def test_other_dtypes():
    kernel = elementwise("  %r = add i64 %x0, %x0", 1, "i64")
    made = Handmade()
    sizes = matrices(made, ["a"], item=8, dtype=np.int64)
    out = made.output([sizes.m, sizes.n], sizes.nbytes, np.int64)
    made.step(kernel, [0, out], sizes.count, sizes.tasks)
    a = np.arange(15).reshape(3, 5)
    (result,) = made.program().run([a])
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, 2 * a)
