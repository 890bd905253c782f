"""Element types in DLPack's terms: a code for the kind of number, and bits."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

_KIND_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMED_CODES: Final = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.int4): 0,
    np.dtype(ml_dtypes.uint4): 1,
}


def dlpack_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    """DLPack's code and number of bits. Types of less than a byte have a byte each, as in NumPy."""
    code = _NAMED_CODES.get(dtype)
    if code is None:
        code = _KIND_CODES[dtype.kind]
    return code, 8 * dtype.itemsize
