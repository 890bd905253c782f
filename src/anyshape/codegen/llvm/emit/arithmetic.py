"""Arithmetic on registers: scalars and vectors alike, floats and integers told apart by dtype.

A generator takes the builder, the dtype of the operands, and the operands. Floats may be
contracted (a * b + c in one rounding), and nothing else of fast math is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyshape.codegen.llvm.math.boundary import Builder, Value, constant, intrinsic, ir, lanes_of
from anyshape.ir.types import DType, bool_

Generator = Callable[..., Value]

_CONTRACT = ("contract",)


def _by_kind(float_name: str, integer_name: str, bool_name: str) -> Generator:
    """The builder's method for each kind of dtype."""

    def generate(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
        if dtype.is_float:
            return getattr(b, float_name)(x, y, flags=_CONTRACT)
        return getattr(b, bool_name if dtype is bool_ else integer_name)(x, y)

    return generate


add = _by_kind("fadd", "add", "or_")
sub = _by_kind("fsub", "sub", "xor")
mul = _by_kind("fmul", "mul", "and_")


def div(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    return b.fdiv(x, y)


def neg(b: Builder, dtype: DType, x: Value) -> Value:
    return b.fneg(x) if dtype.is_float else b.neg(x)


def absolute(b: Builder, dtype: DType, x: Value) -> Value:
    """|x|; that of the least integer is itself."""
    if dtype.is_float:
        return intrinsic(b, "llvm.fabs", [x])
    return b.select(b.icmp_signed("<", x, constant(x.type, 0)), b.neg(x), x)


def copysign(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    """|x| with the sign of y; zeros and NaN have one, too."""
    return intrinsic(b, "llvm.copysign", [x, y])


def sign(b: Builder, dtype: DType, x: Value) -> Value:
    """-1, 0 or 1; zeros lose their sign, NaN stays."""
    zero, one, minus_one = (constant(x.type, n) for n in (0, 1, -1))
    if not dtype.is_float:
        positive = b.select(b.icmp_signed(">", x, zero), one, zero)
        return b.select(b.icmp_signed("<", x, zero), minus_one, positive)
    positive = b.select(b.fcmp_ordered(">", x, zero), one, x)
    negative = b.select(b.fcmp_ordered("<", x, zero), minus_one, positive)
    return b.select(b.fcmp_ordered("==", x, zero), zero, negative)


def _extremum(compare: str, opposite: str, bool_name: str) -> Generator:
    def generate(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
        if dtype is bool_:
            return getattr(b, bool_name)(x, y)
        if not dtype.is_float:
            test = b.icmp_unsigned if dtype.kind == "uint" else b.icmp_signed
            return b.select(test(compare, x, y), x, y)
        if is_number(x):
            x, y = y, x
        if is_number(y):
            return b.select(b.fcmp_ordered(opposite, x, y), y, x)  # x where it is NaN
        # One instruction of x86, which gives y where either is NaN. What is missing is a NaN in x;
        # a constant for it keeps LLVM from merging both tests into a slower one.
        chosen = b.select(b.fcmp_ordered(compare, x, y), x, y)
        return b.select(b.fcmp_unordered("uno", x, x), constant(x.type, math.nan), chosen)

    return generate


def is_number(value: Value) -> bool:
    """Whether it is a constant other than NaN."""
    if not isinstance(value, ir.Constant):
        return False
    held: Any = value.constant  # of a vector, the constants of its lanes
    numbers = [value.constant] if lanes_of(value.type) is None else [c.constant for c in held]
    return all(isinstance(number, float) and not math.isnan(number) for number in numbers)


maximum = _extremum(">", "<", "or_")
minimum = _extremum("<", ">", "and_")


def rounding(name: str) -> Generator:
    """To an integral number, by an intrinsic that is one instruction."""

    def generate(b: Builder, dtype: DType, x: Value) -> Value:
        return intrinsic(b, name, [x])

    return generate
