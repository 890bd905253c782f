"""Slices move to where values are made, if that spares something and nothing is made twice."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.opdef import lookup
from anyshape.ir.types import TensorType, f32
from anyshape.ops.sort import TopKAttrs
from anyshape.passes import PASSES, PassReport, run_passes
from anyshape.passes.narrowing import Narrowing
from anyshape.passes.needed_parts import COSTLY
from anyshape.sym import Dim

RNG = np.random.default_rng(0)
W, V = (RNG.normal(size=(8, 8)).astype(np.float32) for _ in range(2))

X = ash.f32["b", "s", 8]
LAST_ROW = "s - max(0, s - 1)"


def mlp(x: Any) -> Any:
    return ash.gelu(x @ W) @ V


@ash.jit
def residual(x: X):
    """Every use of `h` is the same slice in the end."""
    h = x + mlp(x)
    return ash.layer_norm(h + mlp(ash.layer_norm(h)))[:, -1:]


@ash.jit
def index(x: X):
    return ash.softmax(x @ W)[:, 0]


@ash.jit
def attends(x: X):
    """Keys and values are of all rows, queries of the last."""
    b, s, _ = x.shape
    q, k, v = ((x @ w).reshape(b, s, 2, 4).transpose(0, 2, 1, 3) for w in (W, V, W + V))
    mixed = ash.attention(q, k, v, causal="top_left").transpose(0, 2, 1, 3)
    return (mixed.reshape(b, s, 8) @ W)[:, -1:]


@ash.jit
def masked(q: ash.f32["b", 2, "s", 8], k: ash.f32["b", 2, "t", 8], mask: ash.f32["s", "t"]):
    return ash.attention(q, k, k, mask=mask + 1)[:, :, :1]


@ash.jit
def two_axes(x: ash.f32["b", "s", "t", 8]):
    return (x @ W)[:, 1:, ::2]


@ash.jit
def of_slices(x: X):
    """Rows that all parts agree on; columns, which they do not."""
    qkv = x @ np.concatenate([W, V], 1)
    return qkv[:, -1:, :8] * qkv[:, -1:, 8:]


@ash.jit
def in_a_branch(x: X, flag: ash.bool[()]):
    return ash.cond(flag, lambda x: (x @ W)[:, -1:], lambda x: x[:, -1:] + 1, x)


MOVED = {
    residual: ["b, S, 8"] * 6,
    index: ["b, 1, 8"] * 2,
    attends: ["b, s, 8", "b, s, 8", "b, S, 8", "b, 2, S, 4", "b, S, 8"],
    masked: ["b, 2, min(s, 1), 8"],
    two_axes: ["b, s - min(s, 1), (t + 1)//2, 8"],
    of_slices: ["b, S, 16"],
}
"""What dots, norms and attentions then compute; S is the size of the last row."""


def passed(function: Any) -> tuple[Graph, PassReport]:
    found = run_passes(function.graph, FIRST, verify=True)
    return found.graph, next(report for report in found.reports if report.name == Narrowing.name)


def shapes(graph: Graph) -> list[str]:
    costly = (node for node in graph.nodes() if node.op.traits & COSTLY)
    found = (str(node.types[0]).replace(LAST_ROW, "S") for node in costly)
    return sorted(text[4:-1] for text in found)


@pytest.mark.parametrize("function", MOVED)
def test_what_is_computed(function: Any) -> None:
    graph, report = passed(function)
    assert shapes(graph) == sorted(MOVED[function])
    assert report.taken


def test_a_branch_computes_less() -> None:
    graph, report = passed(in_a_branch)
    (branching,) = (node for node in graph.nodes() if node.op.name == "cond")
    names = [[node.op.name for node in region.nodes()] for region in branching.regions]
    assert names[0] == ["param", "slice", "constant", "dot"]
    assert [decision.node.op.name for decision in report.taken] == ["dot"]


def test_reasons() -> None:
    _, report = passed(attends)
    taken = {(decision.node.op.name, decision.why) for decision in report.taken}
    part = "only max(0, s - 1):s of axis"
    assert taken == {("dot", f"{part} 1 is needed"), ("attention", f"{part} 2 is needed")}


def test_last_queries_of_causal_attention() -> None:
    graph, _ = passed(attends)
    (node,) = (node for node in graph.nodes() if node.op.name == "attention")
    assert node.attrs.causal == "bottom_right"


# --- what stays -----------------------------------------------------------------------------------


@ash.jit
def returned(x: X):
    y = x @ W
    return y[:, -1:], y


@ash.jit
def used_otherwise(x: X):
    y = x @ W
    return y[:, -1:], ash.sum(y)


@ash.jit
def other_part(x: X):
    y = x @ W
    return y[:, -1:] + y[:, :1]


@ash.jit
def reduced(x: X):
    return ash.softmax(x, axis=1)[:, -1:]


@ash.jit
def perhaps_repeated(x: ash.f32["s + 1", 8], y: ash.f32["t", 8]):
    """Which of the two is repeated, only the run knows."""
    return ash.layer_norm(x + y)[:1]


@ash.jit
def columns(x: X):
    return (x @ W)[:, :, :4]


@ash.jit
def cheap(x: X):
    return (ash.exp(x) + 1)[:, -1:]


@ash.jit
def grows(past: ash.f32["b", "p", 8], x: X):
    present = ash.concat([past, x @ W], axis=1)
    return ash.softmax(present)[:, -1:], present


@ash.jit
def late(x: ash.f32["s", 8], flags: ash.bool["s"]):
    found = ash.nonzero(flags)[0].shape[0]
    return (x @ W)[:found]


@ash.jit
def every_other_query(q: ash.f32["b", 2, "s", 8], k: ash.f32["b", 2, "t", 8]):
    return ash.attention(q, k, k, causal="bottom_right")[:, :, ::2]


def sorted_rows() -> Graph:
    b = Builder.at_entry()
    x = b.param(TensorType(f32, (Dim.of("s"), Dim.of(8))))
    greatest = b.node(lookup("topk"), [x], TopKAttrs(1, Dim.of(2)))
    stops = (Dim.of("s"), Dim.of(1))
    first = b.emit("slice", greatest.result(), starts=(0, 0), stops=stops, steps=(1, 1))
    return b.graph("sorted_rows", ["x"], [first])


STAYS = {
    returned: "something else needs more of its operand",
    used_otherwise: "something else needs more of its operand",
    other_part: "something else needs more of its operand",
    reduced: "a softmax needs the whole axis",
    columns: "constant operands of a dot are stored whole",
    cheap: "nothing costly comes before it",
    late: "data decide where it is",
    every_other_query: "queries that are not neighbours see keys by no bounds",
}


@pytest.mark.parametrize("function", STAYS)
def test_what_stays(function: Any) -> None:
    before = run_passes(function.graph, FIRST[:-1]).graph
    graph, report = passed(function)
    assert graph == before
    assert {decision.why for decision in report.refused} == {STAYS[function]}


def test_several_results() -> None:
    graph = sorted_rows()
    passed = run_passes(graph, [Narrowing()], verify=True)
    assert passed.graph == graph
    (decision,) = passed.reports[0].refused
    assert decision.why == "an op with several results computes them whole"


def test_a_size_that_may_repeat_stops_it() -> None:
    """The norm computes one row; the sum in front of it is of both operands as they are."""
    graph, report = passed(perhaps_repeated)
    names = [node.op.name for node in graph.nodes()]
    assert names.index("add") < names.index("slice") < names.index("layer_norm")
    refused = [d.why for d in report.refused if d.rule == "narrowing"]
    assert refused == ["s + 1 may or may not repeat"]


def test_growth_in_place_is_not_disturbed() -> None:
    graph, report = passed(grows)
    assert shapes(graph) == ["b, p + s - max(0, p + s - 1), 8", "b, s, 8"]
    assert [decision.node.op.name for decision in report.taken] == ["softmax"]
    whole = run_passes(grows.graph, PASSES, frozenset({0})).graph
    assert [node.op.name for node in whole.nodes()].count("append") == 1


def test_facts_stay() -> None:
    """An empty axis has no first element: that is still said."""
    graph, _ = passed(index)
    assert graph.facts == index.graph.facts
    with pytest.raises(ash.errors.AnyshapeError, match="stop 1 must be within"):
        compile_graph(index.graph)(np.zeros((2, 0, 8), np.float32))


# --- values ---------------------------------------------------------------------------------------

SIZES = [{"b": 2, "s": 5, "t": 7}, {"b": 1, "s": 1, "t": 1}, {"b": 0, "s": 3, "t": 2},
         {"b": 3, "s": 37, "t": 20}]  # fmt: skip


@pytest.mark.parametrize("function", [*MOVED, returned, other_part, every_other_query])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values(function: Any, sizes: dict[str, int]) -> None:
    arrays = inputs(function.graph, sizes)
    _same(compile_graph(function.graph)(*arrays), evaluate(function.graph, *arrays))


@pytest.mark.parametrize("function", [residual, attends, two_axes, of_slices])
def test_no_rows(function: Any) -> None:
    arrays = inputs(function.graph, {"b": 2, "s": 1 if function is two_axes else 0, "t": 0})
    _same(compile_graph(function.graph)(*arrays), evaluate(function.graph, *arrays))


def test_other_rows_do_not_matter() -> None:
    (x,) = inputs(residual.graph, {"b": 2, "s": 6})
    run = compile_graph(residual.graph)
    (clean,) = run(x)
    x[:, :-1] = np.nan
    x[1, 2] = np.inf
    np.testing.assert_array_equal(run(x)[0], clean)
    x[0, -1, 3] = np.nan
    assert np.isnan(run(x)[0][0]).all()
    np.testing.assert_array_equal(run(x)[0][1], clean[1])


def inputs(graph: Graph, sizes: dict[str, int]) -> list[Any]:
    rng = np.random.default_rng(1)
    shapes = [[sizes.get(str(dim), dim.constant) for dim in p.shape] for p in graph.body.params]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def _same(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    for ours, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-4)
