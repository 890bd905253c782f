"""A reshape at the end of a kernel is a name: nothing is copied, and loops do not know of it."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import kernel_of, kernels_of

import anyshape as ash

X = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)


@ash.jit
def doubled(x: ash.f32["n", 8]):
    return x * 2.0


@ash.jit
def doubled_flat(x: ash.f32["n", 8]):
    return (x * 2.0).reshape((-1,))


@ash.jit
def shares(x: ash.f32["n", 8]):
    return ash.softmax(x, axis=-1)


@ash.jit
def shares_in_groups(x: ash.f32["n", 8]):
    return ash.softmax(x, axis=-1).reshape(("n", 4, 2)).reshape(("n", 2, 2, 2))


@ash.jit
def product(x: ash.f32["n", 8]):
    return x @ W


@ash.jit
def product_of_heads(x: ash.f32["n", 8]):
    return (x @ W).reshape(("n", 2, 3))


@pytest.mark.parametrize(
    ("named", "plain"),
    [(doubled_flat, doubled), (shares_in_groups, shares), (product_of_heads, product)],
)
def test_the_kernel_is_that_without_a_reshape(named: Any, plain: Any) -> None:
    assert kernel_of(named).as_text() == kernel_of(plain).as_text()
    result = named(X)
    np.testing.assert_array_equal(result, np.asarray(plain(X)).reshape(result.shape))


def test_two_names_are_two_results() -> None:
    """Callers keep both, so that they have memory each."""

    @ash.jit
    def two(x: ash.f32["n", 8]):
        y = x + 1.0
        return y, y.reshape((-1,))

    assert len(kernels_of(two)) == 2
    whole, flat = two(X)
    np.testing.assert_array_equal(whole, X + 1)
    np.testing.assert_array_equal(flat, (X + 1).ravel())
    assert not np.shares_memory(whole, flat)


def test_what_others_read_is_copied() -> None:
    @ash.jit
    def used(x: ash.f32["n", 8]):
        y = ash.exp(x)
        return y.reshape((-1,)), y @ W

    flat, mixed = used(X)
    np.testing.assert_allclose(flat, np.exp(X).ravel(), rtol=1e-6)
    np.testing.assert_allclose(mixed, np.exp(X) @ W, rtol=1e-5)
