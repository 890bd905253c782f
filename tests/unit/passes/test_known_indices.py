"""Nothing is asked about indices that are in range by what they are."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import Graph, evaluate
from anyshape.passes import run_passes
from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.dce import EliminateDead
from anyshape.passes.known_indices import KnownIndices

STEPS = (Canonicalize(), KnownIndices(), EliminateDead())


@ash.jit
def rows_of_groups(x: ash.f32["n", 4], keys: ash.i64["n"]):
    return x[ash.worklist(keys, 3).order // 1]


@ash.jit
def two_axes(x: ash.f32["n", 4], y: ash.f32["n"]):
    rows, columns = ash.nonzero(x > 0)
    return x[rows, columns] + y[rows]


@ash.jit
def of_the_caller(x: ash.f32["n", 4], places: ash.i64["m"]):
    return x[places]


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in run_passes(graph, STEPS, verify=True).graph.nodes()]


@pytest.mark.parametrize("function", [rows_of_groups, two_axes])
def test_an_index_in_range_is_taken_as_it_is(function: Any) -> None:
    before = [node.op.name for node in function.graph.nodes()]
    assert "select" in before
    assert "select" not in ops(function.graph)


def test_an_index_of_the_caller_may_count_from_the_end() -> None:
    assert "select" in ops(of_the_caller.graph)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_values_are_kept(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, 4)).astype(np.float32)
    given = {rows_of_groups: rng.integers(0, 3, rows), two_axes: x[:, 0].copy()}
    for function, second in given.items():
        expected = evaluate(function.graph, x, second)
        np.testing.assert_array_equal(compile_graph(function.graph)(x, second), expected)
