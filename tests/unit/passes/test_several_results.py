"""Values that several kernels need: computed by the first of them, and stored by it, too."""

from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of
from tests.unit.passes.test_rows import BINDINGS, EPS, ROWS, WEIGHT, inputs_of, jit, name_of

import anyshape as ash
from anyshape.base.options import options_from_environment
from anyshape.execute import compile_graph
from anyshape.loop.verify import verify_kernel
from anyshape.passes import PASSES, run_passes
from anyshape.passes.several_results import SeveralResults

NAME = SeveralResults().name
WEIGHTS = np.random.default_rng(0).normal(size=(67, 40)).astype(np.float32)


def kernels(function: Any) -> list[list[str]]:
    graph = run_passes(function.graph, PASSES).graph
    regions = [node.regions[0] for node in graph.nodes() if node.op.name == "kernel"]
    names = ([node.op.name for node in region.nodes()] for region in regions)
    return [[name for name in some if name not in ("param", "constant")] for some in names]


# --- taken ----------------------------------------------------------------------------------------


@jit
def residual_and_norm(x: ROWS, a: ROWS, w: WEIGHT, b: WEIGHT):
    h = x + a
    return ash.layer_norm(h, w, b, axis=-1, eps=EPS), h


@jit
def residual_and_norm_by_hand(x: ROWS, a: ROWS, w: WEIGHT):
    h = x + a
    return h * ash.rsqrt((h * h).mean(-1, keepdims=True) + EPS) * w, h


@jit
def two_maps(x: ROWS, a: ROWS):
    h = x * 2.0 + a
    return ash.exp(h), h


@jit
def rows_and_a_map(x: ROWS, a: ROWS):
    p = ash.softmax(x, axis=-1)
    return p * a, p


@jit
def rows_of_rows(x: ROWS):
    h = ash.softmax(x, axis=-1)
    return h - h.max(-1, keepdims=True), h


@ash.jit
def product_and_activation(x: ash.f32["n", 67], b: ash.f32[40]):
    h = x @ WEIGHTS + b
    return ash.gelu(h), h


@jit
def read_again_later(x: ROWS, a: ROWS, w: WEIGHT):
    h = x + a
    y = ash.rms_norm(h, w, axis=-1, eps=EPS)
    return ash.transpose(y), h * 2.0


@ash.jit
def parts_of_rows(gates: ash.f32["n", 12], c: ash.f32["n", 4]):
    """As in a step of an LSTM."""
    h = ash.sigmoid(gates[:, 4:8]) * c + gates[:, :4]
    return ash.tanh(h) * gates[:, 8:], h


TAKEN: list[tuple[Any, list[list[str]]]] = [
    (residual_and_norm, [["add", "layer_norm"]]),
    (residual_and_norm_by_hand, [["add", "mul", "mean", "add", "rsqrt", "mul", "mul"]]),
    (two_maps, [["mul", "add", "exp"]]),
    (rows_and_a_map, [["softmax", "mul"]]),
    (rows_of_rows, [["softmax", "max", "sub"]]),
    (product_and_activation, [["dot", "add", "gelu"]]),
    (parts_of_rows, [["slice", "sigmoid", "mul", "slice", "add", "tanh", "slice", "mul"]]),
    (read_again_later, [["add", "rms_norm"], ["transpose"], ["mul"]]),
]


@pytest.mark.parametrize(("function", "expected"), TAKEN, ids=[name_of(f) for f, _ in TAKEN])
def test_one_kernel_stores_both(function: Any, expected: list[list[str]]) -> None:
    assert kernels(function) == expected
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


@pytest.mark.parametrize("function", [function for function, _ in TAKEN], ids=name_of)
def test_values_are_those_of_two_kernels(function: Any) -> None:
    options = options_from_environment()
    apart = compile_graph(function.graph, options, without=(NAME,))
    unfused = compile_graph(function.graph, options, without=("fuse", NAME))
    for binding in BINDINGS:
        for special in (False, True):
            inputs = inputs_of(function, binding, special)
            found, wanted = function.executable(*inputs), apart(*inputs)
            for one, other, plain in zip(found, wanted, unfused(*inputs), strict=True):
                np.testing.assert_allclose(one, other, 1e-6, 1e-6)
                np.testing.assert_allclose(one, plain, 1e-5, 1e-5)


