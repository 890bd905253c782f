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


def logical_not(b: Builder, dtype: DType, x: Value) -> Value:
    return b.not_(x)


def select(b: Builder, dtype: DType, condition: Value, yes: Value, no: Value) -> Value:
    return b.select(condition, yes, no)


def is_nan(b: Builder, dtype: DType, x: Value) -> Value:
    return b.fcmp_unordered("uno", x, x)


def is_inf(b: Builder, dtype: DType, x: Value) -> Value:
    size = intrinsic(b, "llvm.fabs", [x])
    return b.fcmp_ordered("==", size, constant(x.type, float("inf")))
