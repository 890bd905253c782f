"""Comparisons, logic and selection. Bools are i1 in registers."""

from __future__ import annotations

from anyshape.codegen.llvm.emit.arithmetic import Generator
from anyshape.codegen.llvm.math.boundary import Builder, Value, constant, intrinsic
from anyshape.ir.types import DType


def comparison(operator: str) -> Generator:
    """False where an operand is NaN, but for `!=`."""

    def generate(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
        if dtype.is_float:
            test = b.fcmp_unordered if operator == "!=" else b.fcmp_ordered
        else:
            test = b.icmp_signed if dtype.kind == "int" else b.icmp_unsigned
        return test(operator, x, y)

    return generate


def bitwise(name: str) -> Generator:
    """Integers and bools."""

    def generate(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
        return getattr(b, name)(x, y)

    return generate


def left_shift(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    """All bits are gone if there are no more of them, or if it is by a negative number."""
    inside = b.icmp_unsigned("<", y, constant(y.type, dtype.bits))
    return b.select(inside, b.shl(x, y), constant(x.type, 0))


def right_shift(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    """Likewise; of a signed number bits of its sign are left."""
    inside = b.icmp_unsigned("<", y, constant(y.type, dtype.bits))
    if dtype.kind == "uint":
        return b.select(inside, b.lshr(x, y), constant(x.type, 0))
    return b.ashr(x, b.select(inside, y, constant(y.type, dtype.bits - 1)))


def logical_not(b: Builder, dtype: DType, x: Value) -> Value:
    return b.not_(x)


def select(b: Builder, dtype: DType, condition: Value, yes: Value, no: Value) -> Value:
    return b.select(condition, yes, no)


def is_nan(b: Builder, dtype: DType, x: Value) -> Value:
    return b.fcmp_unordered("uno", x, x)


def is_inf(b: Builder, dtype: DType, x: Value) -> Value:
    size = intrinsic(b, "llvm.fabs", [x])
    return b.fcmp_ordered("==", size, constant(x.type, float("inf")))
