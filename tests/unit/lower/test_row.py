"""Row kernels: every reduction is made once, nothing costly twice, and memory is read in order."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of, kernel_of

import anyshape as ash
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel

SIZES = (0, 1, 2, 17, 64, 131)


@ash.jit
def softmax(x: ash.f32["n", "m"]):
    return ash.softmax(x)


@ash.jit
def softmax_down(x: ash.f32["n", "m"]):
    return ash.softmax(x, axis=0)


@ash.jit
def softmax_between(x: ash.f32["b", "s", "d"]):
    return ash.softmax(x, axis=1)


@ash.jit
def norm_of_two_axes(x: ash.f32["b", "s", "d"], w: ash.f32["s", "d"]):
    return ash.layer_norm(x, w, axis=1)


@ash.jit
def norm_of_gelu(x: ash.f32["n", "m"]):
    return ash.rms_norm(ash.gelu(x), axis=-1)


@ash.jit
def column_sums(x: ash.f32["n", "m"]):
    return ash.sum(x, axis=0)


@ash.jit
def pooled(x: ash.f32["b", "s", "d"]):
    return ash.mean(x, axis=1)


@ash.jit
def outer_sums(x: ash.f32["b", "s", "d"]):
    return ash.sum(x, axis=(0, 2))


@ash.jit
def total(x: ash.f32["n", "m"]):
    return ash.sum(x)


@ash.jit
def total_of_biased(x: ash.f32["n", "m"], bias: ash.f32["m"]):
    return ash.sum(x + bias)


ALL = [
    softmax, softmax_down, softmax_between, norm_of_two_axes, norm_of_gelu, column_sums, pooled,
    outer_sums, total, total_of_biased,
]  # fmt: skip


@pytest.mark.parametrize("function", ALL)
def test_every_access_is_proved(function: Any) -> None:
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


# --- what is in them ------------------------------------------------------------------------------


def test_exponentials_of_a_softmax_are_kept() -> None:
    text = kernel_text(kernel_of(softmax))
    assert text.count("exp(") == 1
    assert "scratch kept0: f32[n1]" in text
    assert "kept0[k6] = v10" in text
    assert text.count("for ") == 3


def test_a_softmax_down_the_columns_reduces_each_once() -> None:
    text = kernel_text(kernel_of(softmax_down))
    assert "tasks t < (n1 + 63)//64" in text
    assert text.count("exp(") == 1
    assert text.count("for ") == 4  # the strip; maximum, sum and result inside


def test_axes_that_lie_together_are_one_loop() -> None:
    text = kernel_text(kernel_of(norm_of_two_axes))
    assert "tasks t < n0 " in text
    assert text.count("< n1*n2 vector") == text.count("for ") == 3


def test_what_is_broadcast_along_one_axis_keeps_the_loops_apart() -> None:
    text = kernel_text(kernel_of(total_of_biased))
    assert "//" not in text.replace("(n1 + 8191)//8192", "")
    assert "%" not in text


def test_a_costly_operand_is_computed_once() -> None:
    text = kernel_text(kernel_of(norm_of_gelu))
    assert text.count("erf(") == 1


def test_cheap_values_are_computed_again() -> None:
    assert "kept" not in kernel_text(kernel_of(norm_of_two_axes))


# --- what they compute ----------------------------------------------------------------------------


def shaped(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(0, 2, shape).astype(np.float32)


def by_numpy(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    power = np.exp(wide - wide.max(axis, keepdims=True, initial=-np.inf))
    return power / power.sum(axis, keepdims=True)


@pytest.mark.parametrize("function", [softmax, softmax_down])
@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("rows", SIZES)
def test_softmax(function: Any, rows: int, columns: int) -> None:
    x = shaped(rows, columns)
    axis = 1 if function is softmax else 0
    (found,) = ash.compile(function)(x)
    np.testing.assert_allclose(found, by_numpy(x, axis), rtol=2e-6, atol=1e-30)


@pytest.mark.parametrize("sizes", [(2, 5, 131), (1, 300, 3), (3, 0, 5), (3, 4, 0), (2, 1, 64)])
def test_three_axes(sizes: tuple[int, int, int]) -> None:
    x = shaped(*sizes)
    wide = x.astype(np.float64)
    (soft,), (sums,) = (ash.compile(f)(x) for f in (softmax_between, outer_sums))
    np.testing.assert_allclose(soft, by_numpy(x, 1), rtol=2e-6, atol=1e-30)
    np.testing.assert_allclose(sums, wide.sum((0, 2)), rtol=1e-5, atol=1e-4)
    if sizes[1]:
        (means,) = ash.compile(pooled)(x)
        np.testing.assert_allclose(means, wide.mean(1), rtol=1e-5, atol=1e-5)


def test_long_sums_lose_little() -> None:
    """Three million times 0.1: one after the other, in sixty-four lanes, would be off by 5e-4."""
    x = np.full((3, 1 << 20), 0.1, np.float32)
    (found,) = ash.compile(total)(x)
    exact = x.astype(np.float64).sum()
    assert abs(float(found) - exact) <= 1e-6 * exact
