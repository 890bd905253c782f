"""A layer of routed experts in the Python front, with and without a capacity, against NumPy."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash

EXPERTS, CHOICES, WIDTH, HIDDEN = 6, 2, 8, 12
RNG = np.random.default_rng(0)
GATE_UP = RNG.standard_normal((EXPERTS, WIDTH, 2 * HIDDEN)).astype(np.float32)
DOWN = RNG.standard_normal((EXPERTS, HIDDEN, WIDTH)).astype(np.float32)


def layer(x: Any, chosen: Any, weights: Any, capacity: Any = None) -> Any:
    _, ends, position, source = ash.worklist(chosen, EXPERTS, capacity)
    both = ash.grouped_dot(x[source], GATE_UP, ends)
    h = ash.silu(both[:, :HIDDEN]) * both[:, HIDDEN:]
    y = ash.grouped_dot(h, DOWN, ends)
    return (y[position] * weights[:, :, None]).sum(axis=1)


@ash.jit
def unlimited(x: ash.f32["t", WIDTH], chosen: ash.i64["t", CHOICES], w: ash.f32["t", CHOICES]):
    return layer(x, chosen, w)


@ash.jit
def limited(x: ash.f32["t", WIDTH], chosen: ash.i64["t", CHOICES], w: ash.f32["t", CHOICES]):
    """Experts take their fair share of the rows, rounded up, and drop what comes later."""
    return layer(x, chosen, w, (x.shape[0] * CHOICES + EXPERTS - 1) // EXPERTS)


@ash.jit
def flat_keys(x: ash.f32["t", WIDTH], chosen: ash.i64["t", CHOICES], w: ash.f32["t", CHOICES]):
    """The same by keys in one axis, and rows that are found by arithmetic."""
    t = x.shape[0]
    order, ends, position, _ = ash.worklist(chosen.reshape(t * CHOICES), EXPERTS)
    both = ash.grouped_dot(x[order // CHOICES], GATE_UP, ends)
    h = ash.silu(both[:, :HIDDEN]) * both[:, HIDDEN:]
    y = ash.grouped_dot(h, DOWN, ends) * w.reshape(t * CHOICES)[order][:, None]
    return y[position].reshape(t, CHOICES, WIDTH).sum(axis=1)


def by_tokens(x: Any, chosen: Any, weights: Any, capacity: int | None = None) -> Any:
    """One token after the other, one choice after the other; full experts add nothing."""
    out, taken = np.zeros_like(x), [0] * EXPERTS
    for token, row in enumerate(x):
        for choice, e in enumerate(chosen[token]):
            if capacity is not None and taken[e] >= capacity:
                continue
            taken[e] += 1
            gate, up = np.split(row @ GATE_UP[e], 2)
            out[token] += (gate / (1 + np.exp(-gate)) * up) @ DOWN[e] * weights[token, choice]
    return out


def given(tokens: int, experts: int = EXPERTS) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(tokens)
    x = rng.standard_normal((tokens, WIDTH)).astype(np.float32)
    chosen = np.array([rng.permutation(experts)[:CHOICES] for _ in range(tokens)], np.int64)
    return x, chosen.reshape(tokens, CHOICES), rng.random((tokens, CHOICES), np.float32)


@pytest.mark.parametrize("tokens", [0, 1, 7, 130])
@pytest.mark.parametrize("function", [unlimited, flat_keys], ids=lambda f: f.graph.name)
def test_a_layer_of_experts(function: Any, tokens: int) -> None:
    arrays = given(tokens)
    np.testing.assert_allclose(function(*arrays), by_tokens(*arrays), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("experts", [EXPERTS, CHOICES])
@pytest.mark.parametrize("tokens", [0, 1, 7, 130])
def test_full_experts_drop_the_tokens_that_come_later(tokens: int, experts: int) -> None:
    arrays = given(tokens, experts)
    capacity = -(-tokens * CHOICES // EXPERTS)
    expected = by_tokens(*arrays, capacity)
    if tokens > 1 and experts < EXPERTS:
        assert not np.allclose(expected, by_tokens(*arrays))  # some are dropped
    np.testing.assert_allclose(limited(*arrays), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [unlimited, limited, flat_keys], ids=lambda f: f.graph.name)
def test_a_layer_is_five_kernels(function: Any) -> None:
    """Rows by expert, their tokens, two products, and the sum of what a token gets."""
    names = [kernel.name.split("+")[0] for kernel in ash.compile(function.graph).kernels]
    assert names == ["worklist", "gather", "grouped_dot", "grouped_dot", "gather"]


def test_rows_divided_by_a_literal_that_adds_axes() -> None:
    @ash.jit
    def divided(keys: ash.i64["t", 2]):
        return ash.worklist(keys, groups=3).order // np.array([[2]])

    keys = np.array([[2, 0], [1, 2], [0, 1]])
    found = ash.compile(divided)(keys)[0]
    assert found.shape == (1, 6)
    np.testing.assert_array_equal(found[0], np.argsort(keys.ravel(), kind="stable") // 2)


def test_floats_are_no_numbers_of_choices() -> None:
    """Quotient and rest of different floats are not put together again."""

    @ash.jit
    def apart(x: ash.f32["t"], keys: ash.i64["t"]):
        return (x // 2.5) * 2.25 + x % 2.75, ash.worklist(keys, groups=3).order

    x = np.array([0.5, 3, 11], np.float32)
    found = ash.compile(apart)(x, np.array([2, 0, 1]))[0]
    np.testing.assert_allclose(found, (x // 2.5) * 2.25 + x % 2.75, rtol=1e-6)
