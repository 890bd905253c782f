"""Products of quantised values: which become products of integers, and why others do not."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute.compile import compile_graph
from anyshape.ir.interpret import evaluate
from anyshape.passes.infra import PassContext
from anyshape.passes.quantized_products import DEEPEST, OBJECTIONS, QuantizedProducts

RNG = np.random.default_rng(0)
K, N = 24, 40


def some_bytes(dtype: Any, *shape: int) -> Any:
    ends = np.iinfo(dtype)
    return RNG.integers(ends.min, ends.max, shape, dtype, endpoint=True)


def decided(function: Any) -> list[tuple[bool, str]]:
    ctx = PassContext()
    QuantizedProducts().run(function.graph, ctx)
    return [(d.taken, d.why) for d in ctx.decisions.take() if d.rule == "quantized-products"]


def real(x: Any, zero: Any, scale: Any) -> Any:
    """What frontends write."""
    return (x.astype(ash.i32) - zero).astype(ash.f32) * scale


@pytest.mark.parametrize(
    ("x_dtype", "w_dtype", "zero"),
    [(ash.u8, np.int8, 0), (ash.i8, np.int8, 3), (ash.u8, np.uint8, 128), (ash.i8, np.uint8, 9)],
)
def test_values(x_dtype: Any, w_dtype: Any, zero: int) -> None:
    """Weights are stored by column; each column has a scale, and a zero point."""
    w = some_bytes(w_dtype, N, K)
    scales = RNG.uniform(0.5, 1.5, (N, 1)).astype(np.float32)
    zeros = np.full((N, 1), zero, np.int32)
    zeros[0] += zero > 0

    @ash.jit
    def function(x: x_dtype["b", "m", K], z: ash.i32[()], s: ash.f32[()]):  # type: ignore[valid-type]
        weights = real(ash.asarray(w), zeros, scales)
        return real(x, z, s) @ weights.mT, (x.astype(ash.i32) - z) @ ash.asarray(w).mT.astype(
            ash.i32
        )

    (taken, why), (again, _) = decided(function)
    assert taken
    assert again
    assert (
        why
        == f"integers: {x_dtype} x {'i8' if w_dtype is np.int8 else 'u8'}, 24 deep, summed in i32"
    )
    compiled = compile_graph(function.graph)
    for shape in ((0, 3), (1, 1), (2, 9)):
        x = some_bytes(x_dtype.numpy, *shape, K)
        z, s = np.int32(7), np.float32(0.25)
        floats, whole = compiled(x, z, s)
        exact = (x.astype(np.int64) - 7) @ (w.astype(np.int64) - zeros).T
        np.testing.assert_allclose(floats, exact * 0.25 * scales[:, 0], rtol=3e-7)
        np.testing.assert_array_equal(whole, (x.astype(np.int64) - 7) @ w.astype(np.int64).T)
        for found, expected in zip((floats, whole), evaluate(function.graph, x, z, s), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


def refused(function: Any) -> str:
    ((taken, why),) = decided(function)
    assert not taken
    return why


def test_what_stands_against_it() -> None:
    w = some_bytes(np.int8, K, N)
    blocks = RNG.uniform(0.5, 1.5, (K, 1)).astype(np.float32)
    deep = np.ones((DEEPEST + 1, 1), np.int8)

    @ash.jit
    def plain(x: ash.f32["m", K]):
        return x @ real(ash.asarray(w), 0, 0.5)

    @ash.jit
    def both(x: ash.u8["m", K], y: ash.i8[K, "n"]):
        return real(x, 1, 0.5) @ real(y, 1, 0.5)

    @ash.jit
    def by_block(x: ash.u8["m", K]):
        return real(x, 1, 0.5) @ real(ash.asarray(w), 0, blocks)

    @ash.jit
    def zeros_by_block(x: ash.u8["m", K]):
        zeros = np.arange(K, dtype=np.int32)[:, None]
        return (x.astype(ash.i32) - 1) @ (ash.asarray(w).astype(ash.i32) - zeros)

    @ash.jit
    def too_deep(x: ash.u8["m", DEEPEST + 1]):
        return real(x, 1, 0.5) @ real(ash.asarray(deep), 0, 0.5)

    texts = [text for text, _ in OBJECTIONS]
    for function, number in (
        (plain, 0),
        (both, 1),
        (too_deep, 5),
        (by_block, 6),
        (zeros_by_block, 7),
    ):
        assert refused(function) == texts[number]


def test_bytes_are_read_where_they_are() -> None:
    """Zero points of weights need sums of rows, for which nobody else has to read wider numbers."""
    w = some_bytes(np.uint8, 64, 64)

    @ash.jit
    def function(x: ash.u8["m", 64]):
        return (x.astype(ash.i32) - 3) @ (ash.asarray(w).astype(ash.i32) - np.int32(9))

    compiled = compile_graph(function.graph)
    products = [text for k in compiled.kernels if " @ " in (text := k.as_text())]
    assert len(products) == 1
    assert "padded groups" in products[0]
    x = some_bytes(np.uint8, 7, 64)
    exact = (x.astype(np.int32) - 3) @ (w.astype(np.int32) - 9)
    np.testing.assert_array_equal(compiled(x)[0], exact)


def test_other_products_are_not_spoken_of() -> None:
    @ash.jit
    def floats(x: ash.f32["m", K], w: ash.f32[K, N]):
        return x @ w

    assert decided(floats) == []
