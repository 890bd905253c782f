"""Work on constants is done when compiling, by the kernels that would do it on every call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import anyshape as ash
from anyshape.base.options import Options
from anyshape.execute import compile_graph

RNG = np.random.default_rng(0)
W, V = (RNG.standard_normal((300, 300)).astype(np.float32) for _ in range(2))
SCALES = RNG.standard_normal((300, 1)).astype(np.float32)

F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
TYPES = {F32: ash.f32, F16: ash.f16, BF16: ash.bf16}

Weights = Callable[[Any, Any, Any], Any]


def scaled(w: Any, v: Any, scales: Any) -> Any:
    return (w * 2 + v).mT


def normed(w: Any, v: Any, scales: Any) -> Any:
    return (scales * w / ash.sqrt((w * w).sum(1, keepdims=True))).mT


def joined(w: Any, v: Any, scales: Any) -> Any:
    return ash.concat([w, ash.tanh(v)], 1)


def multiplied(w: Any, v: Any, scales: Any) -> Any:
    return w @ v


def products(weights: Weights, dtype: Any) -> Any:
    w, v, scales = (array.astype(dtype) for array in (W, V, SCALES))

    def product(x: Any) -> Any:
        made = weights(ash.asarray(w), ash.asarray(v), ash.asarray(scales))
        return x @ made, made

    product.__annotations__ = {"x": TYPES[dtype]["n", 300]}
    return ash.jit(product)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("weights", [scaled, normed, joined, multiplied])
@pytest.mark.parametrize("rows", [0, 1, 17])
def test_results_are_bit_for_bit_those_of_the_kernels(
    weights: Weights, dtype: Any, rows: int
) -> None:
    """The weight itself, and with it the product, which sums in the same order either way: its
    columns are stored, or copied by each task."""
    graph = products(weights, dtype).graph
    x = RNG.standard_normal((rows, 300)).astype(dtype)
    once, again = compile_graph(graph), compile_graph(graph, without=("constants",))
    assert any(r.name == "constants" and r.taken for r in once.reports)
    for found, wanted in zip(once(x), again(x), strict=True):
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()


def test_the_weights_it_was_computed_from_are_not_held() -> None:
    @ash.jit
    def product(x: ash.f32["n", 300]):
        return x @ (ash.asarray(W) * ash.asarray(V) * SCALES).mT

    panels = 300 * 320 * 4  # of 16, 32 or 64 columns
    assert W.nbytes <= ash.compile(product).memory().weights <= panels
    assert ash.compile(product, without=("constants",)).memory().weights >= 2 * W.nbytes


def test_explain_says_what_was_computed_and_what_was_left() -> None:
    small = RNG.integers(-128, 128, (300, 300)).astype(np.int8)

    @ash.jit
    def product(x: ash.f32["n", 300]):
        return x @ (ash.asarray(W) * 2) @ (ash.asarray(small).astype(ash.f32) * SCALES)

    text = str(ash.compile(product).explain())
    assert "computed once: 360000 bytes in place of 360000" in text
    assert "it would hold 268800 bytes more, and 112800 of 112800 are left" in text


def test_a_second_compile_finds_all_code(tmp_path: Path) -> None:
    options = Options(cache_dir=tmp_path, calibrate=False, compile_jobs=1)

    @ash.jit
    def product(x: ash.f32["n", 300]):
        return x @ ash.exp(ash.asarray(W))

    compile_graph(product.graph, options)
    files = set(tmp_path.rglob("*.o"))
    assert len(files) == 4, "a kernel and level 2, of the constants and of the graph"
    compile_graph(product.graph, options)
    assert files == set(tmp_path.rglob("*.o"))


@pytest.mark.parametrize("executor", ["stepwise", "reference"])
def test_every_executor_computes_the_same(executor: Any) -> None:
    @ash.jit
    def product(x: ash.f32["n", 300]):
        return x @ (ash.asarray(W) * 2).mT

    x = RNG.standard_normal((5, 300)).astype(np.float32)
    (found,), (wanted,) = (
        compile_graph(product.graph, executor=each)(x) for each in (executor, "native")
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_graph_with_host_nodes_has_computed_constants_too() -> None:
    @ash.jit
    def positive(x: ash.f32["n"]):
        (found,) = ash.nonzero(x > 0)
        return x[found].reshape(-1, 1) * ash.exp(ash.asarray(W)).sum(0)

    executable = ash.compile(positive)
    x = RNG.standard_normal(9).astype(np.float32)
    wanted = x[x > 0].reshape(-1, 1) * np.exp(W.astype(np.float64)).sum(0)
    np.testing.assert_allclose(executable(x)[0], wanted, rtol=1e-5)
    assert not any("exp" in kernel.as_text() for kernel in executable.kernels)
