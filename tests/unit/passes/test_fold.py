"""Constant folding: what is evaluated, what is not, and why."""

from __future__ import annotations

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.literal import WeightStore
from anyshape.ir.text.parser import parse
from anyshape.ir.types import f32
from anyshape.passes import EliminateDead, Fold, Passed, run_passes


def fold(graph: Graph, **options: int) -> Passed:
    return run_passes(graph, [Fold(**options)], verify=True)


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes()]


def reasons(passed: Passed) -> list[str]:
    return [decision.why for decision in passed.reports[0].refused]


def constant_chain(size: int) -> Graph:
    b = Builder.at_entry()
    x = b.param(f32[size])
    weight = b.constant(np.arange(size, dtype=np.float32))
    return b.graph("g", ["x"], [b.emit("add", x, b.emit("neg", b.emit("neg", weight)))])


def test_a_chain_becomes_one_constant():
    passed = fold(constant_chain(3))
    assert ops(passed.graph) == ["param", "constant", "add"]
    assert [decision.why for decision in passed.reports[0].taken] == ["it is constant: f32[3]"]


def test_results_beyond_the_limit_are_left():
    passed = fold(constant_chain(100), max_elements=99)
    assert ops(passed.graph).count("neg") == 2
    assert reasons(passed) == ["100 elements are more than max_elements=99"]
    assert ops(fold(constant_chain(100), max_elements=100).graph).count("neg") == 0


def test_intermediate_weights_are_not_stored():
    graph = constant_chain(100)
    before = len(graph.weights)
    assert len(fold(graph).graph.weights) == before  # -(-w) is w, and -w was never needed


def test_a_shared_weight_is_not_stored_in_another_arrangement():
    b = Builder.at_entry()
    x = b.param(f32["n", 8])
    weight = b.constant(np.arange(64, dtype=np.float32).reshape(8, 8))
    turned = b.emit("transpose", weight, perm=(1, 0))
    first = b.emit("dot", x, weight, contract=((1,), (0,)))
    graph = b.graph("g", ["x"], [b.emit("dot", first, turned, contract=((1,), (0,)))])
    passed = fold(graph)
    assert "transpose" in ops(passed.graph)
    assert reasons(passed) == ["the weight is used elsewhere too and would be stored twice"]


def test_unused_weights_go_with_dead_code():
    b = Builder.at_entry()
    x = b.param(f32["n", 8])
    weight = b.constant(np.arange(64, dtype=np.float32).reshape(8, 8))
    turned = b.emit("transpose", weight, perm=(1, 0))
    graph = b.graph("g", ["x"], [b.emit("dot", x, turned, contract=((1,), (0,)))])
    folded = fold(graph).graph
    assert len(folded.weights) == 2
    left = run_passes(folded, [EliminateDead()], verify=True).graph
    assert len(left.weights) == 1
    data = np.ones((2, 8), np.float32)
    assert np.array_equal(evaluate(left, data)[0], evaluate(graph, data)[0])


def test_kept_weights_keep_their_names_and_buffers():
    store = WeightStore()
    first = store.add(np.zeros(40, np.float32))
    second = store.add(np.ones(40, np.float32))
    kept = store.subset([second])
    assert kept.array(second) is store.array(second)
    third = kept.add(np.full(40, 2, np.float32))
    assert [first.name, second.name, third.name] == ["w0", "w1", "w2"]


def test_an_evaluation_that_fails_is_left_for_run_time():
    text = """
graph g() -> f32[] {
  %0 = constant() {value=f32[2] [1, 2]}
  %1 = constant() {value=i64 2}
  %2 = gather(%0, %1) {axis=0}
  return %2
}"""
    passed = fold(parse(text, file="m.ash"))
    assert "gather" in ops(passed.graph)
    assert "index 2 is outside 0..1" in reasons(passed)[0]


def test_late_axes_and_regions_are_left():
    text = """
graph g(x: f32[n]) -> (i64[k, 1], f32[2]) {
  %0 = constant() {value=f32[2] [1, 0]}
  %1 = nonzero(%0) late [k <= 2]
  %2 = constant() {value=bool true}
  %3 = cond(%2, %0)
    then(a0: f32[2]) -> f32[2] { return a0 }
    else(a0: f32[2]) -> f32[2] { %0 = neg(a0) return %0 }
  return %1, %3
}"""
    passed = fold(parse(text))
    assert {"nonzero", "cond"} <= set(ops(passed.graph))
    assert set(reasons(passed)) == {"effects, regions and late axes are for run time"}


def test_constants_inside_regions_are_folded():
    text = """
graph g(p: bool[], x: f32[n]) -> f32[n] {
  %0 = cond(p, x)
    then(a0: f32[n]) -> f32[n] {
      %0 = constant() {value=f32 2}
      %1 = exp(%0)
      %2 = mul(a0, %1)
      return %2
    }
    else(a0: f32[n]) -> f32[n] { return a0 }
  return %0
}"""
    graph = fold(parse(text)).graph
    assert "exp" not in graph.as_text()


def test_a_result_that_is_constant_is_folded():
    text = """
graph g(x: f32[n]) -> f32[2] {
  %0 = constant() {value=f32[2] [1, 0]}
  %1 = neg(%0)
  return %1
}"""
    assert ops(fold(parse(text)).graph) == ["constant"]


def test_nan_and_negative_zero_survive():
    text = """
graph g() -> f32[2] {
  %0 = constant() {value=f32[2] [0, nan]}
  %1 = neg(%0)
  return %1
}"""
    assert "[-0.0, nan]" in fold(parse(text)).graph.as_text()


def test_compound_ops_are_folded_by_their_decomposition():
    text = """
graph g() -> f32[2] {
  %0 = constant() {value=f32[2] [-1, 2]}
  %1 = relu(%0)
  return %1
}"""
    assert "f32[2] [0.0, 2.0]" in fold(parse(text)).graph.as_text()
