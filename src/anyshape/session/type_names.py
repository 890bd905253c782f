"""The names that onnxruntime has for element types, as in `tensor(float)`. Needs no onnx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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

RUNTIME_NAMES: Final[Mapping[DType, str]] = {
    f32: "float", f64: "double", f16: "float16", bf16: "bfloat16", i8: "int8", i16: "int16",
    i32: "int32", i64: "int64", u8: "uint8", u16: "uint16", u32: "uint32", u64: "uint64",
    bool_: "bool",
}  # fmt: skip
