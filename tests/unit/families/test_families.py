"""Families of kernels: one order, one truth for fusion and lowering, and reasons that are kept."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.codegen import matrix

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.families import FAMILIES
from anyshape.families.body import Body
from anyshape.families.dot.family import Dot
from anyshape.families.lower import lower_region
from anyshape.ir import Graph, all_ops, parse
from anyshape.ir.node import Node
from anyshape.ir.rewrite import Refusal
from anyshape.passes import PASSES, run_passes
from anyshape.passes.native_forms import is_alone, is_loop

W = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)


@ash.jit
def rows_apart(x: ash.f32["a", "k", "b"], w: ash.f32["k", 8]):
    return ash.einsum("akb,kn->abn", x, w)


@ash.jit
def vectors(x: ash.f32["n"], y: ash.f32["n"]):
    return x @ y


@ash.jit
def layer(x: ash.f32["b", "s", 8]):
    b, s, _ = x.shape
    q, k, v = ((x @ w).reshape(b, s, 2, 4).transpose(0, 2, 1, 3) for w in (W, W + 1, W - 1))
    mixed = ash.attention(q, k, v, causal="top_left").transpose(0, 2, 1, 3).reshape(b, s, 8)
    return ash.layer_norm(x + ash.gelu(mixed @ W) @ W)


def kernel_nodes(graph: Graph) -> list[Node]:
    nodes = run_passes(graph, PASSES).graph.nodes()
    return [node for node in nodes if node.op.name == "kernel"]


def test_the_last_family_takes_the_rest_and_no_other_does() -> None:
    assert [family.takes_the_rest for family in FAMILIES] == [False] * (len(FAMILIES) - 1) + [True]
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_every_op_with_a_loop_is_for_some_family() -> None:
    for op in all_ops():
        anchor: Any = SimpleNamespace(op=op, attrs=op.attrs.__new__(op.attrs))
        if is_loop(anchor) or is_alone(anchor):
            assert any(family.anchors(anchor) for family in FAMILIES), op.name


@pytest.mark.parametrize(
    "function",
    [layer, matrix.plain, matrix.transposed, matrix.sequence, matrix.with_residual],
    ids=lambda f: f.graph.name,
)
def test_what_is_fused_for_a_family_is_lowered_by_it(function: Any) -> None:
    """A dot that is a product alone is one with all that joined it."""
    facts = run_passes(function.graph, PASSES).graph.facts
    kernels = kernel_nodes(function.graph)
    assert kernels
    for node in kernels:
        for passed in lower_region(node.regions[0], facts).passed_over:
            assert isinstance(Dot().match(Body.of_nodes([passed.anchor])), Refusal), passed


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (rows_apart, "rows or depth are apart in memory"),
        (vectors, "columns are apart in a result, or there are none"),
    ],
)
def test_explain_says_why_a_dot_is_no_matrix_product(function: Any, why: str) -> None:
    graph = function.graph
    plain = compile_graph(graph, without=("columns-last", "long-tasks"))
    found = [group for group in plain.explain().refused if group.rule == "lower"]
    assert [(group.op, group.why) for group in found] == [("dot", f"it is no dot kernel: {why}")]


def test_families_that_are_used_leave_no_refusal() -> None:
    groups = compile_graph(layer.graph).explain().refused
    assert [group for group in groups if group.rule == "lower"] == []


def test_bodies_of_nodes_and_of_regions_match_alike() -> None:
    graph = parse("""
axes { m: 0..  k: 0..9 }
graph f(x: f32[m, k], w: f32[k, 8]) -> f32[m, 8] {
  %0 = dot(x, w) {contract=([1], [0])}
  %1 = gelu(%0)
  return %1
}
""")
    nodes = [node for node in graph.nodes() if node.op.name in ("dot", "gelu")]
    region = Dot().match(Body.of_region(graph.body))
    assert Dot().match(Body.of_nodes(nodes)) == region
    assert not isinstance(region, Refusal)
