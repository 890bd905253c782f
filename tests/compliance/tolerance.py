"""How close a result must be to the independent expectation.

Expectations of floating point ops are computed in f64. A result of type t may be `ulps` units in
the last place of t away, plus `absolute` times the epsilon of t where summands of order one cancel.
16-bit results are computed in f32 and rounded once: half a unit and a little, whatever the op.
Integers, bools and moved elements are exact, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from anyshape.ir.types import DType, bf16, f16, f32, f64

ROUNDED_ONCE = 0.51
"""Units in the last place of a 16-bit float, for a result that was rounded to it once."""


@dataclass(frozen=True)
class Tolerance:
    """`exact`: the same bits. Else units in the last place and multiples of epsilon."""

    exact: bool = False
    ulps: float = 4
    absolute: float = 0
    signed_zeros: bool = True


EXACT = Tolerance(exact=True)
ELEMENTWISE = Tolerance()
ANY_ZERO = Tolerance(signed_zeros=False)


def accumulated(epsilons: float, ulps: float = 8) -> Tolerance:
    """For sums of products: errors relative to summands of order one."""
    return Tolerance(ulps=ulps, absolute=epsilons, signed_zeros=False)


def assert_close(found: Any, wanted: Any, dtype: DType, tolerance: Tolerance, what: str) -> None:
    """`wanted` is the expectation before it is rounded to `dtype`."""
    if tolerance.exact or not dtype.is_float:
        assert same_bits(found, wanted.astype(dtype.numpy)), _difference(found, wanted, what)
        return
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype.numpy).astype(np.float64)
        result = found.astype(np.float64)
        error = np.abs(result - wanted)
        allowed = _ulps(dtype, tolerance) * spacing(wanted, dtype)
        allowed = allowed + tolerance.absolute * epsilon(dtype)
        good = (result == rounded) | (error <= allowed) | (np.isnan(result) & np.isnan(rounded))
        if tolerance.signed_zeros:
            both = (wanted == 0) & (result == 0)
            good &= ~both | (np.signbit(wanted) == np.signbit(result))
    assert good.all(), _difference(found[~good], wanted[~good], what)


def same_bits(left: Any, right: Any) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and _bytes(left) == _bytes(right)


def _bytes(array: Any) -> bytes:
    """The bytes, with one NaN for all NaNs."""
    if array.dtype.kind in "fV":
        nan = np.isnan(array.astype(np.float64))
        array = np.where(nan, np.array(np.nan, array.dtype), array)
    return array.tobytes()


def _difference(found: Any, wanted: Any, what: str) -> str:
    return f"{what}: got {found!r}, expected {wanted!r}"


def _ulps(dtype: DType, tolerance: Tolerance) -> float:
    absolute = tolerance.absolute > 0  # then the f32 inside has an error of its own
    return ROUNDED_ONCE + absolute if dtype in (f16, bf16) else tolerance.ulps


def _info(dtype: DType) -> Any:
    return ml_dtypes.finfo(dtype.numpy)


def epsilon(dtype: DType) -> float:
    return float(_info(f64 if dtype is f64 else f32).eps if dtype in (f64, f32) else 2**-20)


def spacing(value: Any, dtype: DType) -> Any:
    """The distance from |value| to the next number of `dtype`."""
    info = _info(dtype)
    _, exponent = np.frexp(np.where(np.isfinite(value), value, 0))
    lowest = np.frexp(float(info.smallest_normal))[1]
    return np.ldexp(1.0, np.maximum(exponent, lowest) - 1 - int(info.nmant))
