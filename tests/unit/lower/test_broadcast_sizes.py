"""Kernels that know a broadcast of sizes only: what is known, and what comes out."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import kernels_of

import anyshape as ash
from anyshape.ir.types import Array
from anyshape.loop import Kernel


def met_again(levels: int) -> ash.Jitted[..., Any]:
    """Halved and doubled again, level by level: the sum of two has `bcast(n, 2*((n + 1)//2))`, and
    the second of two running sums has nothing else."""

    @ash.jit
    def function(x: ash.f32["n"]):
        kept = [x]
        for _ in range(levels):
            kept.append(ash.tanh(kept[-1])[::2])
        small = kept.pop()
        while kept:
            total = ash.cumsum(kept.pop() + ash.repeat(small, 2, axis=0), axis=0)
            small = ash.cumsum(total / 64, axis=0)
        return small

    return function


def expected(x: Array, levels: int) -> Array:
    kept = [x.astype(np.float64)]
    for _ in range(levels):
        kept.append(np.tanh(kept[-1])[::2])
    small = kept.pop()
    while kept:
        small = np.cumsum(np.cumsum(kept.pop() + np.repeat(small, 2)) / 64)
    return small


def of_one_size(kernels: list[Kernel]) -> list[Kernel]:
    """Those that are not elementwise, of operands and results of one shape."""
    sums = [kernel for kernel in kernels if "with" in kernel.as_text()]
    return [k for k in sums if k.buffers[0].shape == k.buffers[-1].shape]


def test_a_broadcast_is_a_size() -> None:
    kernels = of_one_size(kernels_of(met_again(3)))
    assert len(kernels) == 3
    assert len(set(kernels)) == 1
    assert "bcast" not in kernels[0].as_text()
    assert not kernels[0].facts.facts


def test_a_broadcast_beside_its_sizes_stays() -> None:
    """Where both operands are read, it matters that they broadcast."""

    @ash.jit(where=["broadcastable(n, m)"])
    def function(x: ash.f32["n"], y: ash.f32["m"]):
        return ash.tanh(x + y)

    (kernel,) = kernels_of(function)
    assert "bcast(n0, n1)" in kernel.as_text()
    assert [str(fact.predicate) for fact in kernel.facts.facts] == ["broadcastable(n0, n1)"]


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 8, 64, 1000])
def test_results_are_right(levels: int, size: int) -> None:
    x = np.linspace(-1, 1, size, dtype=np.float32)
    (result,) = ash.compile(met_again(levels))(x)
    np.testing.assert_allclose(result, expected(x, levels), rtol=1e-4, atol=1e-5)
