"""A constant size that leaves one narrow element over: nothing behind it is written."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.codegen.llvm.one_lane_stores import without_one_lane_stores
from anyshape.ir.types import Array, DType, bf16, f16, i8, i16, i32, u8, u16

NARROW = [i8, u8, i16, u16, f16, bf16]
CANARY = 99


def call_text(mask: str, vector: str = "<4 x i8>") -> str:
    return (
        f"  tail call void @llvm.masked.store.v4i8.p0({vector} %t, ptr align 1 %p, "
        f"<4 x i1> <{mask}>), !noalias !1\n"
    )


def test_one_lane_becomes_a_store_of_one_element() -> None:
    changed = without_one_lane_stores(call_text("i1 false, i1 false, i1 true, i1 false"))
    assert changed is not None
    assert "masked" not in changed
    assert "extractelement <4 x i8> %t, i64 2" in changed
    assert "getelementptr i8, ptr %p, i64 2" in changed


@pytest.mark.parametrize("mask", ["i1 true, i1 true, i1 false, i1 false", "i1 true, i1 %c"])
def test_other_masks_stay(mask: str) -> None:
    assert without_one_lane_stores(call_text(mask)) is None


def written_behind(function: Any, arrays: tuple[Array, ...], shape: tuple[int, ...]) -> int:
    """How many elements behind a result in the caller's memory a call changes."""
    dtype = arrays[0].dtype if function.__name__ != "narrowed" else np.dtype(np.int8)
    size = int(np.prod(shape))
    memory = np.full(size + 192, CANARY, dtype)
    start = next(i for i in range(64) if memory[i:].ctypes.data % 64 == 0)
    function.executable.run(arrays, out=[memory[start : start + size].reshape(shape)])
    return int((memory[start + size :] != CANARY).sum())


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("rows", [1, 13, 17])
def test_products_with_one_column(dtype: DType, rows: int) -> None:
    @ash.jit(threads=1)
    def product(x: dtype["p", "m", 1], y: dtype["p", 1, 1]):
        return x @ y

    x, y = np.ones((2, rows, 1), dtype.numpy), np.ones((2, 1, 1), dtype.numpy)
    assert written_behind(product, (x, y), (2, rows, 1)) == 0


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("size", [1, 17, 65])
def test_rows_with_one_element_over(dtype: DType, size: int) -> None:
    @ash.jit(threads=1)
    def squares(x: dtype["a", size]):
        return x * x + x // 2

    x = np.ones((3, size), dtype.numpy)
    assert written_behind(squares, (x,), (3, size)) == 0


@pytest.mark.parametrize("size", [1, 17, 65])
def test_narrowing_casts(size: int) -> None:
    @ash.jit(threads=1)
    def narrowed(x: i32["a", size]):
        return (x * 3).astype(i8)

    assert written_behind(narrowed, (np.ones((3, size), np.int32),), (3, size)) == 0
