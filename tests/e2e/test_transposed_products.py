"""Products whose left operand is transposed and narrow: rows are copied, and no more than exist.

The copy wrote whole squares of rows into scratch that had room for fewer: on the stack that ended
the process, in the arena it changed other values. What these calls compute is asked in a child, and
compared with NumPy.
"""

from typing import Any

import numpy as np
import pytest
from tests.forks import in_child

import anyshape as ash
from anyshape.ir.types import DType

NARROW = (ash.f16, ash.bf16, ash.i8, ash.u8, ash.i16, ash.u16)
SIZES = (
    (1000, 1, 1), (64, 3, 5), (4, 3, 5), (9, 15, 2), (36, 16, 33), (7, 17, 64), (64, 97, 3),
    (16, 95, 1), (2, 96, 65),
)  # fmt: skip
"""Depth, rows and columns: around squares of 16, tiles of 6 and blocks of 96 rows."""

Array = np.ndarray[Any, Any]


def numbers(dtype: DType, *shape: int) -> Array:
    """Small enough that sums of a thousand products are exact in half precision."""
    least = 0 if dtype.kind == "uint" else -1
    return np.random.default_rng(sum(shape)).integers(least, 2, shape).astype(dtype.numpy)


def is_right(function: Any, x: Array, y: Array) -> bool:
    exact = np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64
    wanted = np.swapaxes(x.astype(exact), -2, -1) @ y.astype(exact)
    return bool((function(x, y) == wanted.astype(x.dtype)).all())


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_any_size(dtype: DType) -> None:
    @ash.jit
    def product(x: dtype["k", "m"], y: dtype["k", "n"]):  # type: ignore[valid-type]
        return x.mT @ y

    def all_right() -> bool:
        return all(
            is_right(product, numbers(dtype, k, m), numbers(dtype, k, n)) for k, m, n in SIZES
        )

    assert in_child(all_right)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_fixed_sizes(dtype: DType) -> None:
    @ash.jit
    def product(x: dtype[64, 3], y: dtype[64, 5]):  # type: ignore[valid-type]
        return x.mT @ y

    assert in_child(lambda: is_right(product, numbers(dtype, 64, 3), numbers(dtype, 64, 5)))


def test_values_in_the_arena_stay() -> None:
    """Both operands are computed before: the copy must not change them."""

    @ash.jit
    def product(x: ash.i8["k", "m"], y: ash.i8["k", "n"]):
        return (x + 1).mT @ (y + 1)

    def all_right() -> bool:
        ones = [(np.zeros((k, m), np.int8), np.zeros((k, n), np.int8)) for k, m, n in SIZES[1:]]
        return all((product(x, y) == np.int8(x.shape[0])).all() for x, y in ones)

    assert in_child(all_right)


def test_two_threads() -> None:
    """Workers do not write into each other's scratch."""

    @ash.jit(threads=2)
    def product(x: ash.f16["b", "k", "m"], y: ash.f16["b", "k", "n"]):
        return x.mT @ y

    def always_right() -> bool:
        x, y = numbers(ash.f16, 8, 64, 17), numbers(ash.f16, 8, 64, 128)
        return all(is_right(product, x, y) for _ in range(50))

    assert in_child(always_right)
