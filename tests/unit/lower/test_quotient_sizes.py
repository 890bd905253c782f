"""Kernels that know a quotient of a size only: what is known, and what comes out."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import kernels_of

import anyshape as ash
from anyshape.lower.own_sizes import in_own_sizes
from anyshape.passes import PASSES, run_passes
from anyshape.sym import Answer, Fact, Facts, Origin, Prover
from anyshape.sym.text import parse_predicate


def halving(layers: int, **axis: Any) -> ash.Jitted[..., Any]:
    """Each layer keeps every other element: `n`, `(n + 1)//2`, `(n + 3)//4`, …"""

    @ash.jit(axes=[ash.Axis("n", **axis)])
    def function(x: ash.f32["n"]):
        for _ in range(layers):
            x = ash.exp(ash.tanh(x)[::2])
        return x

    return function


def test_levels_share_their_kernels() -> None:
    kernels = kernels_of(halving(9))
    assert len(kernels) >= 9
    assert len(set(kernels)) <= 3  # the first one meets `n` itself, and the last one has no slice


def test_ranges_are_those_of_the_quotient() -> None:
    @ash.jit(axes=[ash.Axis("n", min=33, max=400)])
    def function(x: ash.f32["(n + 7)//8"]):
        return ash.tanh(x)

    (kernel,) = kernels_of(function)
    assert [axis.ranges for axis in kernel.facts.axes] == [((5, 64),)]  # rounded


def test_a_size_that_is_met_itself_stays() -> None:
    @ash.jit
    def function(x: ash.f32["n"], y: ash.f32["(n + 1)//2"]):
        return x[::2] + y

    shapes = [str(b.shape) for kernel in kernels_of(function) for b in kernel.buffers]
    assert any("(n0 + 1)//2" in shape for shape in shapes)


def test_divisors_stay_known() -> None:
    """A kernel of a size with a divisor may leave out what follows from it."""
    kernel = kernels_of(halving(3, min=64, multiple_of=64))[2]
    prover = Prover(kernel.facts.axes, [fact.predicate for fact in kernel.facts.facts])
    assert prover.proves(parse_predicate("n0 % 16 == 0")) is Answer.TRUE


@pytest.mark.parametrize("axis", [{}, {"min": 5, "max": 600}, {"min": 64, "multiple_of": 8}])
def test_results_are_right(axis: dict[str, int]) -> None:
    compiled = ash.compile(halving(6, **axis))
    sizes = (64, 128, 600) if axis else (0, 1, 2, 3, 63, 64, 65, 600)
    for size in sizes:
        x = np.linspace(-2, 2, size, dtype=np.float32)
        expected = x
        for _ in range(6):
            expected = np.exp(np.tanh(expected)[::2])
        (result,) = compiled(x)
        np.testing.assert_allclose(result, expected, rtol=2e-6)


def test_facts_about_other_quotients_are_left_out() -> None:
    """`0 <= (n + 3)//4` says nothing of `(n + 15)//16`, and cannot be said of it either."""

    @ash.jit
    def function(x: ash.f32["(n + 15)//16"]):
        return ash.tanh(x)

    nodes = run_passes(function.graph, PASSES).graph.nodes()
    region = next(node.regions[0] for node in nodes if node.regions)
    fact = Fact(parse_predicate("0 <= (n + 3)//4"), Origin.USER)
    own = in_own_sizes(region, Facts((), (fact,)))
    assert [str(type_) for type_ in own.region.params] == ["f32[n0]"]
    assert own.facts.facts == ()
