"""ONNX's element types as ours."""

from __future__ import annotations

from onnx import TensorProto

from anyshape.base.errors import UnsupportedModelError
from anyshape.ir.types import (
    DType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip

DTYPES: dict[int, DType] = {
    TensorProto.FLOAT: f32, TensorProto.DOUBLE: f64, TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16, TensorProto.INT8: i8, TensorProto.INT16: i16,
    TensorProto.INT32: i32, TensorProto.INT64: i64, TensorProto.UINT8: u8,
    TensorProto.UINT16: u16, TensorProto.UINT32: u32, TensorProto.UINT64: u64,
    TensorProto.BOOL: bool_,
}  # fmt: skip
"""By the number that a model has for them."""

CODES: dict[DType, int] = {dtype: code for code, dtype in DTYPES.items()}


def dtype_of_code(code: int, place: str) -> DType:
    """The element type with this number; those that we do not have are refused by name."""
    found = DTYPES.get(code)
    if found is None:
        what = f"elements of type {code_name(code)}"
        fix = "cast to a type that anyshape has before exporting: float, integer or bool"
        raise UnsupportedModelError("the model", {what: [place]}, fix)
    return found


def code_name(code: int) -> str:
    """ONNX's own name of a number, or the number."""
    known = code in TensorProto.DataType.values()
    return TensorProto.DataType.Name(code) if known else str(code)  # pyright: ignore[reportArgumentType]
