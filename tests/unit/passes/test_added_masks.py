"""Masks that are added, or hide by a finite number, become bounds: what is hidden still shows where
it would have shown."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.passes.attention_spellings import softmax
from tests.unit.passes.test_mask_bands import attention_of

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.families.lower import lower_region
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import NARROW

INF = np.inf
Q, K, V = ash.f32[2, "s", 4], ash.f32[2, "t", 4], ash.f32[2, "t", 5]
Plane = Callable[[Any, Any], Any]
"""The mask by the positions of a query and a key."""


def rows(count: Any) -> Any:
    return ash.arange(count).reshape(count, 1)


STORED = np.where(np.tri(300, dtype=np.bool_), 0, -INF).astype(np.float32)


def later(number: float) -> Plane:
    return lambda query, key: np.where(key <= query, 0, number)


def far(query: Any, key: Any) -> Any:
    return np.where(abs(query - key - 5) <= 14, 0, -INF)


SPELLINGS: list[tuple[str, Callable[[Any, Any], Any], Plane, dict[str, str]]] = [
    ("triu", lambda s, t: ash.triu(ash.full((s, t), -INF), 1), later(-INF), {"outside": "-inf"}),
    ("log", lambda s, t: ash.log(ash.tril(ash.ones((s, t)))), later(-INF), {"adds": "True"}),
    (
        "one less",
        lambda s, t: (1 - ash.tril(ash.ones((s, t)))) * -1e9,
        later(-1e9),
        {"outside": "-1000000000.0"},
    ),
    (
        "as a number",
        lambda s, t: (ash.arange(t) > rows(s)).astype(ash.f32) * -1e4,
        later(-1e4),
        {"outside": "-10000.0"},
    ),
    ("stored", lambda s, t: ash.asarray(STORED)[:s, :t], later(-INF), {"causal": "top_left"}),
    (
        "window",
        lambda s, t: ash.where(ash.abs(rows(s) - ash.arange(t) - 5) <= 14, 0, -INF),
        far,
        {"low": "-19", "high": "9"},
    ),
]


def attending(mask_of: Callable[[Any, Any], Any], adds: bool = True) -> Any:
    def attend(q: Q, k: K, v: V):
        mask = mask_of(q.shape[1], k.shape[1])
        scores = q @ k.mT
        return ash.softmax(scores + mask if adds else ash.where(mask, scores, -1e4)) @ v

    return ash.jit(attend)


replaced = attending(lambda s, t: ash.arange(t) <= rows(s), adds=False)
FUNCTIONS = [attending(mask_of) for _, mask_of, _, _ in SPELLINGS]
every_spelling = pytest.mark.parametrize(
    "number", range(len(SPELLINGS)), ids=[name for name, *_ in SPELLINGS]
)


@every_spelling
def test_what_is_recognised(number: int) -> None:
    node = attention_of(FUNCTIONS[number])
    assert len(node.operands) == 3
    for name, expected in SPELLINGS[number][3].items():
        assert str(getattr(node.attrs, name)) == expected


def unfused(q: Any, k: Any, v: Any, change: Callable[[Any], Any]) -> Any:
    """By the ops alone, in f32: overflow is theirs."""
    with np.errstate(all="ignore"):
        return softmax(change(q @ np.swapaxes(k, -1, -2)).astype(np.float32)) @ v


def specials(s: int, t: int) -> Iterator[tuple[Any, Any, Any]]:
    """Operands: plain, with a special number somewhere, or with scores that no f32 holds."""
    rng = np.random.default_rng(s * 1000 + t)
    sizes = ((s, 4), (t, 4), (t, 5))
    plain = [rng.normal(size=(2, n, w)).astype(np.float32) for n, w in sizes]
    yield plain[0], plain[1], plain[2]
    for operand in range(3):
        length = plain[operand].shape[1]
        for place in {0, length - 1}:
            for special in (np.nan, INF, 3e38):
                arrays = [array.copy() for array in plain]
                arrays[operand][0, place, 1] = special
                yield arrays[0], arrays[1], arrays[2]
    yield plain[0] * 200, plain[1] * 200, plain[2]


SIZES = [(3, 9), (70, 70), (40, 230)]


@every_spelling
def test_values(number: int) -> None:
    _, _, plane, _ = SPELLINGS[number]
    for s, t in [*SIZES, (1, 1), (0, 3), (3, 0)]:
        mask = plane(np.arange(s)[:, None], np.arange(t)).astype(np.float32)
        for q, k, v in specials(s, t) if (s, t) in SIZES else [next(specials(s, t))]:
            wanted = unfused(q, k, v, lambda scores, mask=mask: scores + mask)
            np.testing.assert_allclose(FUNCTIONS[number](q, k, v), wanted, rtol=2e-4, atol=1e-4)


def test_scores_that_are_replaced_by_a_finite_number() -> None:
    assert (attention_of(replaced).attrs.outside, len(attention_of(replaced).operands)) == (-1e4, 3)
    for s, t in SIZES:
        seen = np.arange(t) <= np.arange(s)[:, None]
        for q, k, v in specials(s, t):
            wanted = unfused(q, k, v, lambda scores, seen=seen: np.where(seen, scores, -1e4))
            np.testing.assert_allclose(replaced(q, k, v), wanted, rtol=2e-4, atol=1e-4)


@ash.jit
def padded_and_biased(
    q: Q, k: K, v: V, valid: ash.bool["t"], slopes: ash.f32[2, 1, 1], bias: ash.f32["s", "t"]
):
    """Padding beside the triangle, a bias in memory, and one of positions behind it."""
    s, t = q.shape[1], k.shape[1]
    distance = (ash.arange(t) - rows(s)).astype(ash.f32)
    seen = (ash.arange(t) <= rows(s)) & valid
    return ash.softmax(q @ k.mT + bias + ash.where(seen, 0, -INF) + slopes * distance) @ v


def test_other_masks_show_where_they_are_hidden() -> None:
    attrs = attention_of(padded_and_biased).attrs
    assert (attrs.causal, attrs.adds) == ("top_left", True)
    rng = np.random.default_rng(0)
    for s, t in SIZES:
        for special in (0.0, INF, -INF, np.nan, 3e38):
            for place in (0, t - 1):
                q, k, v = next(specials(s, t))
                valid = (rng.random(t) > 0.2) | (np.arange(t) == 0)
                bias = rng.normal(size=(s, t)).astype(np.float32)
                bias[s // 2, place] = special
                slopes = rng.normal(size=(2, 1, 1)).astype(np.float32)
                near = np.arange(t) - np.arange(s)[:, None]
                hidden = np.where((near <= 0) & valid, 0, -INF)
                wanted = unfused(
                    q, k, v, lambda x, b=bias, h=hidden, d=slopes * near: x + b + h + d
                )
                found = padded_and_biased(q, k, v, valid, slopes, bias)
                np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-4)


@ash.jit
def seen_by_none(q: Q, k: K, v: V):
    """The first query sees no key but by what hides them."""
    return ash.softmax(q @ k.mT + ash.triu(ash.full((q.shape[1], k.shape[1]), -1e9), 0)) @ v


@ash.jit
def replaced_afterwards(q: Q, k: K, v: V, valid: ash.bool["t"]):
    mask = ash.triu(ash.full((q.shape[1], k.shape[1]), -INF), 1)
    return ash.softmax(ash.where(valid, q @ k.mT + mask, -1e9)) @ v


def test_what_stays_a_mask_and_why() -> None:
    reasons = {
        seen_by_none: "its mask hides keys by -1000000000.0, and a query may see no other",
        replaced_afterwards: "its mask adds -inf, and another replaces scores after it",
    }
    for function, reason in reasons.items():
        assert len(attention_of(function).operands) > 3
        assert reason in str(compile_graph(function.graph).explain())


@pytest.mark.parametrize("function", [*FUNCTIONS, replaced, padded_and_biased])
def test_every_access_is_proved(function: Any) -> None:
    graph = compile_graph(function.graph).graph
    regions = [node.regions[0] for node in graph.nodes() if node.op.name == "kernel"]
    for region in regions:
        found = lower_region(region, graph.facts, frozenset(), NARROW)
        for made in (found.kernel, *(variant.kernel for variant in found.others)):
            assert verify_kernel(made) == []
