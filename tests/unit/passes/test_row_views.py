"""Views of rows: heads that are normalised, put before positions and rotated are one kernel."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.test_fuse import kernels
from tests.unit.passes.test_rows import name_of

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.ir.types import Array

HEADS, WIDTH = 3, 32
heads = ash.jit(axes=[ash.Axis("seq", max=4096)])
jit = ash.jit(axes=[ash.Axis("m", max=4096)])

X = ash.f32["batch", "seq", HEADS, WIDTH]
TABLE = ash.f32["seq", WIDTH]
WEIGHT = ash.f32[WIDTH]


def norm(x: Any, w: Any) -> Any:
    return x * ash.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def by_heads(x: Any) -> Any:
    return ash.transpose(x, (0, 2, 1, 3))


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = WIDTH // 2
    return x * cos + ash.concat([-x[..., half:], x[..., :half]], axis=-1) * sin


# --- one kernel -----------------------------------------------------------------------------------


@heads
def normalised_heads(x: X, w: WEIGHT):
    return by_heads(norm(x, w))


@heads
def rotated_heads(x: X, w: WEIGHT, cos: TABLE, sin: TABLE):
    return turned(by_heads(norm(x, w)), cos, sin)


@heads
def rotated_before_the_transpose(x: X, w: WEIGHT, cos: TABLE, sin: TABLE):
    return by_heads(turned(norm(x, w), cos[:, None, :], sin[:, None, :]))


@heads
def rotated_in_part(x: X, w: WEIGHT, cos: ash.f32["seq", WIDTH // 2]):
    y = by_heads(norm(x, w))
    return ash.concat([y[..., : WIDTH // 2] * cos, y[..., WIDTH // 2 :]], axis=-1)


@ash.jit
def halves_of_layer_norm(x: ash.f32["n", 64]):
    y = ash.layer_norm(x, axis=-1)
    return y[:, :32] * y[:, 32:]


@jit
def strided_part(x: ash.f32["n", "m"]):
    y = x - x.mean(-1, keepdims=True)
    return y[:, ::2] * 2.0


@jit
def part_of_columns(x: ash.f32[40, "m"]):
    """Rows are columns here: a strip of them is a task."""
    y = x - x.mean(0, keepdims=True)
    return ash.concat([y[1:], y[:1] * 3.0], axis=0)


@ash.jit
def part_less_the_mean(x: ash.f32["n", 33]):
    return x[:, 1:] - x.mean(-1, keepdims=True)


@heads
def turned_and_joined_to_its_mean(x: X):
    y = x - x.mean(-1, keepdims=True)
    return y[..., 1:] + x.max(-1, keepdims=True)


TOGETHER = [
    part_less_the_mean,
    normalised_heads, rotated_heads, rotated_before_the_transpose, rotated_in_part,
    halves_of_layer_norm, strided_part, part_of_columns,
    turned_and_joined_to_its_mean,
]  # fmt: skip


# --- apart ----------------------------------------------------------------------------------------


@jit
def costly_before_a_part(x: ash.f32["n", "m"]):
    return ash.softmax(x, axis=-1)[:, 1:]


@jit
def longer_than_the_rows(x: ash.f32["n", "m"], y: ash.f32["n", 5]):
    return ash.concat([y, x - x.max(-1, keepdims=True)], axis=-1)


@jit
def rows_beside_rows(x: ash.f32["n", "m"]):
    y = x - x.max(-1, keepdims=True)
    return ash.concat([y * (y * y).sum(-1, keepdims=True), x], axis=0)


@ash.jit
def in_both_orders(x: ash.f32["n", "n", 16]):
    y = x - x.max(-1, keepdims=True)
    y = y * (y * y).sum(-1, keepdims=True)
    return ash.transpose(y, (1, 0, 2)) + y


@jit
def parts_of_a_transpose(x: ash.f32["n", "m"]):
    y = x - x.max(-1, keepdims=True)
    return ash.transpose(y * (y * y).sum(-1, keepdims=True))


APART = [
    costly_before_a_part,
    longer_than_the_rows,
    rows_beside_rows,
    in_both_orders,
    parts_of_a_transpose,
]


@pytest.mark.parametrize("function", TOGETHER, ids=name_of)
def test_they_are_one_kernel(function: Any) -> None:
    assert len(kernels(function)) == 1


@pytest.mark.parametrize("function", APART, ids=name_of)
def test_they_stay_apart(function: Any) -> None:
    assert len(kernels(function)) > 1


def inputs_of(function: Any, sizes: dict[str, int], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    shapes = [
        [d.evaluate({s: sizes[s.name] for s in d.symbols}) for d in type_.shape]
        for type_ in function.graph.body.params
    ]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


SIZES = ((0, 0, 1), (1, 1, 1), (2, 3, 2), (1, 17, 33), (3, 5, 64), (5, 1, 7))


@pytest.mark.parametrize("function", [*TOGETHER, *APART], ids=name_of)
def test_values_are_those_of_the_ops(function: Any) -> None:
    for seed, (n, seq, m) in enumerate(SIZES):
        inputs = inputs_of(function, {"batch": n, "n": n, "seq": seq, "m": m}, seed)
        (expected,) = evaluate(function.graph, *inputs)
        np.testing.assert_allclose(function(*inputs), expected, rtol=2e-5, atol=2e-5)


def test_rotations_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    for batch, seq in ((2, 7), (1, 1), (0, 3), (3, 0)):
        shapes = ((batch, seq, HEADS, WIDTH), (WIDTH,), (seq, WIDTH), (seq, WIDTH))
        x, w, cos, sin = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
        y = (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w).transpose(0, 2, 1, 3)
        left, right = np.split(y, 2, axis=-1)
        expected = y * cos + np.concatenate([-right, left], axis=-1) * sin
        np.testing.assert_allclose(rotated_heads(x, w, cos, sin), expected, rtol=1e-5, atol=1e-5)


def test_numbers_of_rows_are_computed_once_for_all_parts() -> None:
    """Conditions on the place in a row say nothing about its mean."""
    text = rotated_heads.executable.kernels[0].as_text()
    assert text.count("for ") == 4  # of a block: its rows and their elements, twice
    assert text.count("rsqrt") == 1
