"""Products of flattened rows are computed on the rows as they were."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.passes import run_passes

W = np.random.default_rng(0).normal(size=(8, 12)).astype(np.float32)
B = np.random.default_rng(1).normal(size=12).astype(np.float32)


@ash.jit
def linear(x: ash.f32["b", "s", 8]):
    b, s, _ = x.shape
    return ash.tanh((x.reshape(b * s, 8) @ W + B).reshape(b, s, 12)) * 2


@ash.jit
def of_heads(x: ash.f32["b", "s", 2, 4], r: ash.f32["b", "s", 12]):
    """Rows that were in another form before they were flattened."""
    b, s, *_ = x.shape
    return (x.reshape(b * s, 8) @ W + B).reshape(b, s, 12) + r


@ash.jit
def read_twice(x: ash.f32["b", "s", 8]):
    b, s, _ = x.shape
    flat = x.reshape(b * s, 8) @ W
    return flat.reshape(b, s, 12), flat


@ash.jit
def other_columns(x: ash.f32["b", "s", 8]):
    b, s, _ = x.shape
    return (x.reshape(b * s, 8) @ W).reshape(b, s, 3, 4)


@ash.jit
def computed_rows(x: ash.f32["m", 8]):
    return (ash.relu(x) @ W).reshape("m", 1, 12)


def ranks(function: Any) -> list[int]:
    """Of the results of dots."""
    graph = run_passes(function.graph, FIRST).graph
    return [node.result().tensor.rank for node in graph.nodes() if node.op.name == "dot"]


@pytest.mark.parametrize("function", [linear, of_heads])
def test_rows_stay_as_they_were(function: Any) -> None:
    assert ranks(function) == [3]
    executable = compile_graph(function.graph)
    assert [node.op.name for node in executable.graph.nodes()].count("kernel") == 1


@pytest.mark.parametrize("function", [read_twice, other_columns, computed_rows])
def test_others_stay_flat(function: Any) -> None:
    assert ranks(function) == [2]


@pytest.mark.parametrize("function", [linear, of_heads, read_twice, other_columns])
@pytest.mark.parametrize("sizes", [(2, 3), (1, 1), (0, 4), (3, 0), (1, 37)])
def test_values(function: Any, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    shapes = [type_.shape for type_ in function.graph.body.params]
    arrays = [
        rng.normal(size=(*sizes, *(dim.evaluate({}) for dim in shape[2:]))).astype(np.float32)
        for shape in shapes
    ]
    found, wanted = compile_graph(function.graph)(*arrays), evaluate(function.graph, *arrays)
    for ours, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-5, atol=1e-5)
