"""Elementwise ops in front of a reshape join what reads it."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.test_fuse import kernels

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.passes import run_passes
from anyshape.passes.reshapes_first import ReshapesFirst

RNG = np.random.default_rng(0)
WEIGHT = RNG.normal(size=(8, 8)).astype(np.float32)
BIAS = RNG.normal(size=8).astype(np.float32)


@ash.jit
def scaled_softmax(x: ash.f32["n", "s", 8]):
    return ash.softmax((x * 2).reshape(("n", "s", 2, 4)))


@ash.jit
def merged_axes(x: ash.f32["n", "s", 8]):
    return ash.softmax((x * BIAS + x).reshape(("n * s", 8)))


@ash.jit
def group_norm(x: ash.f32["n", "s", 8], y: ash.f32["n", "s", 8]):
    """Split, normalised by hand, and put together again."""
    parts = (x + y).reshape(("n", "s", 2, 4))
    centred = parts - parts.mean(-1, keepdims=True)
    normal = centred * ash.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    return normal.reshape(("n", "s", 8)) * BIAS


@ash.jit
def another_operand(x: ash.f32["n", "s", 8], w: ash.f32[8]):
    """What is added has the axes that are split, and is computed too."""
    return (x + (w + 1)).reshape(("n", "s", 2, 4)).max(-1)


@ash.jit
def two_reshapes(x: ash.f32["n", "s", 8]):
    return ash.relu((x + 1).reshape(("n * s", 8)) * 2).reshape(("n", "s", 2, 4)).sum(-1)


@ash.jit
def of_maps(x: ash.f32["n", "s", 8], y: ash.f32["n", "s", 2, 4]):
    return ash.relu(x).reshape(("n", "s", 2, 4)) * y


@ash.jit
def costly_in_front_of_a_map(x: ash.f32["n", "s", 8], y: ash.f32["n", "s", 2, 4]):
    return ash.tanh(x).reshape(("n", "s", 2, 4)) * y


@ash.jit
def costly_in_front_of_rows(x: ash.f32["n", "s", 8]):
    """Along short rows it would take longer."""
    return ash.softmax((ash.tanh(x) + 1).reshape(("n", "s", 2, 4)) * 2)


@ash.jit
def epilogue(x: ash.f32["n", "s", 8]):
    """It stays with the product."""
    return ash.softmax(ash.relu(x @ WEIGHT).reshape(("n", "s", 2, 4)))


@ash.jit
def other_rows(x: ash.f32["n", "s", 8]):
    return (ash.softmax(x) * 2).reshape(("n", "s", 2, 4)).max(-1)


@ash.jit
def one_of_two_axes(x: ash.f32["n", "s", 8], y: ash.f32["s", 1]):
    """`y` repeats along one of the axes that are merged, and not along the other."""
    return ash.softmax((x * y).reshape(("n", "s * 8")))


@ash.jit
def read_twice(x: ash.f32["n", "s", 8]):
    y = x * 2
    return ash.softmax(y.reshape(("n", "s", 2, 4))), y


@ash.jit
def diamond(x: ash.f32["n", "s", 8], y: ash.f32["n", "s", 8]):
    """What is read twice on the way is computed with what reads it."""
    both = x + y
    return ash.softmax((ash.relu(both) - both).reshape(("n", "s", 2, 4)))


@ash.jit
def read_by_a_product(x: ash.f32["n", "s", 8]):
    return (x * 2).reshape(("n * s", 8)) @ WEIGHT


ALL: list[tuple[Any, list[list[str]]]] = [
    (scaled_softmax, [["mul", "softmax"]]),
    (merged_axes, [["mul", "add", "softmax"]]),
    (group_norm, [["add", "mean", "sub", "mul", "mean", "add", "rsqrt", "mul", "mul"]]),
    (another_operand, [["add", "add", "max"]]),
    (two_reshapes, [["add", "mul", "relu", "sum"]]),
    (of_maps, [["relu", "mul"]]),
    (costly_in_front_of_a_map, [["tanh", "mul"]]),
    (costly_in_front_of_rows, [["tanh", "add"], ["mul", "softmax"]]),
    (epilogue, [["dot", "relu"], ["softmax"]]),
    (other_rows, [["softmax", "mul"], ["max"]]),
    (one_of_two_axes, [["mul"], ["softmax"]]),
    (read_twice, [["mul"], ["softmax"]]),
    (diamond, [["add", "relu", "sub"], ["softmax"]]),
    (read_by_a_product, [["mul"], ["dot"]]),
]
each = pytest.mark.parametrize(
    ("function", "expected"), ALL, ids=lambda x: getattr(x, "__name__", "")
)


@each
def test_kernels(function: Any, expected: list[list[str]]) -> None:
    assert kernels(function) == expected


@each
@pytest.mark.parametrize("sizes", [(3, 5), (1, 1), (0, 2), (2, 0), (2, 70)])
def test_values(function: Any, expected: list[list[str]], sizes: tuple[int, int]) -> None:
    bound = dict(zip("ns", sizes, strict=True))
    arrays: list[Any] = []
    for type_ in function.graph.body.params:
        shape = [dim.evaluate({s: bound[s.name] for s in dim.symbols}) for dim in type_.shape]
        arrays.append(RNG.normal(size=shape).astype(np.float32))
    wanted = evaluate(function.graph, *arrays)
    moved = evaluate(run_passes(function.graph, (ReshapesFirst(),), verify=True).graph, *arrays)
    found = function.executable(*arrays)
    for one, other, expectation in zip(found, moved, wanted, strict=True):
        np.testing.assert_allclose(one, expectation, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(other, expectation, rtol=1e-5, atol=1e-6)


def test_explain_says_what_moves() -> None:
    (taken,) = run_passes(scaled_softmax.graph, (ReshapesFirst(),)).reports[0].taken
    assert taken.why == "in the shape of f32[n, s, 2, 4], behind the reshape"
