"""Element types by name, their rounding, and how they meet: written here a second time on purpose.

Nothing of anyshape is imported. The rule is the documented one: a float wins over any integer,
wider wins within a kind, f16 and bf16 meet in f32, a signed and an unsigned integer meet in the
next wider signed one, and numbers (also sizes) are weak.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NUMPY: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    **{
        f"{kind}{bits}": np.dtype(f"{kind}{bits // 8}") for kind in "iu" for bits in (8, 16, 32, 64)
    },
    "bool": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in NUMPY.items()}
FLOATS = ("f64", "f32", "f16", "bf16")
NARROW = ("f16", "bf16")
SIGNED = ("i64", "i32", "i16", "i8")
UNSIGNED = ("u64", "u32", "u16", "u8")
INTEGERS = SIGNED + UNSIGNED
ALL = (*FLOATS, *INTEGERS, "bool")

EPS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
SMALLEST = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
LARGEST = {
    "f64": float(np.finfo(np.float64).max),
    "f32": float(np.finfo(np.float32).max),
    "f16": 65504.0,
    "bf16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).max),
}


class NoMeaning(Exception):  # noqa: N818 - it is an answer, not an error
    """NumPy gives this no meaning either, or this oracle does not know it."""


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def bits(dtype: str) -> int:
    return NUMPY[dtype].itemsize * 8


def wide(dtype: str) -> str:
    """What a float is computed in."""
    return "f32" if dtype in NARROW else dtype


def limits(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer."""
    info = np.iinfo(NUMPY[dtype])
    return int(info.min), int(info.max)


def meet(left: str, right: str) -> str:
    """The type in which two arrays meet."""
    if right in (left, "bool"):
        return left
    if left == "bool":
        return right
    if is_float(left) != is_float(right):
        return left if is_float(left) else right
    if is_float(left):
        return "f32" if {left, right} == set(NARROW) else max(left, right, key=bits)
    if left[0] == right[0]:
        return max(left, right, key=bits)
    signed, unsigned = (left, right) if left[0] == "i" else (right, left)
    width = max(bits(signed), 2 * bits(unsigned))
    if width > 64:
        raise NoMeaning(f"{left} and {right} have no common type")
    return f"i{width}"


def meet_number(dtype: str, number: bool | int | float) -> str:
    """The type in which an array meets a number, which never widens its own kind."""
    if isinstance(number, bool) or is_float(dtype):
        return dtype
    if isinstance(number, int):
        return "i64" if dtype == "bool" else dtype
    return "f32"


def number_dtype(number: bool | int | float) -> str:
    """What a number is that meets no array."""
    if isinstance(number, bool):
        return "bool"
    return "i64" if isinstance(number, int) else "f32"


def quantized(value: Array, dtype: str) -> Array:
    """The nearest numbers of a float type, as long doubles."""
    with np.errstate(all="ignore"):
        return value.astype(np.float64).astype(NUMPY[dtype]).astype(np.longdouble)
