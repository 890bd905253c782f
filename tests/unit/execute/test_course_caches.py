"""Caches that loops fill, read and cut back: by many threads, and when calls end in the middle."""

from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import CancelledError, DeadlineError, MemoryLimitError
from anyshape.runtime.program import output_pool

WIDTH = 4


@ash.jit
def filled(x: ash.f32["n", WIDTH], rounds: ash.i64[()], kept: ash.i64["rounds"]):
    """Two caches, by rows and by columns, which grow and of which a number of rows stays."""

    def step(i: Any, rows: Any, columns: Any) -> Any:
        rows = ash.concat([rows, x + i])
        columns = ash.concat([columns, (x * 2 - i).T], axis=1)
        size = ash.minimum(ash.take(kept, i), rows.shape[0]).item()
        return i + 1, rows[:size], columns[:, :size]

    return ash.while_loop(lambda i, rows, columns: i < rounds, step, (rounds * 0, x[:0], x[:0].T))[
        1:
    ]


def by_numpy(x: Any, rounds: int, kept: Any) -> tuple[Any, Any]:
    rows, columns = x[:0], x[:0].T
    for i in range(rounds):
        rows = np.concatenate([rows, x + np.float32(i)])[: kept[i]]
        columns = np.concatenate([columns, (x * 2 - np.float32(i)).T], 1)[:, : kept[i]]
    return rows, columns


def given(seed: int) -> tuple[Any, Any, Any]:
    """Sizes of 0 among them; caches that are cut to nothing, and some that are never cut."""
    rng = np.random.default_rng(seed)
    n, rounds = int(rng.integers(0, 40)), int(rng.integers(0, 12))
    x = rng.integers(-9, 9, (n, WIDTH)).astype(np.float32)
    kept = rng.integers(0, 1 + n * max(rounds, 1), rounds) * rng.choice([0, 1, 10**6], rounds)
    return x, np.array(rounds), kept


def check(executable: Any, seed: int) -> None:
    x, rounds, kept = given(seed)
    for found, expected in zip(
        executable(x, rounds, kept), by_numpy(x, int(rounds), kept), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_caches_are_cut_back() -> None:
    executable = ash.compile(filled, strict=True)
    for seed in range(30):
        check(executable, seed)


def test_each_thread_has_caches_of_its_own() -> None:
    executable = ash.compile(filled, strict=True, threads=2)
    with ThreadPoolExecutor(6) as threads:
        for _ in threads.map(lambda seed: check(executable, seed), range(120)):
            pass


# --- calls that end in the middle -----------------------------------------------------------------


@ash.jit
def continued(cache: ash.f32["n", WIDTH], often: ash.i64[()]):
    """A cache of the caller's, with a row behind it for each number until another."""

    def step(i: Any, rows: Any) -> Any:
        return i + 1, ash.concat([rows, rows[-1:] + 1])

    return ash.while_loop(lambda i, rows: i != often, step, (often * 0, cache))[1]


def counted(start: int, stop: int) -> Any:
    return np.repeat(np.arange(start, stop, dtype=np.float32)[:, None], WIDTH, 1)


@pytest.mark.parametrize("donate", [(), ("cache",)])
def test_a_call_that_ends_leaves_the_callers_cache(donate: tuple[str, ...]) -> None:
    executable = ash.compile(continued, strict=True, donate=donate)
    cache = executable(counted(0, 3), np.array(4))[0]
    used = output_pool().used
    never, stop = np.array(-1), ash.Cancellation()
    timer = Timer(0.02, stop.cancel)
    timer.start()
    for error, limits in (
        (MemoryLimitError, {"memory_limit": "200kB"}),
        (DeadlineError, {"deadline": 0.02}),
        (CancelledError, {"cancellation": stop}),
    ):
        with pytest.raises(error):
            executable.run((cache, never), **limits)
        np.testing.assert_array_equal(cache, counted(0, 7))
        assert output_pool().used == used
    timer.join()
    np.testing.assert_array_equal(executable(cache, np.array(5))[0], counted(0, 12))
