"""The interpreter binds, checks and reports; values are the compliance suite's business."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import (
    AxisConflictError,
    DimMismatchError,
    DTypeError,
    EvaluationError,
    FactViolationError,
    OperandError,
    RankMismatchError,
    ShapeError,
    VerifyError,
)
from anyshape.ir import Builder, OpDef, evaluate, opdef, parse
from anyshape.ir.attrs import Attrs
from anyshape.ir.opdef import Signature, register
from anyshape.ir.types import FLOATS, f32
from anyshape.ops.rules import SameDType, same_shape
from anyshape.sym import Symbol


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


SUM = """\
graph g(a: f32[batch, 3], b: f32[batch, 3]) -> f32[batch, 3] {
  %0 = add(a, b)
  return %0
}
"""


def test_it_runs() -> None:
    (result,) = evaluate(parse(SUM), ones(2, 3), ones(2, 3))
    assert result.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_inputs_are_checked() -> None:
    graph = parse(SUM)
    with pytest.raises(OperandError, match="graph 'g': got 1 arrays, expected 2"):
        evaluate(graph, ones(2, 3))
    with pytest.raises(RankMismatchError):
        evaluate(graph, ones(2, 3), ones(2))
    with pytest.raises(DimMismatchError):
        evaluate(graph, ones(2, 3), ones(2, 4))
    with pytest.raises(AxisConflictError):
        evaluate(graph, ones(2, 3), ones(4, 3))
    with pytest.raises(DTypeError, match=r"input 'b': expected f32, got f64\nfix: pass b\.astype"):
        evaluate(graph, ones(2, 3), np.ones((2, 3)))


def test_results_are_arrays_of_rank_zero_too() -> None:
    graph = parse("graph g(x: f32[]) -> f32[] {\n  %0 = slice(x) {starts=[], stops=[], steps=[]}\n"
                  "  return %0\n}\n")  # fmt: skip
    (result,) = evaluate(graph, np.array(1, np.float32))
    assert isinstance(result, np.ndarray)


def test_the_observer_sees_nodes_results_and_sizes() -> None:
    seen: list[tuple[str, tuple[int, ...], dict[Symbol, int]]] = []
    evaluate(
        parse(SUM),
        ones(2, 3),
        ones(2, 3),
        observe=lambda node, results, sizes: seen.append(
            (node.op.name, results[0].shape, dict(sizes))
        ),
    )
    assert seen == [(op, (2, 3), {Symbol("batch"): 2}) for op in ("param", "param", "add")]


# --- late axes ------------------------------------------------------------------------------------

SELECTED = """\
graph g(x: f32[n], y: f32[m]) -> (f32[k], i64[]) {
  %0 = nonzero(x) late [k <= n] : i64[k, 1]
  %1 = reshape(%0) {shape=[k]}
  %2 = gather(y, %1) {axis=0} : f32[k]
  %3 = dim_value() {value=k}
  return %2, %3
}
"""


def test_a_late_axis_is_bound_where_it_is_born() -> None:
    x = np.array([0, 1, 0, 2], np.float32)
    values, count = evaluate(parse(SELECTED), x, np.arange(4, dtype=np.float32))
    assert values.tolist() == [1, 3]
    assert count == 2


def test_two_runs_have_sizes_of_their_own() -> None:
    graph = parse(SELECTED)
    y = np.arange(4, dtype=np.float32)
    sizes = [len(evaluate(graph, np.array(x, np.float32), y)[0]) for x in ([0, 0], [1, 1], [1, 0])]
    assert sizes == [0, 2, 1]


def test_facts_about_late_axes_are_checked_when_they_are_known() -> None:
    text = SELECTED.replace("{value=k}", "{value=k}\n  %4 = slice(%2) "
                            "{starts=[2], stops=[k], steps=[1]}")  # fmt: skip
    text = text.replace("(f32[k], i64[])", "(f32[k - 2], i64[])").replace("%2, %3", "%4, %3")
    graph = parse(text)
    assert [str(fact.predicate) for fact in graph.facts.facts] == ["2 <= k"]
    y = np.arange(4, dtype=np.float32)
    assert evaluate(graph, ones(4), y)[0].tolist() == [2, 3]
    with pytest.raises(FactViolationError, match="'2 <= k' does not hold for k=1"):
        evaluate(graph, np.array([0, 1, 0, 0], np.float32), y)


def test_a_late_axis_meets_another_size() -> None:
    text = """\
