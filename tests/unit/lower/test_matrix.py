"""Which dots become matrix products, what their kernels look like, and how constants are packed."""

from typing import Any

import numpy as np
import pytest
from tests.unit.codegen import matrix
from tests.unit.codegen.matrix import is_matrix_kernel, lowered
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.analysis.expansion import expanded_region
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.execute import compile_graph
from anyshape.families.body import Body
from anyshape.families.dot.match import MatmulMatch, Panels, matmul_match
from anyshape.families.lower import lower_region
from anyshape.ir.rewrite import Refusal
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.packing import Packing, pack
from anyshape.sym import FactScope

PACKED = frozenset({1})


@pytest.mark.parametrize("constants", [PACKED, frozenset[int]()])
@pytest.mark.parametrize(
    "function",
    [matrix.plain, matrix.transposed, matrix.sequence, matrix.with_residual],
)
def test_every_access_is_proved(function: Any, constants: frozenset[int]) -> None:
    kernel = lowered(function, constants).kernel
    assert is_matrix_kernel(kernel)
    assert verify_kernel(kernel) == []


def test_text() -> None:
    text = kernel_text(lower_region(matrix.plain.graph.body, matrix.plain.graph.facts).kernel)
    assert "scratch sums: f32[6, 64]" in text
    assert "@ x1[column + 64*p of n2 by 1, row of n1 by n2] over n1" in text


@ash.jit
def small(x: ash.f32["m", 64], w: ash.f32[64, 1024]):
    return x @ w


@ash.jit
def large(x: ash.f32["m", 64], w: ash.f32[64, 1025]):
    return x @ w


@pytest.mark.parametrize(
    ("name", "panels"), [("x86-64-avx512", 16), ("x86-64-avx2", 64), ("x86-64-sse2", 128)]
)
def test_threads_share_the_rows_of_products_with_small_weights(name: str, panels: int) -> None:
    """Panels are the faster part of a task's number, and blocks of rows short."""
    target = NAMED_TARGETS[name]
    first, second = (kernel_text(lowered(f, PACKED, target).kernel) for f in (small, large))
    assert f"b = index (t//{panels}) < max((n0 + 23)//24, 1)" in first
    assert f"p = index (t//((n0 + 95)//96)) < {panels + 1}" in second


def test_sizes_known_to_be_zero() -> None:
    @ash.jit
    def nothing(x: ash.f32[0, 4], w: ash.f32[4, "n"]):
        return x @ w

    (found,) = compile_graph(nothing.graph)(
        np.ones((0, 4), np.float32), np.ones((4, 3), np.float32)
    )
    assert found.shape == (0, 3)


# --- refusals -------------------------------------------------------------------------------------


@ash.jit
def rows_apart(x: ash.f32["a", "k", "b"], w: ash.f32["k", "n"]):
    return ash.einsum("akb,kn->abn", x, w)


@ash.jit
def depth_apart(x: ash.f32["m", "j", "k"], w: ash.f32["j", "n", "k"]):
    return ash.einsum("mjk,jnk->mn", x, w)


@ash.jit
def batch_last(x: ash.f32["b", "m", "k"], w: ash.f32["b", "k", "n"]):
    return ash.transpose(x @ w, (1, 2, 0))


@ash.jit
def summed(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return ash.sum(x @ w, axis=-1)


@ash.jit
def computed_operands(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return (x + 1) @ (w + 1)


@ash.jit
def computed_across(x: ash.f32["k", "m"], w: ash.f32["k", "n"]):
    return (x + 1).mT @ w


@ash.jit
def computed_elsewhere(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return ash.pad(x, [(1, 0), (0, 0)]) @ w


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (batch_last, "columns are apart in a result, or there are none"),
        (summed, "it is not a single dot"),
        (computed_operands, "both operands are computed inside the kernel"),
        (
            computed_across,
            "an operand is computed inside the kernel, one element here and one there",
        ),
        (computed_elsewhere, "pad computes an operand inside the kernel"),
        (rows_apart, "rows or depth are apart in memory"),
        (depth_apart, "columns or depth are apart in memory"),
    ],
)
def test_refusals_say_why(function: Any, why: str) -> None:
    graph = function.graph
    region = expanded_region(graph.body, FactScope.of(graph.facts, distinct_names=False))
    assert matmul_match(Body.of_region(region)) == Refusal(why)


def test_a_constant_that_is_read_twice_is_not_packed() -> None:
    @ash.jit
    def twice(x: ash.f32["m", 8], w: ash.f32[8, 8]):
        return x @ w + w[0]

    match = matmul_match(Body.of_region(twice.graph.body, PACKED))
    assert not isinstance(match, MatmulMatch) or match.panels is not Panels.STORED


# --- packing --------------------------------------------------------------------------------------


def test_panels() -> None:
    array = np.arange(30, dtype=np.float32).reshape(3, 10)
    packed = pack(array, Packing((), (0,), (1,), 4))
    assert packed.shape == (1, 3, 3, 4)
    np.testing.assert_array_equal(packed[0, 1], array[:, 4:8])
    np.testing.assert_array_equal(packed[0, 2, :, :2], array[:, 8:])
    assert not packed[0, 2, :, 2:].any()
    assert packed.ctypes.data % 64 == 0


def test_panels_of_transposed_batches() -> None:
    array = np.random.default_rng(0).normal(size=(5, 2, 7))  # columns, batch, depth
    packed = pack(array, Packing((1,), (2,), (0,), 8))
    assert packed.shape == (2, 1, 7, 8)
    np.testing.assert_array_equal(packed[1, 0, :, :5], array[:, 1].T)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_empty_constants(shape: tuple[int, int]) -> None:
    assert pack(np.zeros(shape, np.float32), Packing((), (0,), (1,), 4)).size == 0


def test_a_weight_is_packed_once() -> None:
    weight = np.random.default_rng(0).normal(size=(96, 96)).astype(np.float32)

    @ash.jit
    def layers(x: ash.f32["m", 96]):
        return ash.relu(x @ weight) @ weight

    executable = compile_graph(layers.graph)
    constants = scheduled(executable.graph).constants
    assert [constant.packing is not None for constant in constants] == [True]
    x = np.ones((7, 96), np.float32)
    (found,) = executable(x)
    expected = np.maximum(x.astype(np.float64) @ weight, 0) @ weight
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
