"""Masks that say how far a query sees become bounds, however they are written."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.unit.passes.attention_spellings import mixed
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.base.errors import FactViolationError
from anyshape.execute import compile_graph
from anyshape.families.lower import lower_region
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import NARROW
from anyshape.passes import run_passes

Q, K, V = ash.f32[2, "s", 3], ash.f32[2, "t", 3], ash.f32[2, "t", 5]
Seen = Callable[[Any, Any, int, int], Any]
"""Whether a query sees a key, by their positions and the numbers of queries and keys."""

CASES: list[tuple[Any, Seen, dict[str, str]]] = []


def case(seen: Seen, **attrs: str) -> Callable[[Any], Any]:
    def add(mask_of: Any) -> Any:
        def attend(q: Q, k: K, v: V):
            scores = q @ k.mT
            return ash.softmax(mask_of(scores, *q.shape[1:2], *k.shape[1:2])) @ v

        attend.__name__ = mask_of.__name__
        CASES.append((ash.jit(attend), seen, attrs))
        return mask_of

    return add


def hidden(scores: Any, seen: Any) -> Any:
    return ash.where(seen, scores, -np.inf)


def rows(count: Any) -> Any:
    return ash.arange(count).reshape(count, 1)


@case(lambda q, k, s, t: k <= q, causal="top_left")
def tril_of_ones(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.tril(ash.ones((s, t))) == 1)


@case(lambda q, k, s, t: k <= q, causal="top_left")
def tril_that_is_not_zero(scores: Any, s: Any, t: Any) -> Any:
    return ash.where(ash.tril(ash.ones((s, t))) == 0, -np.inf, scores)


@case(lambda q, k, s, t: k <= q, causal="top_left")
def triu_of_what_is_hidden(scores: Any, s: Any, t: Any) -> Any:
    return ash.where(ash.triu(ash.ones((s, t)), 1).astype(ash.bool), -np.inf, scores)


@case(lambda q, k, s, t: k <= q + t - s, causal="bottom_right")
def positions_after_a_past(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.arange(t) <= rows(s) + (t - s))


@case(lambda q, k, s, t: k < q, high="-1")
def strictly_before(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.arange(t) < rows(s))


@case(lambda q, k, s, t: (k <= q) & (q - k < 3), causal="top_left", low="-2")
def sliding_window(scores: Any, s: Any, t: Any) -> Any:
    query, key = rows(s), ash.arange(t)
    return hidden(scores, (key <= query) & (query - key < 3))


@case(lambda q, k, s, t: (k <= q + t - s) & (k > q + t - s - 70), causal="bottom_right")
def window_after_a_past(scores: Any, s: Any, t: Any) -> Any:
    query, key = rows(s) + (t - s), ash.arange(t)
    return hidden(scores, (key <= query) & (key > query - 70))


@case(lambda q, k, s, t: abs(q - k) <= 20, low="-20", high="20")
def both_sides(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.abs(rows(s) - ash.arange(t)) <= 20)


@case(lambda q, k, s, t: k >= q + 5, low="5")
def only_later_keys(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.arange(t) >= rows(s) + 5)


STORED = np.tri(300, dtype=np.float32).reshape(1, 300, 300)


@case(lambda q, k, s, t: k <= q, causal="top_left")
def stored_triangle(scores: Any, s: Any, t: Any) -> Any:
    return ash.where(ash.asarray(STORED)[:, :s, :t] == 0, -np.inf, scores)


BAND = np.tri(300, k=4, dtype=np.bool_) & ~np.tri(300, k=-7, dtype=np.bool_)


@case(lambda q, k, s, t: (k <= q + 4) & (k > q - 7), low="-6", high="4")
def stored_band(scores: Any, s: Any, t: Any) -> Any:
    return hidden(scores, ash.asarray(BAND)[:s, :t])


every_case = pytest.mark.parametrize(
    ("function", "seen", "attrs"), CASES, ids=[function.__name__ for function, *_ in CASES]
)


def attention_of(function: Any) -> Any:
    graph = run_passes(function.graph, FIRST).graph
    (found,) = (node for node in graph.nodes() if node.op.name == "attention")
    return found


@every_case
def test_what_is_recognised(function: Any, seen: Seen, attrs: dict[str, str]) -> None:
    node = attention_of(function)
    assert len(node.operands) == 3
    for name, expected in attrs.items():
        assert str(getattr(node.attrs, name)) == expected


SIZES = [(1, 1), (5, 5), (5, 9), (9, 5), (0, 3), (3, 0), (70, 270), (230, 210), (130, 130)]


def only(plane: Any, scores: Any) -> Any:
    return np.where(plane, scores, -np.inf)


@every_case
def test_values(function: Any, seen: Seen, attrs: dict[str, str]) -> None:
    """A query that sees nothing is NaN, as the ops alone say; so is all that NaN values reach."""
    rng = np.random.default_rng(0)
    for s, t in SIZES:
        q, k, v = (
            rng.normal(size=(2, n, w)).astype(np.float32) for n, w in ((s, 3), (t, 3), (t, 5))
        )
        plane = seen(np.arange(s)[:, None], np.arange(t), s, t)
        for position in (None, 0, t // 2, t - 1):
            if position is not None and 0 <= position < t:
                v[1, position, 2] = (np.nan, np.inf, -np.inf)[position % 3]
            wanted = mixed(q, k, v, partial(only, plane))
            np.testing.assert_allclose(function(q, k, v), wanted, rtol=1e-4, atol=1e-5)


@every_case
def test_every_access_is_proved(function: Any, seen: Seen, attrs: dict[str, str]) -> None:
    graph = compile_graph(function.graph).graph
    kernels = [node for node in graph.nodes() if node.op.name == "kernel"]
    assert len(kernels) == 1
    found = lower_region(kernels[0].regions[0], graph.facts, frozenset(), NARROW)
    for kernel in (found.kernel, *(variant.kernel for variant in found.others)):
        assert verify_kernel(kernel) == []


def test_a_stored_triangle_that_is_too_small_is_still_an_error() -> None:
    function = next(f for f, *_ in CASES if f.__name__ == "stored_triangle")
    q, v = np.ones((2, 301, 3), np.float32), np.ones((2, 301, 5), np.float32)
    with pytest.raises(FactViolationError, match="must be at most 300"):
        function(q, q, v)


def test_positions_that_are_used_many_times_are_looked_at_once() -> None:
    """Each doubling uses the one before twice: followed each time, that would be 2**40 ways."""

    @ash.jit
    def attend(q: Q, k: K, v: V):
        keys = ash.arange(k.shape[1])
        for _ in range(40):
            keys = keys + keys
        return ash.softmax(hidden(q @ k.mT, keys <= rows(q.shape[1]))) @ v

    assert len(attention_of(attend).operands) == 4
