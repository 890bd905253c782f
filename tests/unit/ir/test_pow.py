"""Powers mean the same, however their exponents are broadcast, and whoever computes them."""

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import evaluate

X = np.array([[-0.0, -np.inf, 0.0, 4.0]], np.float32)
ROOTS = np.array([[0.0, np.inf, 0.0, 2.0]], np.float32)


@ash.jit(where=["broadcastable(n, k)", "broadcastable(m, l)"])
def power(x: ash.f32["n", "m"], y: ash.f32["k", "l"]):
    return x**y


@ash.jit
def power_of_one(x: ash.f32[()], y: ash.f32[()]):
    return x**y


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 4), (3, 1)])
def test_a_broadcast_exponent_is_no_square_root(shape: tuple[int, int]) -> None:
    y = np.full(shape, 0.5, np.float32)
    expected = np.broadcast_to(ROOTS, np.broadcast_shapes(X.shape, shape))
    for found in (*evaluate(power.graph, X, y), *ash.compile(power)(X, y)):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_nor_is_one_without_axes() -> None:
    half = np.array(0.5, np.float32)
    for x, expected in zip(X[0], ROOTS[0], strict=True):
        (found,) = evaluate(power_of_one.graph, x, half)
        assert found == expected
        assert np.signbit(found) == np.signbit(expected)
