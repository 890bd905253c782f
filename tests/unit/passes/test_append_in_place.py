"""Results that continue an input: found, laid out, appended; the graph means the same."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.passes import PASSES, run_passes
from anyshape.passes.append_in_place import Append, GrowingAxesFirst, growths_of
from anyshape.passes.donation import NOTHING_DONATED, Donation


@ash.jit
def cache(past: ash.f32["b", "p", 4], x: ash.f32["b", "s", 4]):
    present = ash.concat([past, x], axis=1)
    return ash.softmax(present, -1), present


@ash.jit
def behind(past: ash.f32["p", 4], x: ash.f32["s", 4]):
    return ash.concat([x, past])


@ash.jit
def unreturned(past: ash.f32["p", 4], x: ash.f32["s", 4]):
    return ash.exp(ash.concat([past, x]))


@ash.jit
def twice(past: ash.f32["p", 4], x: ash.f32["s", 4]):
    return ash.concat([past, x]), ash.concat([past, -x])


def found(function: Any, donated: set[int]) -> list[tuple[int, int, tuple[int, ...]]]:
    graph = run_passes(function.graph, FIRST).graph
    growths = growths_of(graph.results, donated)
    return [(g.input, graph.results.index(g.result), g.order) for g in growths]


def test_what_grows():
    assert found(cache, {0, 1}) == [(0, 1, (1, 0, 2))]
    assert found(cache, {1}) == []
    assert found(behind, {0}) == []
    assert found(behind, {1}) == [(1, 0, (0, 1))]
    assert found(unreturned, {0, 1}) == []
    assert found(twice, {0}) == [(0, 0, (0, 1))]


def test_the_axis_that_grows_comes_first():
    graph = run_passes(cache.graph, FIRST).graph
    passed = run_passes(graph, [GrowingAxesFirst()], frozenset({0}), verify=True)
    assert "'past' grows along axis 1" in [str(d.why) for d in passed.reports[0].decisions]
    assert passed.donation == Donation(frozenset({0}), {0: (1, 0, 2)}, {1: (1, 0, 2)})
    after = passed.graph
    assert [str(type_) for type_ in after.body.params] == ["f32[p, b, 4]", "f32[b, s, 4]"]
    types = [str(type_) for type_ in after.body.result_types]
    assert types == ["f32[b, p + s, 4]", "f32[p + s, b, 4]"]
    rng = np.random.default_rng(0)
    for b, p, s in ((2, 3, 1), (1, 0, 1), (0, 2, 2), (3, 5, 0)):
        past, x = rng.random((b, p, 4), np.float32), rng.random((b, s, 4), np.float32)
        first, second = evaluate(after, past.transpose(1, 0, 2), x)
        expected = evaluate(graph, past, x)
        np.testing.assert_array_equal(first, expected[0])
        np.testing.assert_array_equal(second.transpose(1, 0, 2), expected[1])


def appended(function: Any, *donated: int) -> Graph:
    return run_passes(function.graph, PASSES, frozenset(donated)).graph


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes() if node.op.name in ("kernel", "append")]


def test_what_is_appended_is_a_kernels_own():
    assert ops(appended(cache, 0)) == ["kernel", "append", "kernel"]
    graph = appended(behind, 1)
    assert ops(graph) == ["kernel", "append"]  # past is copied behind x
    x, past = np.ones((2, 4), np.float32), np.zeros((3, 4), np.float32)
    np.testing.assert_array_equal(evaluate(graph, past, x)[0], np.concatenate([x, past]))


def test_only_one_result_continues_an_input():
    assert ops(appended(twice, 0)).count("append") == 1


def test_other_axes_are_not_appended():
    graph = run_passes(cache.graph, FIRST).graph
    assert run_passes(graph, [Append()], frozenset({0})).graph == graph


def test_nothing_is_done_for_a_graph_with_host_nodes():
    @ash.jit
    def with_host_node(past: ash.f32["b", "p", 4], x: ash.f32["b", "s", 4]):
        present = ash.concat([past, x], axis=1)
        return present, ash.nonzero(present[0, 0])

    passed = run_passes(with_host_node.graph, PASSES, frozenset({0}))
    assert passed.donation == NOTHING_DONATED
    assert passed.graph == run_passes(with_host_node.graph, PASSES).graph


def test_nothing_is_done_where_nothing_is_given_up():
    graph = run_passes(cache.graph, FIRST).graph
    assert run_passes(graph, [GrowingAxesFirst(), Append()]).graph is graph


@pytest.mark.parametrize("function", [cache, behind, unreturned, twice])
def test_results_are_the_same(function: Any):
    rng = np.random.default_rng(1)
    donated = ash.compile(function, donate=("past", "x"))
    plain = ash.compile(function)
    rank = len(function.graph.body.params[0].shape)
    for p, s in ((3, 2), (0, 1), (1, 0), (70, 3)):
        shapes = [(p, 4), (s, 4)] if rank == 2 else [(2, p, 4), (2, s, 4)]
        arrays = [rng.random(shape, np.float32) for shape in shapes]
        for one, other in zip(donated(*map(np.copy, arrays)), plain(*arrays), strict=True):
            np.testing.assert_array_equal(one, other)
