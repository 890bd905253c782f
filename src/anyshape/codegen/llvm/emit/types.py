"""How values of a dtype look in LLVM: in memory, and while they are computed with.

dtype       in memory      in registers
f32, f64    itself         itself
f16, bf16   half, i16      float, always a number that the dtype can represent
integers    itself         itself; signedness is in the operations
bool        i8, 0 or 1     i1
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from anyshape.codegen.llvm.math.boundary import Type, Value, constant, ir
from anyshape.ir.types import DType, bf16, bool_, f16, f32, f64
from anyshape.loop import Literal

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER = ir.PointerType()

_IN_MEMORY = {
    f64: ir.DoubleType(),
    f32: ir.FloatType(),
    f16: ir.HalfType(),
    bf16: ir.IntType(16),
    bool_: I8,
}
_IN_REGISTERS = {**_IN_MEMORY, f16: ir.FloatType(), bf16: ir.FloatType(), bool_: I1}


def memory_type(dtype: DType, lanes: int | None = None) -> Type:
    return with_lanes(_IN_MEMORY.get(dtype) or ir.IntType(dtype.bits), lanes)


def register_type(dtype: DType, lanes: int | None = None) -> Type:
    return with_lanes(_IN_REGISTERS.get(dtype) or ir.IntType(dtype.bits), lanes)


def with_lanes(element: Type, lanes: int | None) -> Type:
    """`None` is a scalar, which is not the same as a vector of one."""
    return element if lanes is None else ir.VectorType(element, lanes)


def register_bits(dtype: DType) -> int:
    """How many bits a value takes while it is computed with; a bool takes hardly any."""
    return 8 if dtype is bool_ else max(dtype.bits, 32) if dtype.is_float else dtype.bits


@lru_cache(maxsize=1 << 10, typed=True)
def number(value: int) -> Value:
    """An index. Constants belong to no module, and remember their text."""
    return ir.Constant(I64, value)


def literal_value(literal: Literal) -> Value:
    """A constant, rounded to its dtype."""
    rounded = np.asarray(literal.value).astype(literal.dtype.numpy)
    python = float(rounded) if literal.dtype.is_float else int(rounded)
    return constant(register_type(literal.dtype), python)


@lru_cache(maxsize=1 << 8, typed=True)
def lane_numbers(element: Type, lanes: int, first: int = 0) -> Value:
    """The vector first, first + 1, …"""
    numbers = [ir.Constant(element, first + lane) for lane in range(lanes)]
    return ir.Constant(ir.VectorType(element, lanes), numbers)
