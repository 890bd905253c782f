"""Convolutions of quantised values: which are convolutions of integers, and why others are not."""

from typing import Any

import numpy as np
import pytest
from tests.unit.families.test_byte_convolutions import expected
from tests.unit.passes.test_quantized_products import decided, real, refused, some_bytes

import anyshape as ash
from anyshape.execute.compile import compile_graph
from anyshape.ir.interpret import evaluate
from anyshape.passes.byte_operands import DEEPEST
from anyshape.passes.quantized_convolutions import OBJECTIONS

C, N = 6, 20
RNG = np.random.default_rng(5)
PADDING = [(1, 0), (2, 1)]
NAMED = "a convolution of integers: {} x {}, 36 deep, summed in i32"


@pytest.mark.parametrize(
    ("x_dtype", "w_dtype", "zero"),
    [(ash.u8, np.int8, 0), (ash.i8, np.int8, 3), (ash.u8, np.uint8, 128), (ash.i8, np.uint8, 9)],
)
def test_values(x_dtype: Any, w_dtype: Any, zero: int) -> None:
    """Each channel has a scale and a zero point; those of the input are known when called."""
    w = some_bytes(w_dtype, 1, 3, 2, C, N)
    scales = RNG.uniform(0.5, 1.5, N).astype(np.float32)
    zeros = np.full(N, zero, np.int32)
    zeros[0] += zero % 128 > 0

    @ash.jit
    def function(x: x_dtype["b", "h", "w", C], z: x_dtype[()], s: ash.f32[()]):  # type: ignore[valid-type]
        whole, point = ash.asarray(w).astype(ash.i32), z.astype(ash.i32)
        floats = ash.conv(real(x, point, s), real(ash.asarray(w), zeros, scales), padding=PADDING)
        return floats, ash.conv(x.astype(ash.i32) - point, whole, strides=[2, 1])

    why = NAMED.format(x_dtype, "i8" if w_dtype is np.int8 else "u8")
    assert decided(function) == [(True, why)] * 2
    compiled = compile_graph(function.graph)
    for batch, h, width in ((0, 4, 4), (1, 3, 2), (2, 7, 9)):
        x, s = some_bytes(x_dtype.numpy, batch, h, width, C), np.float32(0.25)
        z = np.array(140 if x_dtype is ash.u8 else -7, x_dtype.numpy)
        floats, whole = compiled(x, z, s)
        centered = w.astype(np.int32) - zeros
        moved = x.astype(np.int32) - int(z)
        exact = expected(moved, centered, [1, 1], [1, 1], PADDING, 0)
        np.testing.assert_allclose(floats, exact * (scales * 0.25), rtol=3e-7)
        exact = expected(moved, w, [2, 1], [1, 1], [(0, 0), (0, 0)], 0)
        np.testing.assert_array_equal(whole, exact)
        if batch < 2:
            for found, y in zip((floats, whole), evaluate(function.graph, x, z, s), strict=True):
                np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-2)


def test_groups() -> None:
    """Each channel has a scale; what is taken from weights of u8 leaves no zero point."""
    w = some_bytes(np.uint8, 2, 3, 3, 4, 5)
    scales = RNG.uniform(0.5, 1.5, (2, 1, 1, 1, 5)).astype(np.float32)

    @ash.jit
    def function(x: ash.u8["b", "h", "w", 8]):
        return ash.conv(real(x, 9, 0.5), real(ash.asarray(w), 128, scales), padding=PADDING)

    ((taken, _),) = decided(function)
    assert taken
    x = some_bytes(np.uint8, 2, 6, 5, 8)
    moved, centered = x.astype(np.int32) - 9, w.astype(np.int32) - 128
    exact = expected(moved, centered, [1, 1], [1, 1], PADDING, 0) * (scales.reshape(-1) * 0.5)
    np.testing.assert_allclose(compile_graph(function.graph)(x)[0], exact, rtol=3e-7)


@pytest.mark.parametrize("x_dtype", [ash.u8, ash.i8])
@pytest.mark.parametrize(("w_dtype", "zero"), [(np.int8, 0), (np.int8, -3), (np.uint8, 77)])
def test_depthwise(x_dtype: Any, w_dtype: Any, zero: int) -> None:
    """In pairs of 16 bits, which hold weights less any zero points: nothing else is summed."""
    w = some_bytes(w_dtype, 67, 3, 2, 1, 1)
    scales = RNG.uniform(0.5, 1.5, (67, 1, 1, 1, 1)).astype(np.float32)

    @ash.jit
    def function(x: x_dtype["b", "h", "w", 67], z: x_dtype[()]):  # type: ignore[valid-type]
        point = z.astype(ash.i32)
        given = real(ash.asarray(w), zero, scales)
        return ash.relu(ash.conv(real(x, point, 0.5), given, padding=PADDING))

    why = f"a convolution of integers: {x_dtype} x {'i8' if w_dtype is np.int8 else 'u8'}, 6 deep"
    assert decided(function) == [(True, why + ", summed in i32")]
    compiled = compile_graph(function.graph)
    assert sum("pair_dot" in kernel.as_text() for kernel in compiled.kernels) == 1
    for batch, h, width in ((0, 4, 4), (1, 2, 1), (2, 7, 19)):
        x = some_bytes(x_dtype.numpy, batch, h, width, 67)
        z = np.array(100 if x_dtype is ash.u8 else -7, x_dtype.numpy)
        moved, centered = x.astype(np.int32) - int(z), w.astype(np.int32) - zero
        exact = expected(moved, centered, [1, 1], [1, 1], PADDING, 0)
        wanted = np.maximum(exact * (scales.reshape(-1) * np.float32(0.5)), 0)
        np.testing.assert_allclose(compiled(x, z)[0], wanted, rtol=3e-7)


