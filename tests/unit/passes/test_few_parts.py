"""Concatenations of many parts: trees of few parts each, which kernels do not join again."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node
from anyshape.ops.movement import concat
from anyshape.passes import PASSES, run_passes
from anyshape.passes.few_parts import FewParts


def of_inputs(count: int, axis: int = 0) -> Graph:
    shape = ("r", "a{}") if axis else ("a{}", "r")

    def function(inputs: Any) -> Any:
        return ash.concat(list(inputs.values()), axis=axis)

    types = {f"x{n:03}": ash.f32[tuple(s.format(n) for s in shape)] for n in range(count)}
    function.__annotations__ = {"inputs": types}
    return ash.jit(function).graph


def concats(graph: Graph) -> list[Node]:
    nodes = [inner for n in graph.nodes() for r in n.regions for inner in r.nodes()]
    return [node for node in (*graph.nodes(), *nodes) if node.op is concat]


def split(graph: Graph) -> Graph:
    return run_passes(graph, (*FIRST, FewParts()), verify=True).graph


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_few_parts_stay_one_concatenation(count: int) -> None:
    assert [len(node.operands) for node in concats(split(of_inputs(count)))] in ([count], [])


@pytest.mark.parametrize(
    ("count", "operands"),
    [(9, {4: 2, 3: 1}), (16, {4: 5}), (17, {4: 5, 2: 1}), (64, {4: 21})],
)
def test_many_parts_are_a_tree(count: int, operands: dict[int, int]) -> None:
    assert Counter(len(node.operands) for node in concats(split(of_inputs(count)))) == operands


def test_the_decision_is_recorded() -> None:
    (report,) = (r for r in run_passes(of_inputs(20), PASSES).reports if r.name == "few-parts")
    (decision,) = report.decisions
    assert decision.why == "20 parts are put together 4 at a time"


@pytest.mark.parametrize("count", [8, 9, 40])
def test_no_kernel_has_two_levels(count: int) -> None:
    graph = run_passes(of_inputs(count), PASSES).graph
    kernels = [n for n in graph.nodes() if n.op.name == "kernel"]
    inside = [sum(node.op is concat for node in k.regions[0].nodes()) for k in kernels]
    assert set(inside) == {1}
    assert len(inside) == len(concats(split(of_inputs(count))))


def test_blocks_of_a_matrix_are_one_kernel() -> None:
    """Concatenations along other axes join, as long as the parts are few."""

    def function(a: Any, b: Any, c: Any, d: Any) -> Any:
        return ash.concat([ash.concat([a, b], axis=1), ash.concat([c, d], axis=1)], axis=0)

    types = {"a": "n m", "b": "n k", "c": "l m", "d": "l k"}
    function.__annotations__ = {k: ash.f32[tuple(v.split())] for k, v in types.items()}
    graph = run_passes(ash.jit(function).graph, PASSES).graph
    assert sum(node.op.name == "kernel" for node in graph.nodes()) == 1


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [9, 13, 33])
def test_results_are_those_of_numpy(count: int, axis: int) -> None:
    executable = ash.compile(of_inputs(count, axis))
    for sizes in ([0] * count, [1] * count, [n % 5 for n in range(count)], [37, 0] * count):
        rng = np.random.default_rng(0)
        shapes = [(3, n) if axis else (n, 3) for n in sizes[:count]]
        parts = [rng.standard_normal(shape, np.float32) for shape in shapes]
        assert np.array_equal(executable(*parts)[0], np.concatenate(parts, axis))
