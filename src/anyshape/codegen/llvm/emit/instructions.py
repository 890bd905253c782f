"""Instructions that LLVM has no operation for: what they are called for vectors of so many lanes.

Where a target lacks one, or for other numbers of lanes, `math/software.py` gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from anyshape.codegen.llvm.isa import PAIR_PRODUCTS, TRUNCATE_TO_INTEGER
from anyshape.codegen.llvm.math.boundary import (
    Builder,
    Type,
    Value,
    constant,
    ir,
    lanes_of,
    software_of,
)
from anyshape.codegen.llvm.math.software import SOFTWARE
from anyshape.ir.types import DType

MULTIPLY_PAIRS: Final = {
    4: "llvm.x86.sse2.pmadd.wd",
    8: "llvm.x86.avx2.pmadd.wd",
    16: "llvm.x86.avx512.pmaddw.d.512",
}
_TRUNCATE: Final = {
    4: "llvm.x86.sse2.cvttps2dq",
    8: "llvm.x86.avx.cvtt.ps2dq.256",
    16: "llvm.x86.avx512.mask.cvttps2dq.512",
}
_CURRENT_ROUNDING: Final = 4  # which truncation does not look at


def pair_dot(b: Builder, dtype: DType, x: Value, y: Value) -> Value:
    """Lanes of 32 bits hold two signed numbers each: both products, added."""
    name = _name(b, PAIR_PRODUCTS, MULTIPLY_PAIRS, x)
    return multiply_pairs(b, name, x, y) if name else SOFTWARE[PAIR_PRODUCTS](b, (x, y))


def multiply_pairs(b: Builder, name: str, x: Value, y: Value) -> Value:
    halves = ir.VectorType(ir.IntType(16), 2 * x.type.count)
    return instruction(b, name, x.type, [b.bitcast(x, halves), b.bitcast(y, halves)])


def truncated(b: Builder, value: Value) -> Value:
    """f32 to i32; the least i32 for what that does not hold."""
    name = _name(b, TRUNCATE_TO_INTEGER, _TRUNCATE, value)
    if not name:
        return SOFTWARE[TRUNCATE_TO_INTEGER](b, (value,))
    kind = ir.VectorType(ir.IntType(32), value.type.count)
    values = [value]
    if value.type.count == max(_TRUNCATE):
        mask, rounding = ir.IntType(value.type.count), ir.IntType(32)
        values += [constant(kind, 0), constant(mask, -1), constant(rounding, _CURRENT_ROUNDING)]
    return instruction(b, name, kind, values)


def instruction(b: Builder, name: str, result: Type, values: Sequence[Value]) -> Value:
    """A call of it, declared when first used."""
    callee = b.module.globals.get(name)
    if callee is None:
        signature = ir.FunctionType(result, [value.type for value in values])
        callee = ir.Function(b.module, signature, name)
    return b.call(callee, values)


def _name(b: Builder, what: str, names: Mapping[int, str], value: Value) -> str | None:
    return None if what in software_of(b) else names.get(lanes_of(value.type) or 1)
