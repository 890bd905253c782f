"""What late axes and regions add to calls of ours, in processes that did nothing before.

Kernels have four elements, so that what is left is the way from one to the next.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

# ruff: noqa: F821, PLC0415 - names of axes; anyshape is imported by the processes that use it

ITERATIONS = 1000
FLOATS = np.arange(4, dtype=np.float32)


FEW = 32  # calls in a row: a cache is then as long as before, but for a few keys


def best_of(call: Callable[[], Any], calls: int) -> float:
    """Of so many single calls."""
    times: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def best_seconds(call: Callable[[], Any], seconds: float = 0.3) -> float:
    """Of single calls, after some that do not count."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def late_seconds() -> float:
    """A size that data decide and a kernel behind it, beside a call of one kernel."""
    import anyshape as ash

    @ash.jit
    def late(x: ash.f32["n"]):
        return x[x > 1] * 2

    @ash.jit
    def early(x: ash.f32["n"]):
        return x * 2

    each = [ash.compile(function, strict=True) for function in (late, early)]
    spent = [best_seconds(lambda compiled=compiled: compiled(FLOATS)) for compiled in each]
    return spent[0] - spent[1]


def while_seconds() -> float:
    """An iteration of a loop, with its kernel and its condition."""
    import anyshape as ash

    @ash.jit
    def loop(x: ash.f32["n"], often: ash.i64[()]):
        def step(i: Any, y: Any) -> Any:
            return i + 1, y * 0.5 + 1

        return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]

    compiled = ash.compile(loop, strict=True)
    spent = [best_seconds(lambda n=n: compiled(FLOATS, np.array(n))) for n in (ITERATIONS, 0)]
    return (spent[0] - spent[1]) / ITERATIONS


def scan_seconds() -> float:
    """A row of a scan, with its kernel and what it stacks."""
    import anyshape as ash

    @ash.jit
    def loop(rows: ash.f32["rows", 4]):
        def step(state: Any, row: Any) -> Any:
            following = state * 0.5 + row
            return following, following

        return ash.scan(step, ash.zeros(4), rows)

    compiled = ash.compile(loop, strict=True)
    given = [np.ones((n, 4), np.float32) for n in (ITERATIONS, 0)]
    spent = [best_seconds(lambda rows=rows: compiled(rows)) for rows in given]
    return (spent[0] - spent[1]) / ITERATIONS


def exit_seconds(layers: int, width: int, tokens: int) -> list[float]:
    """An encoder that stops after 1, 2, … layers: a scalar of the call says after which."""
    import anyshape as ash
    from anyshape.frontend.builder.tensor import Tensor

    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> Any:
        return (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

    shapes = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
    weights = [[matrix(*shape) for shape in shapes] for _ in range(layers)]

    def layer(x: Tensor, qkv: Any, out: Any, up: Any, down: Any) -> Tensor:
        parts = ash.split(ash.layer_norm(x) @ qkv, 3, axis=-1)
        q, k, v = (p.reshape(1, x.shape[0], width // 64, 64).swapaxes(1, 2) for p in parts)
        x = x + ash.attention(q, k, v).swapaxes(1, 2).reshape(x.shape) @ out
        return x + ash.gelu(ash.layer_norm(x) @ up) @ down

    @ash.jit
    def encoder(x: ash.f32["tokens", width], last: ash.i64[()]):
        for number, each in enumerate(weights):
            goes_on = number < last
            x = ash.cond(goes_on, lambda x=x, each=each: layer(x, *each), lambda x=x: x)
        return x

    compiled = ash.compile(encoder, strict=True, threads=2)
    x = rng.standard_normal((tokens, width)).astype(np.float32)
    calls = [lambda k=k: compiled(x, np.array(k)) for k in range(1, layers + 1)]
    rounds = [[best_seconds(call, 0.15) for call in calls] for _ in range(3)]
    return [min(times) for times in zip(*rounds, strict=True)]


def cache_seconds(keys: int, seconds: float = 1.5, heads: int = 12, width: int = 64) -> list[float]:
    """A token that attends to a cache which grows in place, at lengths that are new and at lengths
    that were seen, and to dense keys and values of one size: the best of equally many calls.

    They take turns, since machines are quicker at times, and dense keys lie in the memory of the
    cache: elsewhere, the same bytes take up to a fifth more or less, as chance has it.
    """
    import anyshape as ash

    past = ash.f32["batch", heads, "past", width]
    new = ash.f32["batch", heads, 1, width]

    def grow(q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
        keys, values = ash.concat([keys, k], axis=2), ash.concat([values, v], axis=2)
        return ash.attention(q, keys, values), keys, values

    def dense(q: Any, keys: Any, values: Any) -> Any:
        return ash.attention(q, keys, values)

    grow.__annotations__ = {**dict.fromkeys("qkv", new), "keys": past, "values": past}
    dense.__annotations__ = {"q": new, "keys": past, "values": past}
    growing = ash.compile(ash.jit(grow), threads=2, donate=("keys", "values"))
    whole = ash.compile(ash.jit(dense), threads=2)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, heads, 1, width), np.float32) for _ in range(3))
    given = [rng.standard_normal((1, heads, keys, width), np.float32) for _ in range(2)]
    caches: list[Any] = []

    def start() -> None:
        caches[:] = [each.copy() for each in given]
        step()  # makes room, and the order that grows

    def step() -> None:
        caches[:] = growing(q, k, v, *caches)[1:]

    def as_dense(cache: Any) -> Any:
        memory = cache.transpose(2, 0, 1, 3).reshape(-1)[: given[0].size]
        assert np.shares_memory(memory, cache)
        return memory.reshape(given[0].shape)

    def one_round() -> tuple[float, float, float]:
        growing.trim()  # forgets all lengths
        start()
        new = best_of(step, FEW)
        start()
        again = best_of(step, FEW)
        dense = [as_dense(cache) for cache in caches]
        return new, again, best_of(lambda: whole(q, *dense), FEW)

    end, rounds = time.perf_counter() + seconds, list[tuple[float, float, float]]()
    while time.perf_counter() < end:
        rounds.append(one_round())
    return [min(times) for times in zip(*rounds, strict=True)]
