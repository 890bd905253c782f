"""Conversions: between memory and registers, and between dtypes.

Invariant: a register of a 16-bit dtype holds a number which that dtype can represent. Rounding
happens where a result or a cast makes such a number, and storing it is exact.
"""

from __future__ import annotations

from anyshape.codegen.llvm.emit.instructions import truncated
from anyshape.codegen.llvm.emit.types import memory_type, register_type
from anyshape.codegen.llvm.isa import EXTEND_HALF, TRUNCATE_TO_HALF
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Type,
    Value,
    constant,
    element_of,
    int_type,
    intrinsic,
    ir,
    lanes_of,
    software_of,
    with_element,
)
from anyshape.codegen.llvm.math.software import truncated_within
from anyshape.ir.types import DType, bf16, bool_, f16, f64

_FLOAT, _DOUBLE, _HALF = ir.FloatType(), ir.DoubleType(), ir.HalfType()


# --- memory ---------------------------------------------------------------------------------------


def from_memory(b: Builder, dtype: DType, stored: Value) -> Value:
    if dtype is bool_:
        return b.icmp_unsigned("!=", stored, constant(stored.type, 0))
    if dtype is f16:
        return _half_to_float(b, stored)
    if dtype is bf16:
        return _bfloat_bits_to_float(b, stored)
    return stored


def to_memory(b: Builder, dtype: DType, value: Value) -> Value:
    kind = memory_type(dtype, lanes_of(value.type))
    if dtype is bool_:
        return b.zext(value, kind)
    if dtype is f16:
        return _float_to_half(b, value)
    if dtype is bf16:
        return b.trunc(_shifted_right(b, _bits(b, value), 16), kind)
    return value


def _half_to_float(b: Builder, stored: Value) -> Value:
    software = software_of(b).get(EXTEND_HALF)
    return software(b, [stored]) if software else b.fpext(stored, with_element(stored.type, _FLOAT))


def _float_to_half(b: Builder, value: Value) -> Value:
    """To the nearest, ties to even."""
    software = software_of(b).get(TRUNCATE_TO_HALF)
    kind = with_element(value.type, _HALF)
    return software(b, [value]) if software else b.fptrunc(value, kind)


def _bits(b: Builder, value: Value) -> Value:
    return b.bitcast(value, with_element(value.type, int_type(32)))


def _shifted_right(b: Builder, bits: Value, count: int) -> Value:
    return b.lshr(bits, constant(bits.type, count))


def _bfloat_bits_to_float(b: Builder, bits: Value) -> Value:
    wide = b.zext(bits, with_element(bits.type, int_type(32)))
    high = b.shl(wide, constant(wide.type, 16))
    return b.bitcast(high, with_element(bits.type, _FLOAT))


# --- rounding to 16 bits --------------------------------------------------------------------------


def rounded(b: Builder, dtype: DType, value: Value) -> Value:
    """A float brought to the nearest number of a 16-bit dtype, ties to even; others unchanged."""
    if dtype is f16:
        return _half_to_float(b, _float_to_half(b, value))
    return _rounded_to_bfloat(b, value) if dtype is bf16 else value


def _rounded_to_bfloat(b: Builder, value: Value) -> Value:
    """In integers: instructions for it, where they exist, flush subnormals to zero."""
    bits = _bits(b, value)
    odd = b.and_(_shifted_right(b, bits, 16), constant(bits.type, 1))
    up = b.add(bits, b.add(odd, constant(bits.type, 0x7FFF)))
    kept = b.and_(up, constant(bits.type, 0xFFFF0000))
    quiet_nan = b.or_(
        b.and_(bits, constant(bits.type, 0xFFFF0000)), constant(bits.type, 0x7FC00000)
    )
    is_nan = b.fcmp_unordered("uno", value, value)
    return b.bitcast(b.select(is_nan, quiet_nan, kept), value.type)


def _to_odd_float(b: Builder, value: Value) -> Value:
    """f64 to f32, inexact results made odd: rounding them again to 16 bits rounds but once."""
    narrow = with_element(value.type, _FLOAT)
    near = b.fptrunc(value, narrow)
    back = b.fpext(near, value.type)
    bits, one = _bits(b, near), constant(with_element(value.type, int_type(32)), 1)
    size, back_size = (intrinsic(b, "llvm.fabs", [v]) for v in (value, back))
    towards_zero = b.select(b.fcmp_ordered(">", back_size, size), b.sub(bits, one), bits)
    inexact = b.fcmp_ordered("!=", back, value)
    return b.bitcast(b.select(inexact, b.or_(towards_zero, one), bits), narrow)


# --- casts ----------------------------------------------------------------------------------------


def cast(b: Builder, source: DType, target: DType, value: Value) -> Value:
    """As NumPy converts. Floats outside an integer's range give some integer, never a trap."""
    if source is target:
        return value
    kind = register_type(target, lanes_of(value.type))
    if target is bool_:
        return _to_bool(b, source, value)
    if target.is_float:
        return _to_float(b, source, target, value, kind)
    if source.is_float:
        return _float_to_integer(b, target, value, kind)
    return _integer_to_integer(b, source, value, kind)


def _to_bool(b: Builder, source: DType, value: Value) -> Value:
    zero = constant(value.type, 0)
    test = b.fcmp_unordered if source.is_float else b.icmp_unsigned
    return test("!=", value, zero)


def _to_float(b: Builder, source: DType, target: DType, value: Value, kind: Type) -> Value:
    if not source.is_float:
        convert = b.sitofp if source.kind == "int" else b.uitofp
        return rounded(b, target, convert(value, kind))
    if source is f64:
        narrow = _to_odd_float if target is f16 else _to_nearest_float
        return rounded(b, target, narrow(b, value))
    return b.fpext(value, kind) if target is f64 else rounded(b, target, value)


def _to_nearest_float(b: Builder, value: Value) -> Value:
    return b.fptrunc(value, with_element(value.type, _FLOAT))


def _integer_to_integer(b: Builder, source: DType, value: Value, kind: Type) -> Value:
    target_bits = element_of(kind).width
    if target_bits == source.bits:
        return value
    if target_bits < source.bits:
        return b.trunc(value, kind)
    return b.sext(value, kind) if source.kind == "int" else b.zext(value, kind)


def _float_to_integer(b: Builder, target: DType, value: Value, kind: Type) -> Value:
    """Truncates. Narrow integers are the low bits of wider ones, as x86 and so NumPy have it."""
    if target.name == "u64":
        negative = b.fcmp_ordered("<", value, constant(value.type, 0.0))
        signed = b.fptosi(_within(b, value, -(2.0**63), 2.0**63), kind)
        return b.select(negative, signed, b.fptoui(_within(b, value, 0.0, 2.0**64), kind))
    if (
        value.type == with_element(value.type, _FLOAT)
        and target.bits <= 32
        and target.name != "u32"
    ):
        integer, bits = truncated(b, value), 32
    else:
        bits = 64 if target.bits == 64 or target.name == "u32" else 32
        integer = truncated_within(b, value, bits)
    return integer if target.bits == bits else b.trunc(integer, kind)


def _within(b: Builder, value: Value, low: float, limit: float) -> Value:
    """The value where low <= value < limit, and `low` elsewhere: conversion is defined then."""
    inside = b.and_(
        b.fcmp_ordered(">=", value, constant(value.type, low)),
        b.fcmp_ordered("<", value, constant(value.type, limit)),
    )
    return b.select(inside, value, constant(value.type, low))