def test_operands_may_be_views_of_other_memory() -> None:
    rng = np.random.default_rng(1)
    x, a = (rng.normal(size=(14, 9)).astype(np.float32).T[:, ::2] for _ in range(2))
    w = np.ones(7, np.float32)
    y, h = residual_and_norm_by_hand.executable(x, a, w)
    np.testing.assert_array_equal(h, x + a)
    wide = (x + a).astype(np.float64)
    np.testing.assert_allclose(y, wide / np.sqrt((wide**2).mean(-1, keepdims=True) + EPS), 1e-5)


# --- refused --------------------------------------------------------------------------------------


@jit
def read_transposed(x: ROWS, a: ROWS):
    h = x + a
    return ash.transpose(ash.exp(h)), h


@jit
def read_as_a_number(x: ROWS, a: ROWS):
    h = x * a
    return h.sum(-1), h


@jit
def gathered(table: ROWS, ids: ash.i64["k"], w: WEIGHT):
    h = ash.gather(table, ids, axis=0)
    return ash.rms_norm(h, w, axis=-1, eps=EPS), h


@ash.jit
def part_and_norm(x: ash.f32["n", 12], w: ash.f32[4]):
    h = x[:, 4:8] * 2.0
    return ash.rms_norm(h, w, axis=-1, eps=EPS), h


@ash.jit
def product_and_norm(x: ash.f32["n", 67], w: ash.f32[40]):
    h = x @ WEIGHTS
    return ash.rms_norm(h, w, axis=-1, eps=EPS), h


@jit
def costly_in_many_loops(x: ROWS, a: ROWS, b: ROWS):
    h = ash.erf(x) * a + b
    return h - h.max(-1, keepdims=True) - h.min(-1, keepdims=True) + h.sum(-1, keepdims=True), h


REFUSED: list[tuple[Any, str]] = [
    (read_transposed, "its reader's result has another shape"),
    (read_as_a_number, "its reader's result has another shape"),
    (gathered, "gather is better read where it was stored"),
    (part_and_norm, "slice is better read where it was stored"),
    (product_and_norm, "its reader has loops, and a product takes none along"),
    (
        costly_in_many_loops,
        "computing it 3 times more costs 30 additions, and reading 16",
    ),
]


@pytest.mark.parametrize(("function", "why"), REFUSED, ids=[name_of(f) for f, _ in REFUSED])
def test_what_stays_apart_and_why(function: Any, why: str) -> None:
    assert len(kernels(function)) == 2
    text = str(function.executable.explain())
    assert why in text


@pytest.mark.parametrize("function", [function for function, _ in REFUSED], ids=name_of)
def test_what_stays_apart_is_right(function: Any) -> None:
    if function is gathered:
        inputs = [np.eye(4, 5, dtype=np.float32), np.array([3, 0, 3]), np.ones(5, np.float32)]
    else:
        inputs = inputs_of(function, {"n": 5, "m": 16}, False)
    wanted = compile_graph(function.graph, options_from_environment(), without=("fuse", NAME))
    for one, other in zip(function.executable(*inputs), wanted(*inputs), strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)


@jit
def one_after_the_other(x: ROWS, a: ROWS, b: ROWS):
    h = x + a
    g = ash.exp(h)
    return h, g, g * b


def test_kernels_have_two_results_at_most() -> None:
    assert kernels(one_after_the_other) == [["add", "exp"], ["mul"]]


@pytest.mark.parametrize("function", [residual_and_norm, one_after_the_other], ids=name_of)
def test_twice_is_once(function: Any) -> None:
    once = run_passes(function.graph, PASSES).graph
    twice = run_passes(once, (SeveralResults(),)).graph
    assert twice.as_text() == once.as_text()
