"""torch's dtypes as ours, and its rules of promotion.

The one file of the importer that asks torch about dtypes. torch's own rules decide in which dtype
operands meet: numbers and tensors of rank 0 count less than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import torch

from anyshape.base.errors import DTypeError
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
)


@cache
def _dtypes() -> dict[Any, DType]:
    pairs = {
        "float32": f32, "float64": f64, "float16": f16, "bfloat16": bf16, "bool": bool_,
        "int8": i8, "int16": i16, "int32": i32, "int64": i64,
        "uint8": u8, "uint16": u16, "uint32": u32, "uint64": u64,
    }  # fmt: skip
    return {getattr(torch, name): dtype for name, dtype in pairs.items()}


def is_known(dtype: torch.dtype) -> bool:
    """Whether we have a dtype of that kind."""
    return dtype in _dtypes()


def from_torch(dtype: torch.dtype) -> DType:
    """Our dtype of that kind."""
    own = _dtypes().get(dtype)
    if own is None:
        known = ", ".join(str(name).removeprefix("torch.") for name in _dtypes())
        raise DTypeError("the exported program", f"one of {known}", str(dtype))
    return own


def dtype_of_meta(node: Any) -> DType:
    """The dtype of a node's result, or of the first of several."""
    value: Any = node.meta["val"]
    first: Any = cast(Sequence[Any], value)[0] if isinstance(value, (tuple, list)) else value
    return from_torch(first.dtype)


def common_dtype(arguments: Sequence[Any]) -> DType:
    """Where the first two arguments of a node meet."""
    first, second = (_example(argument) for argument in arguments[:2])
    return from_torch(torch.result_type(first, second))


def _example(argument: Any) -> Any:
    """A tensor without data, or a number: all that promotion looks at."""
    value: Any = argument.meta["val"] if hasattr(argument, "meta") else argument
    if isinstance(value, torch.Tensor):
        return torch.empty((1,) * value.dim(), dtype=value.dtype, device="meta")
    if isinstance(value, torch.SymFloat):
        return 0.5
    return 0 if isinstance(value, torch.SymInt) else value
