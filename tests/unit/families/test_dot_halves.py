"""Activations of two halves of a product's columns are its epilogue."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.options import options_with
from tests.unit.codegen.emit.harness import TARGETS

import anyshape as ash
from anyshape.execute import compile_graph

RNG = np.random.default_rng(0)
F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
TYPES = {F32: ash.f32, F16: ash.f16, BF16: ash.bf16}
TOLERANCE = {F32: 1e-5, F16: 5e-3, BF16: 4e-2}


def gated(weight: Any, dtype: Any = F32) -> Any:
    width = weight.shape[1] // 2

    def function(x: Any) -> Any:
        y = x @ weight
        return ash.silu(y[..., :width]) * y[..., width:]

    function.__annotations__ = {"x": TYPES[dtype]["b", "n", weight.shape[0]]}
    return ash.jit(function)


def expected(x: Any, weight: Any) -> Any:
    y = x.astype(np.float64) @ weight.astype(np.float64)
    gate, up = np.split(y, 2, -1)
    return gate / (1 + np.exp(-gate)) * up


def test_the_second_half_may_be_used_first() -> None:
    weight = RNG.standard_normal((24, 40)).astype(np.float32)

    @ash.jit
    def function(x: ash.f32["n", 24]):
        y = x @ weight
        return ash.silu(y[:, 20:]) * y[:, :20]

    x, swapped = RNG.standard_normal((7, 24)).astype(np.float32), np.roll(weight, 20, axis=1)
    np.testing.assert_allclose(function(x), expected(x, swapped), rtol=1e-4, atol=1e-4)
    assert len(compile_graph(function.graph).kernels) == 1


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("width", [1, 5, 16, 33, 100])
def test_values(width: int, dtype: Any) -> None:
    weight = RNG.standard_normal((24, 2 * width)).astype(dtype) / 4
    executable = compile_graph(gated(weight.astype(dtype), dtype).graph)
    assert [kernel.ops for kernel in executable.kernels] == [
        ("dot", "slice", "silu", "slice", "mul")
    ]
    for sizes in ((2, 5), (1, 1), (0, 3), (3, 0), (4, 33)):
        x = RNG.standard_normal((*sizes, 24)).astype(dtype)
        (found,) = executable(x)
        wanted = expected(x, weight.astype(dtype))
        np.testing.assert_allclose(
            found.astype(np.float64), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("width", [7, 64])
def test_every_instruction_set(isa: str, width: int) -> None:
    weight = RNG.standard_normal((24, 2 * width)).astype(np.float32)
    executable = compile_graph(gated(weight).graph, options_with(isa=isa))
    x = RNG.standard_normal((3, 7, 24)).astype(np.float32)
    np.testing.assert_allclose(executable(x)[0], expected(x, weight), rtol=1e-4, atol=1e-4)


@ash.jit
def computed_columns(x: ash.f32["n", 24], w: ash.f32[24, 16]):
    y = x @ w
    return ash.silu(y[:, :8]) * y[:, 8:]


@ash.jit
def thirds(x: ash.f32["n", 24]):
    y = x @ np.ones((24, 24), np.float32)
    return y[:, :8] * y[:, 8:16]


@ash.jit
def read_whole(x: ash.f32["n", 24]):
    y = x @ np.ones((24, 16), np.float32)
    return y[:, :8] * y[:, 8:], y


@ash.jit
def rows(x: ash.f32[6, 24]):
    y = x @ np.ones((24, 16), np.float32)
    return y[:3] * y[3:]


@pytest.mark.parametrize("function", [computed_columns, thirds, read_whole, rows])
def test_others_are_kernels_of_their_own(function: Any) -> None:
    graph = function.graph
    executable = compile_graph(graph)
    assert len(executable.kernels) == 2
    arrays = [
        RNG.standard_normal([5 if dim.constant is None else int(dim) for dim in type_.shape])
        for type_ in graph.body.params
    ]
    given = [array.astype(np.float32) for array in arrays]
    reference = compile_graph(graph, executor="reference")
    for found, wanted in zip(executable(*given), reference(*given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_rows_may_be_computed_too() -> None:
    weight = RNG.standard_normal((24, 66)).astype(np.float32)

    @ash.jit
    def scaled(x: ash.f32["n", 24], scales: ash.f32["n", 1]):
        y = (x * scales) @ weight
        return ash.silu(y[..., :33]) * y[..., 33:]

    executable = compile_graph(scaled.graph)
    assert len(executable.kernels) == 1
    x, scales = (RNG.standard_normal((11, n)).astype(np.float32) for n in (24, 1))
    found = executable(x, scales)[0]
    np.testing.assert_allclose(found, expected(x * scales, weight), rtol=1e-4, atol=1e-4)
