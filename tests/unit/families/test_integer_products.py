"""Products of small integers: groups of k, exact for all bytes, on every instruction set."""

from typing import Any

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import computed, lowered

import anyshape as ash
from anyshape.base.errors import VerifyError
from anyshape.codegen.llvm.emitting import compile_source
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.loop.parser import parse_kernel
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.packing import Packing, pack, unpack

PACKED = frozenset({1})
WITHOUT_VNNI = NAMED_TARGETS["x86-64-avx512"]
EXECUTED = {**TARGETS, **({"avx512 without vnni": WITHOUT_VNNI} if "avx512" in TARGETS else {})}
if get_host_cpu_features().get("avxvnni"):
    EXECUTED["avx2 with vnni"] = NAMED_TARGETS["x86-64-avx2-vnni"]
ROWS = (0, 1, 5, 7, 25, 97)


def product_of(x_dtype: Any, w_dtype: Any, depth: int, columns: int) -> Any:
    @ash.jit
    def function(x: x_dtype["m", depth], w: w_dtype[depth, columns]):  # type: ignore[valid-type]
        return x.astype(ash.i32) @ w.astype(ash.i32)

    return function


def bytes_of(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    """All values, the least and the greatest of them more often."""
    rng, ends = np.random.default_rng(seed), np.iinfo(dtype)
    values = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    return np.where(
        rng.random(shape) < 0.5, rng.choice([ends.min, ends.max], shape), values
    ).astype(dtype)


@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
@pytest.mark.parametrize(
    ("x_dtype", "w_dtype", "depth"),
    [
        (ash.u8, ash.i8, 1),
        (ash.u8, ash.i8, 64),
        (ash.u8, ash.i8, 259),
        (ash.i8, ash.i8, 7),
        (ash.u8, ash.u8, 66),
        (ash.i16, ash.i8, 65),
    ],
)
def test_sums_are_exact(target: LlvmTarget, depth: int, x_dtype: Any, w_dtype: Any) -> None:
    function = product_of(x_dtype, w_dtype, depth, 70)
    w = bytes_of(w_dtype.numpy, (depth, 70), depth)
    for rows in ROWS:
        x = bytes_of(x_dtype.numpy, (rows, depth), rows)
        found = computed(function, (x, w), {"m": rows}, constants=PACKED, target=target)
        np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32))


def test_extreme_bytes_do_not_saturate() -> None:
    x, w = np.full((6, 512), 255, np.uint8), np.full((512, 64), -128, np.int8)
    function = product_of(ash.u8, ash.i8, 512, 64)
    for target in EXECUTED.values():
        found = computed(function, (x, w), {"m": 6}, constants=PACKED, target=target)
        assert (found == 512 * 255 * -128).all()


@ash.jit
def turned(x: ash.u8[33, "m"], w: ash.i8[20, 33]):
    """Rows whose bytes are apart, and weights stored by column."""
    return x.mT.astype(ash.i32) @ w.mT.astype(ash.i32)


@ash.jit
def shifted(x: ash.i8["m", 24], w: ash.i8[24, 40]):
    """Rows that the product computes for itself."""
    bytes_ = x.astype(ash.u8) ^ 128
    return (bytes_.astype(ash.i32) @ w.astype(ash.i32)).astype(ash.f32) * 0.5


@pytest.mark.parametrize("target", EXECUTED.values(), ids=EXECUTED)
def test_other_orders_and_computed_rows(target: LlvmTarget) -> None:
    for rows in (1, 13):
        x, w = bytes_of(np.uint8, (33, rows), 1), bytes_of(np.int8, (20, 33), 2)
        found = computed(turned, (x, w), {"m": rows}, constants=PACKED, target=target)
        np.testing.assert_array_equal(found, x.T.astype(np.int32) @ w.T.astype(np.int32))
        x, w = bytes_of(np.int8, (rows, 24), 3), bytes_of(np.int8, (24, 40), 4)
        found = computed(shifted, (x, w), {"m": rows}, constants=PACKED, target=target)
        np.testing.assert_array_equal(found, (x.astype(np.int32) + 128) @ w.astype(np.int32) * 0.5)


@pytest.mark.parametrize("name", NAMED_TARGETS)
def test_the_instruction_of_a_target(name: str) -> None:
    """Groups of 4 bytes where there is an instruction for them; elsewhere pairs."""
    target = NAMED_TARGETS[name]
    kernel = lowered(product_of(ash.u8, ash.i8, 64, 64), PACKED, target).kernel
    text = kernel_text(kernel)
    assert f"padded groups {4 if target.byte_products else 2} over 64" in text
    assert ("scratch block: i16" in text) == (not target.byte_products)
    assert kernel_text(parse_kernel(text)) == text
    assert verify_kernel(kernel) == []
    assert compile_source(kernel, target)


def test_groups_by_their_definition() -> None:
    x, w = bytes_of(np.uint8, (3, 6), 5), bytes_of(np.int8, (6, 5), 6)
    function = product_of(ash.u8, ash.i8, 6, 5)
    for name in ("x86-64-avx512-vnni", "x86-64-sse2"):
        found = computed(
            function, (x, w), {"m": 3}, constants=PACKED, target=NAMED_TARGETS[name], interpret=True
        )
        np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 9), (8, 16)])
def test_packed_groups_are_undone(shape: tuple[int, int]) -> None:
    packing = Packing((), (0,), (1,), 8, group=4)
    w = bytes_of(np.int8, shape, 7)
    packed = pack(w, packing)
    assert packed.shape == packing.shape(shape)
    np.testing.assert_array_equal(unpack(packed, packing, shape), w)


def test_packed_rows_of_taps_are_undone() -> None:
    """Each begins with a group of its own."""
    packing = Packing((0, 1), (2, 3), (4,), 8, group=4)
    w = bytes_of(np.int8, (2, 3, 3, 5, 9), 8)
    packed = pack(w, packing)
    assert packed.shape == packing.shape(w.shape) == (6, 2, 4, 32)
    np.testing.assert_array_equal(unpack(packed, packing, w.shape), w)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (" padded", "", "no whole panels"),
        ("groups 4", "groups 2", "has groups of 2 in u8 @ i8"),
        ("column of 64 by 1]", "column of 64 by 2]", "those of lhs are apart"),
    ],
)
def test_what_groups_need(old: str, new: str, problem: str) -> None:
    target = NAMED_TARGETS["x86-64-avx512-vnni"]
    text = kernel_text(lowered(product_of(ash.u8, ash.i8, 64, 64), PACKED, target).kernel)
    with pytest.raises(VerifyError, match=problem):
        verify_kernel(parse_kernel(text.replace(old, new, 1)))
