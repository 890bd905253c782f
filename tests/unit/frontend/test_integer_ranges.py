"""Ranges of integer tensors: what is claimed holds for what is computed, and says enough."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.analysis.integer_ranges import Range
from anyshape.frontend.builder.integer_ranges import range_of
from anyshape.frontend.builder.tracer import active
from anyshape.ir.interpret import evaluate
from anyshape.sym import Dim, Symbol

Made = Callable[[Any, Any], Any]


def ranged(make: Made) -> tuple[Any, Range]:
    """The graph of a function of i: i64[n] and j: u8[n], and the range of its result."""
    found: list[Range] = []

    @ash.jit
    def function(i: ash.i64["n"], j: ash.u8["n"]):
        result = make(i, j)
        tracer = active()
        found.append(range_of(tracer, tracer.value(result)))
        return result

    return function.graph, found[0]


N = Dim.of("n")

KNOWN: dict[str, tuple[Made, object, object, bool]] = {
    "arange": (lambda i, j: ash.arange(i.shape[0]), 0, N - 1, True),
    "arange_from": (lambda i, j: ash.arange(3, i.shape[0] + 3), 3, N + 2, True),
    "backwards": (lambda i, j: 5 - 2 * ash.arange(i.shape[0]), 7 - 2 * N, 5, True),
    "unsigned": (lambda i, j: j, 0, 255, False),
    "unknown": (lambda i, j: i, None, None, False),
    "half_known": (lambda i, j: ash.minimum(i, 7), None, 7, False),
    "clip": (lambda i, j: ash.clip(i, -2, 7), -2, 7, False),
    "mod": (lambda i, j: i % 12, 0, 11, False),
    "mod_of_unknown": (lambda i, j: 12 % i, None, None, False),
    "argmax": (lambda i, j: ash.argmax(ash.broadcast_to(i, (4, i.shape[0])), 1), 0, N - 1, False),
    "constant": (lambda i, j: ash.asarray(np.array([4, -3, 2])), -3, 4, True),
    "where": (lambda i, j: ash.where(i > 0, ash.arange(i.shape[0]), -1), -1, N - 1, False),
    "bool": (lambda i, j: (i > 0).astype(ash.i64), 0, 1, False),
    "cumsum": (lambda i, j: ash.cumsum((i > 0).astype(ash.i64), 0), 0, N, False),
    "wraps": (lambda i, j: j + j, 0, 255, False),
    "widened": (lambda i, j: j.astype(ash.i64) * 3 - 1, -1, 764, False),
    "narrowed": (lambda i, j: (j.astype(ash.i64) * 3).astype(ash.i8), -128, 127, False),
    "divided": (lambda i, j: j.astype(ash.i64) // 10, 0, 25, False),
    "abs": (lambda i, j: ash.abs(ash.clip(i, -9, 4)), 0, 9, False),
    "float": (lambda i, j: i.astype(ash.f32).astype(ash.i64), None, None, False),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known(name: str) -> None:
    make, low, high, attained = KNOWN[name]
    _, found = ranged(make)
    wanted = (None if end is None else Dim.of(end) for end in (low, high))
    assert (found.low, found.high, found.attained) == (*wanted, attained)


def random_tensor(rng: np.random.Generator, i: Any, j: Any, depth: int) -> Any:
    """Integers made by a few random ops."""
    if depth == 0:
        sources = (i, j.astype(ash.i64), ash.arange(i.shape[0]), ash.zeros(i.shape, ash.i64) + 3)
        return sources[rng.integers(len(sources))]
    x, y = (random_tensor(rng, i, j, depth - 1) for _ in range(2))
    number = int(rng.integers(-6, 7))
    results: list[Callable[[], Any]] = [
        lambda: x + y, lambda: x - y, lambda: x * number, lambda: x % (abs(number) + 1),
        lambda: x // (abs(number) + 1), lambda: ash.minimum(x, y), lambda: ash.maximum(x, number),
        lambda: ash.where(x > y, x, y), lambda: ash.abs(x), lambda: -x, lambda: ash.flip(x),
        lambda: ash.clip(x, number, number + 9), lambda: (x > y).astype(ash.i64),
        lambda: ash.cumsum(ash.clip(x, 0, 3), 0), lambda: x.astype(ash.i8).astype(ash.i64),
        lambda: ash.concat([x, y])[: x.shape[0]],
        lambda: x.astype(ash.u8).astype(ash.i64),
    ]  # fmt: skip
    return results[rng.integers(len(results))]()


@pytest.mark.parametrize("seed", range(120))
def test_what_is_claimed_holds(seed: int) -> None:
    def make(i: Any, j: Any) -> Any:
        return random_tensor(np.random.default_rng(seed), i, j, 3)

    graph, found = ranged(make)
    rng = np.random.default_rng(seed + 1000)
    for n in (0, 1, 2, 7, 200):
        i = rng.integers(-300, 300, n)
        (result,) = evaluate(graph, i, rng.integers(0, 256, n).astype(np.uint8))
        if not n:
            continue
        low, high = (_at(end, n) for end in (found.low, found.high))
        assert low is None or low <= result.min()
        assert high is None or result.max() <= high
        if found.attained:
            assert (low, high) == (result.min(), result.max())


def _at(end: Dim | None, n: int) -> int | None:
    return None if end is None else end.evaluate({Symbol("n"): n})
