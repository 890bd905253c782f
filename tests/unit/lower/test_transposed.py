"""Maps that transpose go through tiles; those that only move rows do not."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import kernel_of

import anyshape as ash
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel

SIZES = [(1, 1), (17, 300), (300, 17), (16, 256), (0, 5), (5, 0), (65, 513)]


@ash.jit
def transposed(x: ash.f32["n", "m"]):
    return ash.transpose(x, (1, 0))


@ash.jit
def added(x: ash.f32["n", "m"], y: ash.f32["m", "n"], bias: ash.f32["n"]):
    return (ash.transpose(x, (1, 0)) + y) * bias


@ash.jit
def batches(x: ash.f64["b", "n", "m"]):
    return ash.transpose(x, (0, 2, 1))


@ash.jit
def bytes_transposed(x: ash.u8["n", "m"]):
    return ash.transpose(x, (1, 0))


@ash.jit
def heads(x: ash.f32["b", "s", "h", "d"]):
    return ash.transpose(x, (0, 2, 1, 3))


@pytest.mark.parametrize("function", [transposed, added, batches])
def test_tiles(function: Any) -> None:
    kernel = kernel_of(function)
    assert [buffer.name for buffer in kernel.scratch] == ["tile0"]
    assert verify_kernel(kernel) == []


def test_rows_that_only_move_are_copied() -> None:
    kernel = kernel_of(heads)
    assert kernel.scratch == ()
    assert verify_kernel(kernel) == []
    assert "for i3 < n3 vector" in kernel_text(kernel)


def test_bytes_need_no_tile() -> None:
    assert kernel_of(bytes_transposed).scratch == ()


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_values(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    x, y, bias = (rng.normal(size=s).astype(np.float32) for s in ((n, m), (m, n), (n,)))
    np.testing.assert_array_equal(ash.compile(transposed)(x)[0], x.T)
    np.testing.assert_array_equal(ash.compile(added)(x, y, bias)[0], (x.T + y) * bias)
    small = rng.integers(0, 255, (n, m)).astype(np.uint8)
    np.testing.assert_array_equal(ash.compile(bytes_transposed)(small)[0], small.T)
    many = rng.normal(size=(3, n, m))
    np.testing.assert_array_equal(ash.compile(batches)(many)[0], many.transpose(0, 2, 1))
    four = rng.normal(size=(2, n, 3, m)).astype(np.float32)
    np.testing.assert_array_equal(ash.compile(heads)(four)[0], four.transpose(0, 2, 1, 3))