graph g(x: f32[n], y: f32[m]) -> f32[m] {
  %0 = nonzero(x) late [k <= n] : i64[k, 1]
  %1 = reshape(%0) {shape=[k]}
  %2 = cast(%1) {to=f32}
  %3 = concat(%2, %2) {axis=0}
  %4 = add(%3, y)
  return %4
}
"""
    with pytest.raises(ShapeError):
        evaluate(parse(text.replace("f32[m] {", "f32[bcast(2*k, m)] {")), ones(3), ones(5))


# --- lies -----------------------------------------------------------------------------------------


@pytest.fixture
def liar() -> Iterator[OpDef[Attrs]]:
    """An op whose reference gives another shape than its rule says."""
    results = {
        3: lambda x: x[1:], 4: lambda x: x[None], 5: lambda x: x.astype(np.float64), 6: np.array,
    }  # fmt: skip
    op = register(
        OpDef(
            "liar",
            Signature(("x",)),
            Attrs,
            SameDType(FLOATS),
            same_shape,
            reference=lambda call: results[len(call.args[0])](call.args[0]),
        )
    )
    yield op
    del opdef._REGISTRY["liar"]


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (3, r"inferred f32\[n\], evaluated to f32\[2\] at n=3"),
        (4, r"inferred f32\[n\], evaluated to f32\[1, 4\]"),
        (5, r"inferred f32\[n\], evaluated to f64\[5\]"),
    ],
)
def test_a_reference_that_lies_about_its_type(liar: OpDef[Attrs], size: int, problem: str) -> None:
    graph = parse("graph g(x: f32[n]) -> f32[n] {\n  %0 = liar(x)\n  return %0\n}\n", file="m.ash")
    assert len(evaluate(graph, ones(6))[0]) == 6
    with pytest.raises(VerifyError, match=rf"invalid graph: liar \(m\.ash:2\): {problem}"):
        evaluate(graph, ones(size))


def test_a_late_axis_above_its_bound() -> None:
    text = "graph g(x: f32[n]) -> i64[k, 1] {\n  %0 = nonzero(x) late [k <= n]\n  return %0\n}\n"
    graph = parse(text)
    node = graph.results[0].node
    from anyshape.ir.node import LateAxis, Node
    from anyshape.sym import Dim

    wrong = Node.make(node.op, node.operands, node.attrs, node.types,
                      late=[LateAxis(Symbol("k"), Dim.of(1))])  # fmt: skip
    lying = graph.with_body(type(graph.body)(graph.body.params, (wrong.result(),), graph.facts))
    assert evaluate(lying, np.array([0, 1], np.float32))[0].tolist() == [[1]]
    with pytest.raises(VerifyError, match="late axis 'k': is 2, above its bound 1"):
        evaluate(lying, ones(2))


# --- values that an op cannot take ----------------------------------------------------------------

GATHER = """\
graph g(x: f32[n], i: i64[m]) -> f32[m] {
  %0 = gather(x, i) {axis=0}
  return %0
}
"""


@pytest.mark.parametrize("index", [3, -1])
def test_gather_outside_says_where(index: int) -> None:
    graph = parse(GATHER, file="model.ash")
    with pytest.raises(EvaluationError) as caught:
        evaluate(graph, ones(3), np.array([0, index]))
    problem = f"gather (model.ash:2): index {index} is outside 0..2"
    assert str(caught.value) == f"{problem}\nfix: pass values that 'gather' takes"


def test_gather_from_nothing() -> None:
    graph = parse(GATHER)
    assert evaluate(graph, ones(0), np.zeros(0, np.int64))[0].shape == (0,)
    with pytest.raises(EvaluationError, match="index 0 is outside an axis of size 0"):
        evaluate(graph, ones(0), np.zeros(1, np.int64))


def test_evaluation_does_not_change_its_inputs() -> None:
    x = ones(3)
    b = Builder.at_entry()
    p = b.param(f32["n"])
    graph = b.graph("g", ["x"], [b.emit("reverse", b.emit("neg", p), axes=(0,))])
    evaluate(graph, x)
    assert x.tolist() == [1, 1, 1]
