"""Reshapes after rows: which ops move in front of them, and which stay."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.test_fuse import kernels

import anyshape as ash

WEIGHT = np.linspace(1, 2, 8, dtype=np.float32)
X = np.random.default_rng(4).normal(size=(3, 5, 8)).astype(np.float32)


def groups(x: Any) -> Any:
    parts = x.reshape(("n", "s", 2, 4))
    return (parts / parts.sum(-1, keepdims=True)).reshape(("n", "s", 8))


@ash.jit
def scaled(x: ash.f32["n", "s", 8]):
    return groups(x) * WEIGHT + 1.0


@ash.jit
def residual(x: ash.f32["n", "s", 8], scale: ash.f32["n", 1, 1]):
    return groups(x) * scale + x


@ash.jit
def across(x: ash.f32["n", "s", 8], y: ash.f32["m", "n", "s", 8]):
    """The result has more elements: the rows would be computed again and again."""
    return groups(x) * y


@ash.jit
def used_twice(x: ash.f32["n", "s", 8]):
    y = groups(x)
    return y * WEIGHT, y


@ash.jit
def no_rows(x: ash.f32["n", "s", 8], y: ash.f32["n", "s", 2, 4]):
    return ash.exp(y).reshape(("n", "s", 8)) * x


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (scaled, [["sum", "div", "mul", "add"]]),
        (residual, [["sum", "div", "mul", "add"]]),
        (across, [["sum", "div"], ["mul"]]),
        (used_twice, [["sum", "div"], ["mul"]]),
        (no_rows, [["exp", "mul"]]),
    ],
)
def test_kernels(function: Any, expected: list[list[str]]) -> None:
    assert kernels(function) == expected


def shares(x: Any) -> Any:
    parts = x.reshape((*x.shape[:-1], 2, 4))
    return (parts / parts.sum(-1, keepdims=True)).reshape(x.shape)


def test_values() -> None:
    scale = np.float32([[[1]], [[2]], [[3]]])
    np.testing.assert_allclose(scaled(X), shares(X) * WEIGHT + 1, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(residual(X, scale), shares(X) * scale + X, rtol=1e-4, atol=1e-5)
