"""What becomes one kernel: views and epilogues of products, and what stays apart, with reasons."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.passes import PASSES, run_passes
from anyshape.passes.long_tasks import LongTasks

SPLIT = np.random.default_rng(1).normal(size=(24, 96)).astype(np.float32)
WEIGHT = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)


FUSED = PASSES[: PASSES.index(LongTasks())]
"""Up to where kernels are made: some of them are then computed in parts too."""


def kernels(function: Any) -> list[list[str]]:
    """The ops of each kernel, but for parameters and numbers."""
    graph = run_passes(function.graph, FUSED).graph
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


# --- prologues ------------------------------------------------------------------------------------


def test_cheap_ops_in_front_of_a_dot_join_it() -> None:
    @ash.jit
    def layer(x: ash.f32["b", "s", 8], scale: ash.f32["b", 1, 1]):
        return ash.relu(x * scale + WEIGHT[0]) @ WEIGHT + WEIGHT[1]

    assert kernels(layer) == [["mul", "add", "relu", "dot", "add"]]


def test_columns_are_computed_if_they_are_next_to_each_other() -> None:
    @ash.jit
    def product(x: ash.f32["s", "k"], w: ash.f32["k", "n"], mask: ash.bool["k", "n"]):
        return x @ ash.where(mask, w, 0.0)

    assert kernels(product) == [["select", "dot"]]


def test_one_operand_is_computed_and_the_rows_come_first() -> None:
    @ash.jit
    def product(x: ash.f32["s", "k"], w: ash.f32["k", "n"]):
        return (x + 1.0) @ (w * 2.0)

    assert kernels(product) == [["mul"], ["add", "dot"]]


def test_the_rows_of_a_transposed_product_are_those_of_rhs() -> None:
    @ash.jit
    def product(x: ash.f32["s", "k"], w: ash.f32["n", "k"]):
        return (w @ (x * 2.0).mT).mT

    assert kernels(product) == [["mul", "transpose", "dot", "transpose"]]


def test_views_on_both_sides_of_a_prologue() -> None:
    @ash.jit
    def scores(q: ash.f32["b", "s", 2, 4], k: ash.f32["b", 2, 4, "t"]):
        return (ash.transpose(q, (0, 2, 1, 3)) * 0.5).astype(ash.f64) @ k.astype(ash.f64)

    assert kernels(scores) == [["transpose", "mul", "cast", "cast", "dot"]]


def test_what_follows_a_product_stays_with_it() -> None:
    """Between two products, ops are an epilogue of the first: their operand is in registers."""

    @ash.jit
    def layers(x: ash.f32["s", 8]):
        return ash.relu(x @ WEIGHT) @ WEIGHT

    assert kernels(layers) == [["dot", "relu"], ["dot"]]


def test_what_others_use_too_is_computed_once() -> None:
    @ash.jit
    def two(x: ash.f32["s", 8]):
        y = ash.relu(x)
        return y @ WEIGHT, y @ WEIGHT.T

    assert kernels(two) == [["relu"], ["dot"], ["dot"]]


def test_an_operand_may_be_the_residual() -> None:
    @ash.jit
    def residual(x: ash.f32["s", 8]):
        y = ash.relu(x)
        return y + y @ WEIGHT

    assert kernels(residual) == [["relu", "dot", "add"]]


@ash.jit
def repeated_further_on(x: ash.f32["s", 8], w: ash.f32[8]):
    """Between the function and the broadcast there is something cheap."""
    return x * (ash.tanh(w) + 1)


def test_a_view_that_several_kernels_read_is_no_copy() -> None:
    @ash.jit
    def parts(x: ash.f32["b", "s", 24]):
        heads = ash.transpose((x @ ash.asarray(SPLIT)).reshape(("b", "s", 6, 16)), (0, 2, 1, 3))
        return ash.exp(heads[:, :2]), heads[:, 2:4].sum(-1), ash.softmax(heads[:, 4:])

    views = [["slice", "transpose"], ["transpose", "slice"]]
    found = [names[:2] for names in kernels(parts) if "dot" not in names]
    assert len(found) == 3
    assert all(names in views for names in found), found
    x = np.random.default_rng(0).normal(size=(2, 5, 24)).astype(np.float32)
    for one, expected in zip(parts(x), evaluate(parts.graph, x), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


def test_a_transposition_of_columns_is_made_once() -> None:
    """And so is a view with few of them."""

    @ash.jit
    def turned(x: ash.f32["s", 8], z: ash.f32["s", 3, 4]):
        y, few = x.mT, ash.transpose(z, (1, 0, 2))
        return ash.exp(y), y.sum(-1), ash.exp(few), few.sum(-1)

    assert kernels(turned).count(["transpose"]) == 2


def test_a_product_writes_its_result_in_the_order_that_readers_want() -> None:
    """It takes the view along, so nobody else has to."""

    @ash.jit
    def heads(x: ash.f32["b", "s", 2, 24]):
        y = ash.transpose(x @ ash.asarray(SPLIT), (0, 2, 1, 3))
        return ash.exp(y), ash.softmax(y)

    assert kernels(heads) == [["dot", "transpose"], ["exp"], ["softmax"]]


@ash.jit
def computed_across(x: ash.f32["k", "s"], w: ash.f32["k", "n"]):
    return ash.relu(x).mT @ w


@ash.jit
def costly_rows(x: ash.f32["s", "k"], w: ash.f32["k", "n"]):
    return ash.gelu(x + 1.0) @ w


@ash.jit
def many_ops(x: ash.f32["s", "k"], w: ash.f32["k", "n"], y: ash.f32["k"]):
    for _ in range(9):
        x = x + y
    return x @ w


@ash.jit
def padded_rows(x: ash.f32["s", "k"], w: ash.f32["k", "n"]):
    return ash.relu(ash.pad(x, [(1, 0), (0, 0)])) @ w


@ash.jit
def long_product(x: ash.f32["s", "k"], w: ash.f32["k", 768]):
    return ash.relu(x) @ w


@ash.jit
def repeated_rows(x: ash.f32["s", "k"], w: ash.f32["b", "k", "n"]):
    return ash.broadcast_to(ash.relu(x), ("b", "s", "k")) @ w


@ash.jit
def own_square(x: ash.f32["s", "k"]):
    y = ash.relu(x)
    return y @ y.mT


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
            "an operand is computed inside the kernel",
        ),
        (
            computed_across,
            [["relu"], ["transpose", "dot"]],
            "a dot would compute it one element here and one there",
        ),
        (
            costly_rows,
            [["add", "gelu"], ["dot"]],
            "gelu costs more than a pass over memory if a dot computes it",
        ),
        (
            many_ops,
            [["add"] * 9, ["dot"]],
            "so many ops in front of a dot cost more than a pass over memory",
        ),
        (
            padded_rows,
            [["pad", "relu"], ["dot"]],
            "pad in front of a dot reads elements here and there",
        ),
        (
            long_product,
            [["relu"], ["dot"]],
            "a dot uses each element so often that a pass over memory costs nothing",
        ),
        (
            repeated_rows,
            [["relu"], ["broadcast", "dot"]],
            "it would be computed again for each use",
        ),
        (
            repeated_further_on,
            [["tanh"], ["add", "mul"]],
            "it would be computed again for each use",
        ),
        (
            own_square,
            [["relu"], ["transpose", "dot"]],
            "both operands of a dot are computed from it",
        ),
        (
            rows_apart,
            [["transpose"], ["dot"]],
            "rows or depth are apart in memory",
        ),
        (
            batch_last,
            [["dot"], ["transpose"]],
            "columns are apart in a result, or there are none",
        ),
    ],
)
def test_refusals_say_why(function: Any, expected: list[list[str]], why: str) -> None:
    assert kernels(function) == expected
    reports = run_passes(function.graph, PASSES).reports
    assert why in {decision.why for report in reports for decision in report.refused}
