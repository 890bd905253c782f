"""Convolutions of bytes: groups of k, exact for all bytes, on every instruction set."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.codegen.matrix import computed, lowered
from tests.unit.families.test_integer_products import EXECUTED, PACKED, bytes_of

import anyshape as ash
from anyshape.codegen.llvm.emitting import compile_source
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.loop.parser import parse_kernel
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel

FUNCTIONS: Any = (torch.conv1d, torch.conv2d, torch.conv3d)
Pairs = list[tuple[int, int]]


def expected(
    x: Any, w: Any, strides: list[int], dilations: list[int], padding: Pairs, fill: int
) -> Any:
    """In f64, which holds all sums."""
    widths = [(0, 0), *padding, (0, 0)]
    padded = np.pad(x.astype(np.float64), widths, constant_values=fill)
    groups, rank = w.shape[0], x.ndim - 2
    kernel = np.moveaxis(w.astype(np.float64), (-1, -2), (1, 2)).reshape(
        w.shape[0] * w.shape[-1], w.shape[-2], *w.shape[1:-2]
    )
    image = torch.from_numpy(np.ascontiguousarray(np.moveaxis(padded, -1, 1)))
    found = FUNCTIONS[rank - 1](
        image, torch.from_numpy(np.ascontiguousarray(kernel)), None, strides, 0, dilations, groups
    )
    return torch.moveaxis(found, 1, -1).numpy().astype(np.int32)


def convolution(
    x_dtype: Any,
    w_dtype: Any,
    weights: tuple[int, ...],
    strides: list[int],
    dilations: list[int],
    padding: Pairs,
    fill: int,
) -> Any:
    rank, channels = len(strides), weights[0] * weights[-2]
    names = ["h", "w", "d"][:rank]

    @ash.jit
    def function(x: x_dtype[("n", *names, channels)], w: w_dtype[weights]):  # type: ignore[valid-type]
        around = [(0, 0), *padding, (0, 0)]
        padded = ash.pad(x, around, fill) if fill else x
        own = [(0, 0)] * rank if fill else padding
        wide = padded.astype(ash.i32), w.astype(ash.i32)
        return ash.conv(*wide, strides=strides, dilations=dilations, padding=own)

    return function


CASES: dict[str, tuple[tuple[int, ...], list[int], list[int], Pairs]] = {
    "3 x 3": ((1, 3, 3, 8, 70), [1, 1], [1, 1], [(1, 1), (1, 1)]),
    "in place": ((1, 3, 3, 8, 33), [1, 1], [1, 1], [(0, 0), (0, 0)]),
    "odd channels": ((1, 3, 3, 5, 17), [2, 1], [1, 1], [(1, 0), (2, 1)]),
    "dilated": ((1, 2, 3, 6, 40), [1, 2], [2, 3], [(1, 1), (0, 3)]),
    "groups": ((2, 3, 2, 7, 18), [1, 1], [1, 1], [(1, 1), (0, 1)]),
    "first": ((1, 4, 5, 3, 16), [2, 2], [1, 1], [(2, 2), (2, 2)]),
    "line": ((1, 5, 12, 20), [2], [1], [(4, 0)]),
    "volume": ((1, 2, 2, 2, 4, 12), [1, 1, 1], [1, 1, 1], [(1, 0), (1, 1), (0, 1)]),
    "depthwise": ((19, 3, 3, 1, 1), [1, 2], [1, 1], [(1, 1), (1, 0)]),
    "one channel": ((1, 3, 3, 1, 1), [1, 1], [1, 1], [(1, 1), (1, 1)]),
}
SIZES = ((0, 6, 7), (1, 6, 8), (2, 9, 31))


@pytest.mark.parametrize("fill", [0, 131])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
def test_sums_are_exact(target: LlvmTarget, case: str, fill: int) -> None:
    weights, strides, dilations, padding = CASES[case]
    rank = len(strides)
    if fill and not any(map(any, padding)):
        return
    function = convolution(ash.u8, ash.i8, *CASES[case], fill)
    w = bytes_of(np.int8, weights, 1)
    for n, *places in SIZES:
        sizes = [*places, 6][:rank]
        x = bytes_of(np.uint8, (n, *sizes, weights[0] * weights[-2]), n)
        binding = {"n": n} | dict(zip("hwd", sizes, strict=False))
        found = computed(function, (x, w), binding, constants=PACKED, target=target)
        np.testing.assert_array_equal(found, expected(x, w, strides, dilations, padding, fill))


@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
@pytest.mark.parametrize(("x_dtype", "w_dtype"), [(ash.i8, ash.i8), (ash.u8, ash.u8)])
def test_other_bytes(target: LlvmTarget, x_dtype: Any, w_dtype: Any) -> None:
    case = CASES["3 x 3"]
    function = convolution(x_dtype, w_dtype, *case, 9)
    x, w = bytes_of(x_dtype.numpy, (2, 5, 6, 8), 3), bytes_of(w_dtype.numpy, case[0], 4)
    binding = {"n": 2, "h": 5, "w": 6}
    found = computed(function, (x, w), binding, constants=PACKED, target=target)
    np.testing.assert_array_equal(found, expected(x, w, *case[1:], 9))


def test_extreme_bytes_do_not_saturate() -> None:
    case = ((1, 3, 3, 64, 32), *CASES["3 x 3"][1:])
    x, w = np.full((1, 4, 15, 64), 255, np.uint8), np.full(case[0], -128, np.int8)
    function = convolution(ash.u8, ash.i8, *case, 255)
    binding = {"n": 1, "h": 4, "w": 15}
    for target in EXECUTED.values():
        found = computed(function, (x, w), binding, constants=PACKED, target=target)
        assert (found == 9 * 64 * 255 * -128).all()


def test_any_number_around_floats() -> None:
    w = bytes_of(np.int8, (1, 3, 2, 4, 20), 7).astype(np.float32)

    @ash.jit
    def function(x: ash.f32["n", "h", "w", 4], w: ash.f32[1, 3, 2, 4, 20]):
        padded = ash.pad(x, [(0, 0), (2, 1), (0, 1), (0, 0)], -2.5)
        return ash.relu(ash.conv(padded, w, strides=[2, 1]))

    assert "scratch band" in kernel_text(lowered(function, PACKED).kernel)
    x = bytes_of(np.uint8, (2, 5, 6, 4), 5).astype(np.float32)
    found = computed(function, (x, w), {"n": 2, "h": 5, "w": 6}, constants=PACKED)
    sums = expected(2 * x, w, [2, 1], [1, 1], [(2, 1), (0, 1)], -5) / 2
    np.testing.assert_array_equal(found, np.maximum(sums, 0))


def test_padding_of_a_number_that_is_given() -> None:
    """Around a band is what the call says."""

    @ash.jit
    def function(x: ash.u8["n", "h", "w", 4], w: ash.i8[1, 3, 3, 4, 20], fill: ash.u8[()]):
        padded = ash.pad(x, [(0, 0), (1, 1), (2, 0), (0, 0)], fill)
        return ash.conv(padded.astype(ash.i32), w.astype(ash.i32)) - fill.astype(ash.i32)

    x, w = bytes_of(np.uint8, (2, 5, 6, 4), 5), bytes_of(np.int8, (1, 3, 3, 4, 20), 6)
    fill = np.array(77, np.uint8)
    binding = {"n": 2, "h": 5, "w": 6}
    for target in EXECUTED.values():
        assert "scratch band" in kernel_text(lowered(function, PACKED, target).kernel)
        found = computed(function, (x, w, fill), binding, constants=PACKED, target=target)
        sums = expected(x, w, [1, 1], [1, 1], [(1, 1), (2, 0)], 77)
        np.testing.assert_array_equal(found, sums - 77)


@pytest.mark.parametrize("name", NAMED_TARGETS)
@pytest.mark.parametrize("case", ["3 x 3", "odd channels", "dilated", "in place", "line"])
def test_the_instruction_of_a_target(name: str, case: str) -> None:
    """Groups of 4 bytes where there is an instruction for them; elsewhere pairs. All is proved."""
    target = NAMED_TARGETS[name]
    kernel = lowered(convolution(ash.u8, ash.i8, *CASES[case], 3), PACKED, target).kernel
    text = kernel_text(kernel)
    assert f"padded groups {4 if target.byte_products else 2} over" in text
    widens = not target.byte_products
    assert ("scratch band: i16" in text) == widens
    if case == "in place":
        assert ("scratch band" in text) == widens
    assert kernel_text(parse_kernel(text)) == text
    assert verify_kernel(kernel) == []
    assert compile_source(kernel, target)


def test_by_their_definition() -> None:
    case = CASES["odd channels"]
    function = convolution(ash.u8, ash.i8, *case, 7)
    x, w = bytes_of(np.uint8, (1, 4, 5, 5), 5), bytes_of(np.int8, case[0], 6)
    binding = {"n": 1, "h": 4, "w": 5}
    for name in ("x86-64-avx512-vnni", "x86-64-sse2"):
        target = NAMED_TARGETS[name]
        given = {"constants": PACKED, "target": target, "interpret": True}
        found = computed(function, (x, w), binding, **given)
        np.testing.assert_array_equal(found, expected(x, w, *case[1:], 7))
