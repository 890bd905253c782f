"""What becomes one kernel: views and epilogues of products, and what stays apart, with reasons."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import PASSES
from anyshape.passes import run_passes

WEIGHT = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)


def kernels(function: Any) -> list[list[str]]:
    """The ops of each kernel, but for parameters and numbers."""
    graph = run_passes(function.graph, PASSES).graph
    return [
        [n.op.name for n in node.regions[0].nodes() if n.op.name not in ("param", "constant")]
        for node in graph.nodes()
        if node.op.name == "kernel"
    ]


def test_transposes_of_operands_are_views() -> None:
    @ash.jit
    def scores(q: ash.f32["b", "s", 2, 4], k: ash.f32["b", "t", 2, 4]):
        return ash.transpose(q, (0, 2, 1, 3)) @ ash.transpose(k, (0, 2, 3, 1)) * 0.5

    assert kernels(scores) == [["transpose", "transpose", "dot", "mul"]]


def test_heads_are_merged_by_the_product() -> None:
    @ash.jit
    def mixed(p: ash.f32["b", 2, "s", "t"], v: ash.f32["b", "t", 2, 4]):
        heads = p @ ash.transpose(v, (0, 2, 1, 3))
        return ash.transpose(heads, (0, 2, 1, 3)).reshape(("b", "s", 8)) @ WEIGHT

    assert kernels(mixed) == [["transpose", "dot", "transpose"], ["dot"]]


def test_a_feed_forward_layer_is_two_kernels() -> None:
    """The residual is read by both products, and the sum by a norm as well."""

    @ash.jit
    def layer(x: ash.f32["b", "s", 8]):
        hidden = ash.dense(x, WEIGHT, WEIGHT[0], activation="gelu")
        return x + ash.dense(hidden, WEIGHT, WEIGHT[1])

    first, second = kernels(layer)
    assert first == ["dot", "add", "gelu"]
    assert second == ["dot", "add", "add"]


def test_a_sum_that_is_used_twice_is_written_once() -> None:
    @ash.jit
    def block(x: ash.f32["s", 8]):
        middle = x + x @ WEIGHT
        return middle + ash.layer_norm(middle, axis=-1) @ WEIGHT

    assert kernels(block) == [["dot", "add"], ["layer_norm"], ["dot", "add"]]


def test_storage_in_halves_is_converted_on_the_way() -> None:
    @ash.jit
    def product(x: ash.f16["s", "k"], w: ash.f16["k", "n"]):
        return (x.astype(ash.f32) @ w.astype(ash.f32)).astype(ash.f16)

    assert kernels(product) == [["cast", "cast", "dot", "cast"]]


@ash.jit
def computed_rows(x: ash.f32["s", "k"], w: ash.f32["k", "n"]):
    return ash.relu(x) @ w


@ash.jit
def computed_view(x: ash.f32["k", "s"], w: ash.f32["k", "n"]):
    return ash.relu(x).mT @ w


@ash.jit
def rows_apart(x: ash.f32["a", "k", "b"], w: ash.f32["k", "n"]):
    return ash.transpose(x, (0, 2, 1)) @ w


@ash.jit
def batch_last(x: ash.f32["b", "s", "k"], w: ash.f32["b", "k", "n"]):
    return ash.transpose(x @ w, (1, 2, 0))


@ash.jit
def grouped_view(x: ash.f32["k", "t"], w: ash.f32["g", "k", "n"], ends: ash.i32["g"]):
    return ash.grouped_dot(ash.transpose(x), w, ends)


@pytest.mark.parametrize(
    ("function", "expected", "why"),
    [
        (
            grouped_view,
            [["transpose"], ["grouped_dot"]],
            "a contraction reads its operands from memory",
        ),
        (computed_rows, [["relu"], ["dot"]], "a contraction reads its operands from memory"),
        (
            computed_view,
            [["relu"], ["transpose", "dot"]],
            "a contraction reads its operands from memory",
        ),
        (
            rows_apart,
            [["transpose"], ["dot"]],
            "rows, columns or depth would be apart in memory",
        ),
        (batch_last, [["dot"], ["transpose"]], "a transpose would take its columns apart"),
    ],
)
def test_refusals_say_why(function: Any, expected: list[list[str]], why: str) -> None:
    assert kernels(function) == expected
    reports = run_passes(function.graph, PASSES).reports
    assert why in {decision.why for report in reports for decision in report.refused}
