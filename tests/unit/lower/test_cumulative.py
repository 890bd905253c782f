"""Cumulative ops walk their axis once; lanes are along another one, if that is the last."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of, kernel_of

import anyshape as ash
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel


@ash.jit
def along(x: ash.f32["n", "m"]):
    return ash.cumsum(ash.exp(x), axis=1) * 2


@ash.jit
def down(x: ash.f32["n", "m"]):
    return ash.cumsum(ash.exp(x), axis=0, reverse=True) * 2


@ash.jit
def between(x: ash.f16["b", "n", "m"]):
    return ash.cummax(x, axis=1, exclusive=True)


@pytest.mark.parametrize("function", [along, down, between])
def test_every_access_is_proved(function: Any) -> None:
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


def test_what_comes_before_and_after_is_in_the_loop() -> None:
    assert kernel_text(kernel_of(along)).count("for ") == 1
    text = kernel_text(kernel_of(down))
    assert "for j < min(n1 - 64*t, 64) vector {\n    for i0 < n0 with" in text


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (1, 1), (5, 200), (200, 67)])
def test_values(n: int, m: int) -> None:
    x = np.random.default_rng(n).normal(size=(n, m)).astype(np.float32)
    power = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(ash.compile(along)(x)[0], 2 * power.cumsum(1), rtol=1e-5)
    expected = 2 * power[::-1].cumsum(0)[::-1]
    np.testing.assert_allclose(ash.compile(down)(x)[0], expected, rtol=1e-5)
    half = np.stack([x, -x]).astype(np.float16)
    start = np.full((2, min(n, 1), m), -np.inf, np.float16)
    largest = np.concatenate([start, np.maximum.accumulate(half, 1)[:, :-1]], 1)
    np.testing.assert_array_equal(ash.compile(between)(half)[0], largest)
