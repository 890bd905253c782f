"""Donated inputs: results written over them or behind them, and never another result for it."""

from itertools import pairwise
from threading import Thread
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.base.errors import AxisConflictError, MemoryLimitError, OptionError
from anyshape.execute import EXECUTORS, Executable


@ash.jit
def update(state: ash.f32["n", "m"], x: ash.f32["n", "m"]):
    new = state * 2 + x
    return ash.sum(new, 1), new


def updating(executor: Any = "native") -> Executable:
    return ash.compile(update, executor=executor, donate=("state",))


def pair(n: int = 4, m: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(n * 100 + m)
    return rng.integers(0, 9, (n, m)).astype(np.float32), rng.random((n, m), np.float32)


def plain(array: Any) -> Any:
    return np.array(array.numpy() if isinstance(array, torch.Tensor) else array)


# --- written over ---------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("n", "m"), [(4, 6), (1, 1), (0, 3), (3, 0), (37, 131)])
def test_a_result_takes_the_memory_of_its_input(executor: Any, n: int, m: int) -> None:
    executable = updating(executor)
    state, x = pair(n, m)
    expected = state * 2 + x
    for given in (state.copy(), torch.from_numpy(state.copy())):
        total, new = executable(given, x if isinstance(given, np.ndarray) else torch.from_numpy(x))
        np.testing.assert_array_equal(plain(new), expected)
        np.testing.assert_allclose(plain(total), expected.sum(1), rtol=1e-5)
        assert (new is given) == (executor != "reference")


def test_nothing_is_allocated_for_it() -> None:
    """A chain of calls stays in one place, and holds on to nothing but that."""
    executable = updating()
    state, x = pair()
    first = state = torch.from_numpy(state)
    for _ in range(50):
        state = executable(state, torch.from_numpy(x))[1]
    assert state is first


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_cannot_be_written_is_copied(executor: Any) -> None:
    executable = updating(executor)
    state, x = pair(4, 4)
    expected = state * 2 + x
    fixed = state.copy()
    fixed.flags.writeable = False
    raw = np.zeros(65, np.uint8)
    misaligned = raw[1:].view(np.float32).reshape(4, 4)
    misaligned[...] = state
    for given in (fixed, np.asfortranarray(state), np.repeat(state, 2, 1)[:, ::2], misaligned):
        before = given.copy()
        new = executable(given, x)[1]
        np.testing.assert_array_equal(new, expected)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_array_that_another_input_overlaps_is_copied(executor: Any) -> None:
    executable = updating(executor)
    memory = np.arange(40, dtype=np.float32).reshape(10, 4)
    for state, x in (
        (memory[:4], memory[:4]),
        (memory[:4], memory[2:6]),
        (memory[:4], memory[3::-1]),
        (memory[:4].reshape(4, 4), memory[:8:2]),
    ):
        before = memory.copy()
        expected = state * 2 + x
        np.testing.assert_array_equal(executable(state, x)[1], expected)
        np.testing.assert_array_equal(memory, before)


def test_inputs_that_are_needed_later_are_not_written_over() -> None:
    @ash.jit
    def both(x: ash.f32["n"]):
        return x * 2, ash.cumsum(x, 0) + x

    executable = ash.compile(both, donate=("x",))
    x = np.arange(1, 6, dtype=np.float32)
    doubled, summed = executable(x.copy())
    np.testing.assert_array_equal(doubled, x * 2)
    np.testing.assert_array_equal(summed, np.cumsum(x) + x)


def test_looking_at_steps_leaves_what_is_donated() -> None:
    executable = updating()
    state, x = pair()
    before = state.copy()
    steps = list(executable.steps(state, x))
    np.testing.assert_array_equal(state, before)
    assert any(np.array_equal(value, before * 2 + x) for step in steps for value in step.values)


def test_out_may_be_the_donated_array_or_another() -> None:
    executable = updating()
    state, x = pair()
    expected = state * 2 + x
    other = np.empty_like(state)
    assert executable.run((state, x), out=(None, other))[1] is other
    np.testing.assert_array_equal(other, expected)
    again, x = pair()
    assert executable.run((again, x), out=(None, again))[1] is again
    np.testing.assert_array_equal(again, expected)
    shifted = np.zeros((5, 6), np.float32)
    shifted[:4], x = pair()
    executable.run((shifted[:4], x), out=(None, shifted[1:]))
    np.testing.assert_array_equal(shifted[1:], expected)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_host_nodes_only_copy(executor: Any) -> None:
    @ash.jit
    def counted(state: ash.f32["n"], x: ash.f32["n"]):
        (rows,) = ash.nonzero(x > 0)  # computed on the host
        return state + x, ash.sum(rows), ash.concat([state, x])

    executable = ash.compile(counted, executor=executor, donate=("state",))
    state, x = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    new, total, grown = executable(state, x)
    np.testing.assert_array_equal(new, np.arange(4) + 1)
    np.testing.assert_array_equal(grown, [0, 1, 2, 3, 1, 1, 1, 1])
    assert total == 6


# --- continued ------------------------------------------------------------------------------------


@ash.jit
def grow(past: ash.f32["b", "h", "p", 4], x: ash.f32["b", "s", "h", 4]):
    present = ash.concat([past, x.transpose(0, 2, 1, 3) * 2], axis=2)
    return ash.sum(present, 2), present


def growing(executor: Any = "native", **more: Any) -> Executable:
    return ash.compile(grow, executor=executor, donate=("past",), **more)


def new_rows(b: int, s: int, h: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 99, (b, s, h, 4)).astype(np.float32)


def grown(past: Any, x: Any) -> Any:
    return np.concatenate([plain(past), plain(x).transpose(0, 2, 1, 3) * 2], 2)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("b", [1, 3])
def test_a_past_that_grows(executor: Any, kind: str, b: int) -> None:
    executable = growing(executor)
    wrap: Any = torch.from_numpy if kind == "torch" else np.asarray
    past = wrap(np.zeros((b, 2, 0, 4), np.float32))
    expected = plain(past)
    places: list[int] = []
    for number in range(200):
        x = new_rows(b, number % 3, 2, number)
        total, past = executable(past, wrap(x))
        expected = grown(expected, x)
        places.append(past.data_ptr() if kind == "torch" else past.ctypes.data)
        np.testing.assert_array_equal(plain(past), expected)
        np.testing.assert_array_equal(plain(total), expected.sum(2))
    moves = sum(one != other for one, other in pairwise(places))
    assert moves < 10 or executor == "reference"


def test_a_past_may_be_continued_twice() -> None:
    """Whoever comes second finds the room taken, and copies: no array changes that someone has."""
    executable = growing()
    start = executable(np.zeros((2, 3, 0, 4), np.float32), new_rows(2, 8, 3, 0))[1]
    first = start.copy()
    x, y = new_rows(2, 1, 3, 1), new_rows(2, 1, 3, 2)
    one = executable(start, x)[1]
    other = executable(start, y)[1]
    deeper = executable(one, y)[1]
    assert one.ctypes.data == start.ctypes.data == deeper.ctypes.data
    assert other.ctypes.data != start.ctypes.data
    np.testing.assert_array_equal(start, first)
    np.testing.assert_array_equal(one, grown(first, x))
    np.testing.assert_array_equal(other, grown(first, y))
    np.testing.assert_array_equal(deeper, grown(one, y))


def test_a_part_of_the_past_is_continued_elsewhere() -> None:
    executable = growing()
    whole = executable(np.zeros((2, 3, 0, 4), np.float32), new_rows(2, 6, 3, 0))[1]
    before = whole.copy()
    x = new_rows(2, 2, 3, 1)
    for part in (whole[:, :, :4], whole[:, :, 1:], whole[:1], whole[:, ::-1], whole[:, :, ::2]):
        rows = x[: len(part)]
        np.testing.assert_array_equal(executable(part, rows)[1], grown(part, rows))
        np.testing.assert_array_equal(whole, before)


def test_memory_goes_back_with_the_last_array() -> None:
    from anyshape.runtime.program import output_pool

    executable = growing()
    before = output_pool().used
    past = np.zeros((1, 1, 0, 4), np.float32)
    for number in range(100):
        past = executable(past, new_rows(1, 1, 1, number))[1]
    assert output_pool().used > before
    del past
    assert output_pool().used == before


def test_a_block_that_was_given_back_is_not_continued() -> None:
    """The next one to get that memory has nothing to do with what lay there."""
    executable = growing()
    first = executable(np.zeros((1, 1, 0, 4), np.float32), new_rows(1, 3, 1, 0))[1]
    place = first.ctypes.data
    del first
    for number in range(20):
        past = np.empty((1, 1, 3, 4), np.float32)
        past[...] = number
        x = new_rows(1, 1, 1, number)
        found = executable(past, x)[1]
        np.testing.assert_array_equal(found, grown(past, x))
    assert place


def test_many_threads_continue_one_past() -> None:
    executable = growing()
    start = executable(np.zeros((2, 2, 0, 4), np.float32), new_rows(2, 3, 2, 0))[1]
    first = start.copy()
    wrong: list[int] = []

    def work(seed: int) -> None:
        for number in range(100):
            past = start
            expected = first
            for step in range(4):
                x = new_rows(2, 1, 2, seed * 1000 + number * 10 + step)
                past = executable(past, x)[1]
                expected = grown(expected, x)
            if not np.array_equal(past, expected):
                wrong.append(seed)

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    np.testing.assert_array_equal(start, first)


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_looking_at_steps_of_a_past_that_grows(executor: Any) -> None:
    executable = growing(executor)
    past = executable(np.zeros((2, 3, 0, 4), np.float32), new_rows(2, 8, 3, 0))[1]
    x = new_rows(2, 1, 3, 1)
    (rows, *_) = executable.steps(past, x)
    np.testing.assert_array_equal(rows.values[0], x.transpose(1, 0, 2, 3) * 2)
    following = executable(past, x)[1]  # the room behind is still free
    assert following.ctypes.data == past.ctypes.data
    decisions = [str(d) for report in executable.reports for d in report.taken]
    assert any("'past' grows along axis 2" in decision for decision in decisions)


def test_jitted_functions() -> None:
    @ash.jit(donate=("past",))
    def longer(past: ash.f32["p"], x: ash.f32["s"]):
        return ash.concat([past, x])

    past = np.zeros(20, np.float32)
    places = set()
    for number in range(10):
        past = longer(past, np.full(1, number, np.float32))
        places.add(past.ctypes.data)
    assert past[20:].tolist() == list(range(10))
    assert len(places) == 1


def test_room_of_the_caller() -> None:
    """With `out` behind the past in one array, the caller decides how much room there is."""
    executable = growing()
    room = np.zeros((16, 2, 3, 4), np.float32)  # the growing axis is the outermost in memory
    cache = room.transpose(1, 2, 0, 3)
    expected = np.zeros((2, 3, 0, 4), np.float32)
    for length in range(16):
        x = new_rows(2, 1, 3, length)
        past, present = cache[:, :, :length], cache[:, :, : length + 1]
        assert executable.run((past, x), out=(None, present))[1] is present
        expected = grown(expected, x)
        np.testing.assert_array_equal(cache[:, :, : length + 1], expected)
        assert not room[length + 1 :].any()


def test_memory_limits_count_the_whole_result() -> None:
    """What a call is refused for does not depend on where its arrays happen to lie."""
    executable = growing(memory_limit=10_000)
    past = np.zeros((1, 1, 0, 4), np.float32)
    for number in range(500):
        past = executable(past, new_rows(1, 1, 1, number))[1]
    with pytest.raises(MemoryLimitError):
        executable(past, new_rows(1, 200, 1, 0))


DTYPES: dict[str, Any] = {
    "f64": (ash.f64, np.float64), "i64": (ash.i64, np.int64), "i8": (ash.i8, np.int8),
    "bf16": (ash.bf16, ml_dtypes.bfloat16), "bool": (ash.bool, np.bool_),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_type_and_axis(name: str, axis: int) -> None:
    ours, numpys = DTYPES[name]

    def longer(past: Any, new: Any, other: Any) -> Any:
        return ash.concat([past, new, other], axis=axis)

    sizes: list[Any] = ["a", "b", "c"]
    longer.__annotations__["past"] = ours[tuple(sizes)]
    for name_, size in (("new", "n"), ("other", 2)):
        sizes[axis] = size
        longer.__annotations__[name_] = ours[tuple(sizes)]
    executable = ash.compile(ash.jit(longer), donate=("past",))
    shape = [3, 2, 5]
    past = expected = np.ones(shape, numpys)
    places = set()
    for number in range(40):
        shape[axis] = number % 2
        new = np.full(shape, number % 2, numpys)
        shape[axis] = 2
        other = np.full(shape, number % 5, numpys)
        (past,) = executable(past, new, other)
        expected = np.concatenate([expected, new, other], axis)
        np.testing.assert_array_equal(past, expected)
        places.add(past.ctypes.data)
    assert len(places) < 8


def test_what_is_appended_may_be_a_result_an_input_or_a_constant() -> None:
    @ash.jit
    def several(a: ash.f32["p", 2], b: ash.f32["p", 2], c: ash.f32["q", 2], x: ash.f32["s", 2]):
        new = x + 1
        one = ash.concat([a, new])
        return one, ash.concat([b, new]), new, ash.concat([c, x]), ash.concat([one, new]), x

    executable = ash.compile(several, donate=("a", "b", "c"))
    a = b = c = np.zeros((0, 2), np.float32)
    for number in range(20):
        x = np.full((number % 3, 2), number, np.float32)
        wanted = (
            np.concatenate([a, x + 1]), np.concatenate([b, x + 1]), x + 1, np.concatenate([c, x]),
            np.concatenate([a, x + 1, x + 1]), x,
        )  # fmt: skip
        found = executable(a, b, c, x)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        a, b, _, c, _, _ = found


def test_one_array_as_two_pasts() -> None:
    @ash.jit
    def two(a: ash.f32["p"], b: ash.f32["p"], x: ash.f32["s"]):
        return ash.concat([a, x]), ash.concat([b, -x])

    executable = ash.compile(two, donate=("a", "b"))
    a = executable(np.zeros(0, np.float32), np.zeros(0, np.float32), np.ones(3, np.float32))[0]
    one, other = executable(a, a, np.full(1, 5, np.float32))
    np.testing.assert_array_equal(one, [1, 1, 1, 5])
    np.testing.assert_array_equal(other, [1, 1, 1, -5])


def test_a_result_that_is_returned_twice() -> None:
    @ash.jit
    def twice(past: ash.f32["b", "p"], x: ash.f32["b", "s"]):
        present = ash.concat([past, x], axis=1)
        return present, present

    executable = ash.compile(twice, donate=("past",))
    past = np.zeros((2, 0), np.float32)
    for number in range(9):
        x = np.full((2, 1), number, np.float32)
        expected = np.concatenate([past, x], 1)
        past, same = executable(past, x)
        np.testing.assert_array_equal(past, expected)
        np.testing.assert_array_equal(same, expected)
        assert not np.may_share_memory(past, same)


def test_written_over_after_it_was_continued() -> None:
    """Arrays of one block are not written over while another array lies in it."""
    scale = ash.compile(update, donate=("state",))

    @ash.jit
    def longer(past: ash.f32["p", 2], x: ash.f32["s", 2]):
        return ash.concat([past, x])

    executable = ash.compile(longer, donate=("past",))
    x = np.ones((1, 2), np.float32)
    (short,) = executable(np.zeros((1, 2), np.float32), x)
    (long,) = executable(short, x)
    expected = short.copy()
    changed = scale(long, np.zeros_like(long))[1]
    np.testing.assert_array_equal(short, expected)
    np.testing.assert_array_equal(changed, [[0, 0], [2, 2], [2, 2]])
    del short
    assert scale(long, np.zeros_like(long))[1] is long


# --- errors ---------------------------------------------------------------------------------------


def test_errors_speak_of_the_axes_that_the_caller_sees() -> None:
    executable = growing()
    with pytest.raises(AxisConflictError) as caught:
        executable(np.zeros((2, 3, 5, 4), np.float32), np.zeros((2, 1, 7, 4), np.float32))
    assert "input 'past' has 3 (axis 1)" in str(caught.value)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_names_that_are_no_inputs(executor: Any) -> None:
    with pytest.raises(OptionError) as caught:
        ash.compile(grow, executor=executor, donate=("pasts",))
    assert str(caught.value).splitlines()[0] == (
        "donate='pasts' is not an input of 'grow': past, x"
    )


def test_a_name_that_is_no_tuple() -> None:
    with pytest.raises(OptionError, match="a tuple of names"):
        ash.compile(grow, donate="past")


def test_results_that_are_kept_cannot_be_given_up() -> None:
    with pytest.raises(OptionError, match="left out where results are kept"):
        ash.compile(grow, donate=("past",), result_cache=1000)
