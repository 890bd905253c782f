"""What is the same in each iteration is computed once."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import FactViolationError
from anyshape.ir import evaluate
from anyshape.ir.node import Region
from anyshape.passes import run_passes
from anyshape.passes.dce import EliminateDead
from anyshape.passes.loop_invariants import LoopInvariants

STEPS = (LoopInvariants(), EliminateDead())
WEIGHT = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


@ash.jit
def product(x: ash.f32["n", 4], often: ash.i64[()]):
    step = lambda i, y: (i + 1, y * 0.5 + x @ WEIGHT)  # noqa: E731
    return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]


@ash.jit
def condition(x: ash.f32["n", 4]):
    def goes_on(y):
        return y.sum() < (x @ WEIGHT).sum() + 3

    return ash.while_loop(goes_on, lambda y: y + 1, x * 0 - 1)


@ash.jit
def in_two_loops(x: ash.f32["n", 4], often: ash.i64[()]):
    def outer(i, y):
        rows = ash.scan(lambda s, row: (s, row + ash.softmax(x @ WEIGHT).sum(0)), i, y)[1]
        return i + 1, rows

    return ash.while_loop(lambda i, y: i < often, outer, (often * 0, x))[1]


@ash.jit
def changing(x: ash.f32["n", 4], often: ash.i64[()]):
    """Nothing here is the same twice."""
    step = lambda i, y: (i + 1, y @ WEIGHT)  # noqa: E731
    return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]


@ash.jit
def cheap(x: ash.f32["n", 4], often: ash.i64[()]):
    step = lambda i, y: (i + 1, y + ash.exp(x))  # noqa: E731
    return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]


@ash.jit
def one_of_another(x: ash.f32["n", 4], often: ash.i64[()]):
    """The rest uses a product and a product of that."""

    def step(i, y):
        once = x @ WEIGHT
        return i + 1, y * 0.5 + once + once @ WEIGHT

    return ash.while_loop(lambda i, y: i < often, step, (often * 0, x))[1]


@ash.jit
def with_a_condition(x: ash.f32["n"], often: ash.i64[()]):
    step = lambda i, y: (i + 1, y + x.reshape(-1, 2).sum(0))  # noqa: E731
    return ash.while_loop(lambda i, y: i < often, step, (often * 0, ash.zeros((2,))))[1]


def inside(region: Region, depth: int = 0) -> list[str]:
    """The ops of all loops' bodies."""
    names: list[str] = []
    for node in region.nodes():
        names += [node.op.name] if depth else []
        for inner in node.regions:
            names += inside(inner, depth + 1)
    return names


MOVED = [product, condition, in_two_loops, one_of_another]


@pytest.mark.parametrize("function", MOVED, ids=lambda f: f.__name__)
def test_it_moves_in_front_of_the_loop(function: Any) -> None:
    passed = run_passes(function.graph, STEPS, verify=True)
    assert "dot" in inside(function.graph.body)
    assert "dot" not in inside(passed.graph.body)
    assert "dot" in [node.op.name for node in passed.graph.nodes()]
    (report,) = (report for report in passed.reports if report.name == "loop-invariants")
    assert report.taken


@pytest.mark.parametrize("function", [changing, cheap], ids=lambda f: f.__name__)
def test_what_stays(function: Any) -> None:
    graph = function.graph
    assert inside(run_passes(graph, STEPS).graph.body) == inside(graph.body)


@pytest.mark.parametrize("function", [*MOVED, changing, cheap], ids=lambda f: f.__name__)
def test_values(function: Any) -> None:
    executable = ash.compile(function, strict=True)
    for n in (0, 1, 5):
        for often in (0, 1, 3):
            x = np.linspace(-1, 1, 4 * n, dtype=np.float32).reshape(n, 4)
            arrays = (x, np.array(often))[: len(function.graph.body.params)]
            if function is condition and n == 0:
                continue  # it never ends
            for found, wanted in zip(
                executable(*arrays), evaluate(function.graph, *arrays), strict=True
            ):
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_loop_that_is_not_entered_asks_nothing() -> None:
    """Its sizes have to be even only where an iteration reads pairs."""
    graph = with_a_condition.graph
    assert inside(run_passes(graph, STEPS).graph.body) == inside(graph.body)
    executable = ash.compile(with_a_condition)
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(executable(x, np.array(0))[0], [0, 0])
    np.testing.assert_array_equal(executable(x[:4], np.array(2))[0], [4, 8])
    with pytest.raises(FactViolationError):
        executable(x, np.array(1))
