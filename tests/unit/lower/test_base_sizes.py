"""Kernels that count from their own first size: what is known, and what comes out."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import kernels_of

import anyshape as ash
from anyshape.sym import Answer, Prover
from anyshape.sym.text import parse_predicate


def shrinking(layers: int, **axis: Any) -> ash.Jitted[..., Any]:
    """Each layer is two elements shorter than the one before."""

    @ash.jit(axes=[ash.Axis("n", **axis)])
    def function(x: ash.f32["n"]):
        for _ in range(layers):
            x = ash.tanh(x[1:-1])
        return x

    return function


def test_layers_that_shrink_share_their_kernels() -> None:
    kernels = kernels_of(shrinking(500, min=1000))
    assert len(kernels) == 500
    assert len(set(kernels)) <= 20


def test_sizes_with_a_greatest_one_do_too() -> None:
    kernels = kernels_of(shrinking(300, min=600, max=100_000))
    assert len(set(kernels)) <= 20


def test_what_is_known_of_a_size_is_rounded_outwards() -> None:
    for n, kernel in enumerate(kernels_of(shrinking(100, min=400, max=5000))[1:], 1):
        (axis,) = kernel.facts.axes
        least, most = 400 - 2 * n, 5000 - 2 * n
        assert axis.min <= least < 2 * axis.min
        assert axis.max is not None
        assert most <= axis.max < 2 * most


def test_small_sizes_are_exact() -> None:
    """A kernel that needs all of its least size still knows it."""

    @ash.jit(axes=[ash.Axis("n", min=103)])
    def function(x: ash.f32["n"]):
        return ash.exp(ash.tanh(x[3:])[:100])

    (kernel,) = kernels_of(function)[1:]
    assert [axis.min for axis in kernel.facts.axes] == [100]


def test_divisors_become_facts() -> None:
    kernel = kernels_of(shrinking(3, min=64, multiple_of=8))[2]
    prover = Prover(kernel.facts.axes, [fact.predicate for fact in kernel.facts.facts])
    assert prover.proves(parse_predicate("(n0 + 4) % 8 == 0")) is Answer.TRUE


@pytest.mark.parametrize(
    "axis", [{"min": 24}, {"min": 24, "multiple_of": 4}, {"min": 24, "max": 4096}]
)
def test_results_are_right(axis: dict[str, int]) -> None:
    compiled = ash.compile(shrinking(12, **axis))
    for size in (24, 28, 300, 4096):
        x = np.linspace(-2, 2, size, dtype=np.float32)
        expected = x
        for _ in range(12):
            expected = np.tanh(expected[1:-1])
        (result,) = compiled(x)
        np.testing.assert_allclose(result, expected, rtol=2e-6)
