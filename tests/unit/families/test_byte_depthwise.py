"""Depthwise convolutions of bytes: exact for all bytes, on every instruction set."""

import numpy as np
import pytest
from tests.unit.codegen.matrix import computed, lowered
from tests.unit.families.test_byte_convolutions import Pairs, convolution, expected
from tests.unit.families.test_integer_products import EXECUTED, PACKED, bytes_of

import anyshape as ash
from anyshape.codegen.llvm.emitting import compile_source
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.loop.parser import parse_kernel
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel

CASES: dict[str, tuple[tuple[int, ...], list[int], list[int], Pairs]] = {
    "3 x 3": ((70, 3, 3, 1, 1), [1, 1], [1, 1], [(1, 1), (1, 1)]),
    "without padding": ((64, 3, 3, 1, 1), [1, 1], [1, 1], [(0, 0), (0, 0)]),
    "5 x 4": ((19, 5, 4, 1, 1), [1, 2], [1, 1], [(2, 1), (0, 4)]),
    "even rows": ((33, 4, 3, 1, 1), [1, 1], [1, 1], [(2, 1), (1, 1)]),
    "one row": ((9, 1, 3, 1, 1), [1, 1], [1, 1], [(0, 0), (1, 1)]),
    "strides of 2": ((65, 3, 3, 1, 1), [2, 2], [1, 1], [(1, 0), (1, 1)]),
    "strides of 3": ((5, 3, 2, 1, 1), [3, 3], [1, 1], [(1, 1), (3, 0)]),
    "dilated rows": ((20, 3, 2, 1, 1), [1, 1], [3, 1], [(3, 3), (1, 0)]),
    "dilated, strides of 2": ((20, 3, 3, 1, 1), [2, 1], [2, 3], [(2, 2), (3, 3)]),
    "line": ((130, 7, 1, 1), [1], [1], [(3, 3)]),
    "line with strides": ((12, 4, 1, 1), [2], [3], [(4, 0)]),
    "volume": ((13, 2, 3, 3, 1, 1), [1, 1, 2], [2, 1, 1], [(1, 0), (1, 1), (0, 1)]),
    "two channels": ((2, 3, 3, 1, 1), [1, 1], [1, 1], [(1, 1), (1, 1)]),
}
FILLS = dict(zip(CASES, (131, 0, 255, 1, 0, 131, 131, 9, 131, 0, 131, 131, 131), strict=True))
SIZES = ((0, 6, 7), (1, 9, 1), (2, 9, 31))


def least(case: str) -> int:
    """The least size that all axes of a case may have."""
    weights, _, dilations, padding = CASES[case]
    axes = zip(weights[1:-2], dilations, padding, strict=True)
    return max(1, *((taps - 1) * gap + 1 - sum(around) for taps, gap, around in axes))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
def test_sums_are_exact(target: LlvmTarget, case: str) -> None:
    (weights, strides, dilations, padding), fill = CASES[case], FILLS[case]
    function = convolution(ash.u8, ash.i16, *CASES[case], fill)
    w = bytes_of(np.int8, weights, 1).astype(np.int16)
    for n, *places in SIZES:
        sizes = [max(size, least(case)) for size in (*places, 6)][: len(strides)]
        x = bytes_of(np.uint8, (n, *sizes, weights[0]), n)
        binding = {"n": n} | dict(zip("hwd", sizes, strict=False))
        found = computed(function, (x, w), binding, constants=PACKED, target=target)
        np.testing.assert_array_equal(found, expected(x, w, strides, dilations, padding, fill))


@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
def test_signed_bytes_by_wide_numbers(target: LlvmTarget) -> None:
    case = CASES["3 x 3"]
    function = convolution(ash.i8, ash.i16, *case, -9)
    x, w = bytes_of(np.int8, (2, 5, 6, 70), 3), bytes_of(np.int16, case[0], 4)
    binding = {"n": 2, "h": 5, "w": 6}
    found = computed(function, (x, w), binding, constants=PACKED, target=target)
    np.testing.assert_array_equal(found, expected(x, w, *case[1:], -9))


@pytest.mark.parametrize("factor", [0, 1])
def test_a_padding_that_is_given(factor: int) -> None:
    """Around the band is what the call says, whether or not what follows reads it too."""

    @ash.jit
    def function(x: ash.u8["n", "h", "w", 6], w: ash.i16[6, 3, 3, 1, 1], fill: ash.u8[()]):
        padded = ash.pad(x, [(0, 0), (1, 1), (2, 0), (0, 0)], fill)
        sums = ash.conv(padded.astype(ash.i32), w.astype(ash.i32))
        return sums - fill.astype(ash.i32) if factor else sums

    x, w = bytes_of(np.uint8, (2, 5, 6, 6), 5), bytes_of(np.int8, (6, 3, 3, 1, 1), 6)
    given = x, w.astype(np.int16), np.array(77, np.uint8)
    for target in EXECUTED.values():
        binding = {"n": 2, "h": 5, "w": 6}
        found = computed(function, given, binding, constants=PACKED, target=target)
        sums = expected(x, w, [1, 1], [1, 1], [(1, 1), (2, 0)], 77)
        np.testing.assert_array_equal(found, sums - 77 * factor)


@pytest.mark.parametrize("name", NAMED_TARGETS)
@pytest.mark.parametrize("case", ["3 x 3", "dilated rows", "line"])
def test_all_is_proved(name: str, case: str) -> None:
    target = NAMED_TARGETS[name]
    kernel = lowered(convolution(ash.u8, ash.i16, *CASES[case], 3), PACKED, target).kernel
    text = kernel_text(kernel)
    assert "pair_dot" in text
    assert kernel_text(parse_kernel(text)) == text
    assert verify_kernel(kernel) == []
    assert compile_source(kernel, target)


@pytest.mark.parametrize("case", ["even rows", "strides of 2", "line"])
def test_by_their_definition(case: str) -> None:
    weights, strides, dilations, padding = CASES[case]
    function = convolution(ash.u8, ash.i16, *CASES[case], 7)
    sizes = [4, 5][: len(strides)]
    x = bytes_of(np.uint8, (1, *sizes, weights[0]), 5)
    w = bytes_of(np.int8, weights, 6).astype(np.int16)
    binding = {"n": 1} | dict(zip("hw", sizes, strict=False))
    found = computed(function, (x, w), binding, constants=PACKED, interpret=True)
    np.testing.assert_array_equal(found, expected(x, w, strides, dilations, padding, 7))