def test_one_tap_is_a_product_of_bytes() -> None:
    w = some_bytes(np.int8, 1, 1, 1, 64, 64)

    @ash.jit
    def function(x: ash.u8["b", "h", "w", 64]):
        return ash.conv(real(x, 5, 0.5), real(ash.asarray(w), 0, 0.5))

    compiled = compile_graph(function.graph)
    assert any("padded groups" in kernel.as_text() for kernel in compiled.kernels)
    x = some_bytes(np.uint8, 2, 3, 5, 64)
    np.testing.assert_array_equal(compiled(x)[0], (x.astype(np.int32) - 5) @ w[0, 0, 0] * 0.25)


@pytest.mark.parametrize("zero", [0, 9])
def test_bytes_are_read_where_they_are(zero: int) -> None:
    """Zero points of weights need sums of what places meet: both kernels read bytes."""
    w = some_bytes(np.uint8, 1, 3, 3, 32, 64)

    @ash.jit
    def function(x: ash.u8["b", "h", "w", 32]):
        weights = ash.asarray(w).astype(ash.i32) - np.int32(zero)
        return ash.conv(x.astype(ash.i32) - 3, weights, padding=[(1, 1), (1, 1)])

    texts = [kernel.as_text() for kernel in compile_graph(function.graph).kernels]
    products = [text for text in texts if " @ " in text]
    assert len(products) == 2
    assert all("padded groups" in text for text in products)


def test_what_stands_against_it() -> None:
    w = some_bytes(np.int8, 1, 3, C, N)
    groups, deep = some_bytes(np.uint8, 2, 3, C // 2, N), np.ones((1, 1, DEEPEST + 1, 1), np.int8)
    each, long = some_bytes(np.int8, C, 3, 1, 2), some_bytes(np.int8, C, 65, 1, 1)
    by_tap = RNG.uniform(0.5, 1.5, (1, 3, 1, 1)).astype(np.float32)

    @ash.jit
    def plain(x: ash.f32["b", "h", C]):
        return ash.conv(x, real(ash.asarray(w), 0, 0.5))

    @ash.jit
    def both(x: ash.u8["b", "h", C], y: ash.i8[1, 3, C, N]):
        return ash.conv(real(x, 1, 0.5), real(y, 1, 0.5))

    @ash.jit
    def grouped(x: ash.u8["b", "h", C]):
        return ash.conv(real(x, 1, 0.5), real(ash.asarray(groups), 9, 0.5))

    @ash.jit
    def several_each(x: ash.u8["b", "h", C]):
        return ash.conv(real(x, 1, 0.5), real(ash.asarray(each), 0, 0.5))

    @ash.jit
    def many_taps(x: ash.u8["b", "h", C]):
        return ash.conv(real(x, 1, 0.5), real(ash.asarray(long), 0, 0.5))

    @ash.jit
    def wide(x: ash.u8["b", "h", C]):
        whole = ash.asarray(each[..., :1]).astype(ash.i32) - np.int32(1 << 15)
        return ash.conv(x.astype(ash.i32) - 1, whole)

    @ash.jit
    def too_deep(x: ash.u8["b", "h", DEEPEST + 1]):
        return ash.conv(real(x, 1, 0.5), real(ash.asarray(deep), 0, 0.5))

    @ash.jit
    def of_any_number(x: ash.u8["b", "h", C], z: ash.i32[()]):
        return ash.conv(real(x, z, 0.5), real(ash.asarray(w), 0, 0.5), padding=[(1, 1)])

    @ash.jit
    def far_away(x: ash.u8["b", "h", C]):
        return ash.conv(real(x, 256, 0.5), real(ash.asarray(w), 0, 0.5), padding=[(1, 1)])

    @ash.jit
    def scaled_by_tap(x: ash.u8["b", "h", C]):
        return ash.conv(real(x, 1, 0.5), real(ash.asarray(w), 0, by_tap))

    @ash.jit
    def zeros_by_tap(x: ash.u8["b", "h", C]):
        zeros = np.arange(3, dtype=np.int32)[:, None, None]
        return ash.conv(x.astype(ash.i32) - 1, ash.asarray(w).astype(ash.i32) - zeros)

    texts = [f"a convolution stays as it is: {text}" for text, _ in OBJECTIONS]
    for function, number in (
        (plain, 0),
        (both, 1),
        (several_each, 3),
        (many_taps, 3),
        (wide, 3),
        (too_deep, 5),
        (of_any_number, 6),
        (far_away, 6),
        (scaled_by_tap, 7),
        (zeros_by_tap, 8),
        (grouped, 9),
    ):
        assert refused(function) == texts[number]


def test_any_zero_point_is_fine_without_padding() -> None:
    w = some_bytes(np.int8, 1, 3, C, N)

    @ash.jit
    def function(x: ash.u8["b", "h", C], z: ash.i32[()]):
        return ash.conv(x.astype(ash.i32) - z, ash.asarray(w).astype(ash.i32))

    ((taken, _),) = decided(function)
    assert taken
    x, z = some_bytes(np.uint8, 2, 9, C), np.int32(-1000)
    sums = expected(x.astype(np.int32) - z, w, [1], [1], [(0, 0)], 0)
    np.testing.assert_array_equal(compile_graph(function.graph)(x, z)[0], sums)


def test_other_convolutions_are_not_spoken_of() -> None:
    @ash.jit
    def floats(x: ash.f32["b", "h", C], w: ash.f32[1, 3, C, N]):
        return ash.conv(x, w)

    assert decided(floats) == []
