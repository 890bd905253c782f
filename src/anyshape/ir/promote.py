"""Promotion of element types, written once.

The lattice is the one of PyTorch and JAX: a float wins over any integer whatever their widths,
wider wins within a kind, two different 16-bit floats meet in f32, and a signed with an unsigned
integer go to the next wider signed one. `u64` with a signed integer has no such type: that is an
error, not a silent float. Python scalars are weak: they never widen a tensor of their own kind.
"""

from __future__ import annotations

from anyshape.base.errors import DTypeError
from anyshape.ir.types import DTYPES, DType, bool_, f32, i64

_KIND_ORDER = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def promote(left: DType, right: DType) -> DType:
    """The smallest type both can be cast to."""
    if left == right:
        return left
    low, high = sorted((left, right), key=lambda dtype: _KIND_ORDER[dtype.kind])
    if _KIND_ORDER[low.kind] < _KIND_ORDER[high.kind]:
        return high
    if low.kind != high.kind:
        return _mixed_sign(*((low, high) if low.kind == "int" else (high, low)))
    if low.bits == high.bits:  # f16 and bf16
        return f32
    return max(low, high, key=lambda dtype: dtype.bits)


def _mixed_sign(signed: DType, unsigned: DType) -> DType:
    bits = max(signed.bits, 2 * unsigned.bits)
    if bits > i64.bits:
        raise DTypeError(
            "promotion", "types with a common type", f"{signed} and {unsigned}",
            fix=f"cast one of them, for example .astype({signed})",
        )  # fmt: skip
    return DTYPES[f"i{bits}"]


def promote_scalar(tensor: DType, scalar: bool | int | float) -> DType:
    """The type of a tensor meeting a Python scalar."""
    if isinstance(scalar, bool) or tensor.is_float:
        return tensor
    if isinstance(scalar, int):
        return i64 if tensor is bool_ else tensor
    return f32
