"""Courses: segments, branches, loops and sizes that data decide, in one native run."""

import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import (
    BindingNamesError,
    CancelledError,
    DeadlineError,
    EvaluationError,
    FactViolationError,
    InsufficientMemoryError,
    LateSizeError,
    MemoryLimitError,
    TraceError,
)
from anyshape.base.warnings import HostOpsWarning
from anyshape.execute import Executable
from anyshape.execute.host import HostExecutor
from anyshape.ir import evaluate, parse
from anyshape.runtime.program import output_pool


def host(executable: Executable) -> HostExecutor:
    assert isinstance(executable.executor, HostExecutor)
    return executable.executor


def check(executable: Executable, *arrays: Any) -> tuple[Any, ...]:
    """The results of the native run, which are those of the interpreter and of the walk in Python,
    one step at a time."""
    found = executable(*arrays)
    for one, other in zip(found, evaluate(executable.source, *arrays), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    for _ in executable.steps(*arrays):
        pass
    return found


# --- what runs without Python ---------------------------------------------------------------------


@ash.jit
def collatz(n: ash.i64[()]):
    """How long it takes to come to 1, and all numbers on the way."""

    def step(i, k, seen):
        following = ash.where(k % 2 == 0, k // 2, 3 * k + 1)
        return i + 1, following, ash.concat([seen, following.reshape(1)])

    return ash.while_loop(lambda i, k, seen: k != 1, step, (n * 0, n, n.reshape(1)))


def test_a_size_grows_with_each_iteration() -> None:
    executable = ash.compile(collatz, strict=True)
    for n in (1, 2, 7, 27):
        steps, _, seen = check(executable, np.array(n))
        assert len(seen) == steps + 1
        assert seen[-1] == 1


def test_nothing_is_called_back() -> None:
    course = host(ash.compile(collatz)).course
    assert course is not None
    assert course.plan.hosts == ()


@ash.jit
def nested(x: ash.f32["n", 4], often: ash.i64[()]):
    """A scan in a branch in a loop; sizes from outside are used where nothing shows them."""

    def sums(y):
        total, rows = ash.scan(lambda s, row: (s + row, s * row), ash.zeros((4,), ash.f32), y)
        return rows * 0.5 + total / x.shape[0]

    def again(i, y):
        return i + 1, ash.cond(y.sum() > 0, sums, lambda y: y[::-1] + x.shape[0], y)

    return ash.while_loop(lambda i, y: i < often, again, (often * 0, x))[1]


@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_regions_inside_regions(n: int) -> None:
    executable = ash.compile(nested, strict=True)
    x = np.linspace(-1, 1.5, 4 * n, dtype=np.float32).reshape(n, 4)
    for often in (0, 1, 2, 5):
        check(executable, x, np.array(often))


@ash.jit
def backwards(x: ash.f32["n"], start: ash.f32[()]):
    return ash.scan(lambda s, v: (s * 0.5 + v, (s, v)), start, x, reverse=True)


def test_a_scan_backwards() -> None:
    executable = ash.compile(backwards, strict=True)
    for n in (0, 1, 9):
        check(executable, np.arange(n, dtype=np.float32), np.float32(3).reshape(()))


LATE = """
graph late(count: i64[1], x: f32[n, 3], size: i64[]) -> (f32[k, 3], i64[m], i64[]) {
  %0 = exp(x)
  %1 = prefix(count, %0) late [k <= n]
  %2 = add(%1, %1)
  %3 = late_size(size) late [m]
  %4 = iota() {shape=[m], axis=0, dtype=i64}
  %5 = dim_value() {value=m + k}
  return %2, %4, %5
}
"""


def test_sizes_that_data_decide() -> None:
    executable = ash.compile(parse(LATE), strict=True)
    x = np.ones((5, 3), np.float32)
    for count in (0, 1, 5):
        for size in (0, 1, 131):
            check(executable, np.array([count]), x, np.array(size))


@pytest.mark.parametrize(
    ("count", "size", "problem"),
    [
        (6, 1, "prefix (<text>:4): the computed size is 6, expected 0 to 5"),
        (-1, 1, "prefix (<text>:4): the computed size is -1, expected 0 to 5"),
        (1, -2, "late_size (<text>:6): the computed size is -2, expected 0 or more"),
    ],
)
def test_numbers_that_cannot_be_sizes(count: int, size: int, problem: str) -> None:
    executable = ash.compile(parse(LATE))
    arrays = np.array([count]), np.ones((5, 3), np.float32), np.array(size)
    for call in (lambda: executable(*arrays), lambda: evaluate(executable.source, *arrays)):
        with pytest.raises(LateSizeError) as caught:
            call()
        assert str(caught.value).splitlines()[0] == problem
    check(executable, np.array([2]), *arrays[1:2], np.array(3))


# --- what ends a run ------------------------------------------------------------------------------


@ash.jit
def endless(x: ash.f32["n"], limit: ash.i64[()]):
    return ash.while_loop(lambda i, y: i != limit, lambda i, y: (i + 1, y + 1), (limit * 0, x))[1]


def test_a_loop_looks_at_deadline_and_cancellation() -> None:
    executable = ash.compile(endless)
    arrays = np.zeros(3, np.float32), np.array(-1)
    with pytest.raises(DeadlineError):
        executable.run(arrays, deadline=0.05)
    stop = ash.Cancellation()
    timer = Timer(0.05, stop.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        executable.run(arrays, cancellation=stop)
    timer.join()
    np.testing.assert_array_equal(executable(arrays[0], np.array(4))[0], [4, 4, 4])


@ash.jit
def repeated(x: ash.f32["n"], often: ash.i64[()]):
    """As many copies of x as a number says."""
    whole = ash.while_loop(
        lambda i, y: i < often, lambda i, y: (i + 1, ash.concat([y, x])), (often * 0, x[:0])
    )[1]
    return whole * 2


def test_a_memory_limit_is_honoured_in_the_middle() -> None:
    executable = ash.compile(repeated)
    x = np.ones(1000, np.float32)
    assert len(executable.run((x, np.array(10)), memory_limit="1MB")[0]) == 10_000
    with pytest.raises(MemoryLimitError):
        executable.run((x, np.array(1000)), memory_limit="1MB")
    np.testing.assert_array_equal(executable(x, np.array(3))[0], np.full(3000, 2, np.float32))


def test_a_memory_limit_counts_what_values_use() -> None:
    """40,000 bytes of a loop, in a block of 65,536, and as many of the result: no more."""
    executable = ash.compile(repeated)
    given = np.ones(1000, np.float32), np.array(10)
    assert len(executable.run(given, memory_limit=84_000)[0]) == 10_000
    with pytest.raises(MemoryLimitError):
        executable.run(given, memory_limit=79_000)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_grows_in_place_is_not_counted_twice(axis: int) -> None:
    """A cache that a loop carries, with room in its block: 48,000 bytes, and 16 more each time."""

    def longer(x: Any, often: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            first = y[:1] if axis == 0 else y[:, :1]
            return i + 1, ash.concat([y, first * 2], axis=axis)

        return ash.while_loop(lambda i, y: i < often, step, (often * 0, x * 2))[1]

    x = np.random.default_rng(0).standard_normal((3000, 4), np.float32)
    x, shape = (x, ash.f32["n", 4]) if axis == 0 else (x.T, ash.f32[4, "n"])
    longer.__annotations__ = {"x": shape, "often": ash.i64[()]}
    executable = ash.compile(ash.jit(longer), strict=True)
    given = np.ascontiguousarray(x), np.array(100)
    assert "append(" in executable.as_text()
    limit = 50_000 if axis == 0 else 140_000  # it is turned once before and once behind the loop
    (found,) = executable.run(given, memory_limit=limit)
    first = (x[:1] if axis == 0 else x[:, :1]) * 4
    expected = np.concatenate([x * 2, np.repeat(first, 100, axis)], axis)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(MemoryLimitError):
        executable.run((given[0], np.array(0)), memory_limit=40_000)


def test_copies_of_inputs_are_asked_for_before_they_are_made() -> None:
    """A value that is repeated without memory would take a terabyte as an input."""
    executable = ash.compile(repeated)
    huge = np.broadcast_to(np.float32(1), (1 << 40,))
    with pytest.raises(MemoryLimitError):
        executable.run((huge, np.array(0)), memory_limit="1MB")
    with pytest.raises(InsufficientMemoryError):
        executable(huge, np.array(0))


@ash.jit
def sorted_twice(x: ash.f32["n"], often: ash.i64[()]):
    ends = ash.sort(ash.sort(x) * 2)
    return ash.while_loop(lambda i, y: i < often, lambda i, y: (i + 1, y + ends), (often * 0, ends))


def test_what_is_beyond_a_limit_is_not_reserved() -> None:
    executable = ash.compile(sorted_twice, memory_limit="1MB")
    with pytest.raises(MemoryLimitError):
        executable.reserve(n=1 << 20)
    assert executable.memory().idle_arenas < 1 << 20


def test_memory_of_ended_calls_goes_back() -> None:
    executable = ash.compile(repeated)
    x = np.ones(1000, np.float32)
    executable(x, np.array(5))
    before = output_pool().used
    for _ in range(20):
        with pytest.raises(MemoryLimitError):
            executable.run((x, np.array(1000)), memory_limit="1MB")
    executable(x, np.array(50))
    assert output_pool().used == before


def test_many_threads_at_once() -> None:
    executable = ash.compile(repeated)

    def call(n: int) -> bool:
        x = np.arange(n, dtype=np.float32)
        (found,) = executable(x, np.array(n))
        return bool((found == np.tile(x, n) * 2).all())

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(call, [*range(40)] * 5))


# --- what Python computes in the middle -----------------------------------------------------------


def test_what_python_keeps_outlives_the_call() -> None:
    torch = pytest.importorskip("torch")
    kept: list[Any] = []

    @torch.library.custom_op("anyshape_test_course::peek", mutates_args=())
    def peek(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x * 2

    @peek.register_fake
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    class Peeking(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return peek(x) + 1

    with pytest.warns(HostOpsWarning):
        executable = ash.compile(Peeking(), (torch.ones(4),), axes={"x": ("n",)})
    given = torch.full((1 << 20,), 7.0)
    lives = weakref.ref(given)
    kept.clear()
    executable(given)
    del given
    assert lives() is not None
    assert bool((kept[0] == 7).all())
    kept.clear()
    assert lives() is None


def test_what_python_raises_in_a_loop_leaves_everything_usable() -> None:
    torch = pytest.importorskip("torch")

    @torch.library.custom_op("anyshape_test_course::checked", mutates_args=())
    def checked(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 100:
            raise ArithmeticError("too much")
        return x * 2

    @checked.register_fake
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    class Doubled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return checked(x + 1) * 3

    with pytest.warns(HostOpsWarning):
        executable = ash.compile(Doubled(), (torch.ones(4),), axes={"x": ("n",)})
    small, large = torch.ones(7), torch.full((7,), 50.0)
    for _ in range(3):
        torch.testing.assert_close(executable(small), (small + 1) * 6)
        with pytest.raises(EvaluationError, match="too much"):
            executable(large)


# --- level 2 --------------------------------------------------------------------------------------


def test_late_sizes_can_be_supposed() -> None:
    executable = ash.compile(parse(LATE))
    assert executable.specialize(n=5).waiting == (("k", "m"),) or executable.specialize(n=5).waiting
    whole = executable.specialize(n=5, k=2, m=131)
    assert whole.waiting == ()
    sizes = [segment.binding for segment in whole.segments]
    assert all(binding.items() <= {"n": 5, "k": 2, "m": 131}.items() for binding in sizes)
    text = str(executable.explain(n=5, k=2, m=131))
    assert "i64[131]" in text
    with pytest.raises(BindingNamesError):
        executable.specialize(n=5, other=3)


@ash.jit
def routed(x: ash.f32["n", 3], scores: ash.f32["n"]):
    rows = ash.argwhere(scores > 0)[:, 0]
    ash.name_size(rows.shape[0], ash.Axis("routed", max=4))
    return ash.exp(x[rows])


def test_a_size_that_data_decide_has_a_name_and_bounds() -> None:
    executable = ash.compile(routed, strict=True)
    assert "routed" in executable.source.as_text()
    whole = executable.specialize(n=100, routed=3)
    assert [segment.binding["routed"] for segment in whole.segments] == [3]
    assert executable.specialize(n=100).waiting == (("routed",),)
    x, scores = np.ones((9, 3), np.float32), np.arange(9, dtype=np.float32) - 5
    check(executable, x, scores)
    with pytest.raises(FactViolationError, match=r"routed.* max=4"):
        executable(x, scores + 3)
    check(executable, x, scores - 100)


def test_what_cannot_be_named() -> None:
    @ash.jit
    def known(x: ash.f32["n"]):
        ash.name_size(x.shape[0], "rows")
        return x

    with pytest.raises(TraceError, match="'n' is no size that data decide"):
        known.graph  # noqa: B018

    @ash.jit
    def taken(x: ash.f32["n"]):
        ash.name_size(ash.argwhere(x).shape[0], "n")
        return x

    with pytest.raises(TraceError, match="there is a size 'n' already"):
        taken.graph  # noqa: B018
