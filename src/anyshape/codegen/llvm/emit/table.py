"""The generators of the elementwise ops, by name, and the rounding of 16-bit results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from anyshape.base.errors import MissingRuleError
from anyshape.codegen.llvm import math
from anyshape.codegen.llvm.emit import arithmetic, convert, division, instructions, logic
from anyshape.codegen.llvm.emit.arithmetic import Generator
from anyshape.codegen.llvm.math.boundary import Builder, Value
from anyshape.ir.types import DType


def _math_function(name: str) -> Generator:
    def generate(b: Builder, dtype: DType, *args: Value) -> Value:
        return math.emit(b, name, *args)

    return generate


# Results that a 16-bit dtype represents whenever it represents the operands.
_EXACT: Final[Mapping[str, Generator]] = {
    "abs": arithmetic.absolute,
    "bitwise_and": logic.bitwise("and_"),
    "bitwise_or": logic.bitwise("or_"),
    "bitwise_xor": logic.bitwise("xor"),
    "ceil": arithmetic.rounding("llvm.ceil"),
    "copysign": arithmetic.copysign,
    "eq": logic.comparison("=="),
    "floor": arithmetic.rounding("llvm.floor"),
    "ge": logic.comparison(">="),
    "gt": logic.comparison(">"),
    "is_inf": logic.is_inf,
    "is_nan": logic.is_nan,
    "le": logic.comparison("<="),
    "left_shift": logic.left_shift,
    "logical_and": logic.bitwise("and_"),
    "logical_not": logic.logical_not,
    "logical_or": logic.bitwise("or_"),
    "lt": logic.comparison("<"),
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "ne": logic.comparison("!="),
    "neg": arithmetic.neg,
    "pair_dot": instructions.pair_dot,
    "right_shift": logic.right_shift,
    "round": arithmetic.rounding("llvm.roundeven"),
    "select": logic.select,
    "sign": arithmetic.sign,
}

_ROUNDED: Final[Mapping[str, Generator]] = {
    "add": arithmetic.add,
    "div": arithmetic.div,
    "floordiv": division.floordiv,
    "mod": division.mod,
    "mul": arithmetic.mul,
    "sub": arithmetic.sub,
    **{name: _math_function(name) for name in math.FUNCTIONS},
}

GENERATORS: Final[Mapping[str, Generator]] = {**_EXACT, **_ROUNDED}


def generate(
    b: Builder, op: str, dtypes: Sequence[DType], result: DType, args: Sequence[Value]
) -> Value:
    """The code of one op, on operands of the given dtypes."""
    if op == "cast":
        return convert.cast(b, dtypes[0], result, args[0])
    generator = GENERATORS.get(op)
    if generator is None:
        raise MissingRuleError(op, "generator")
    value = generator(b, dtypes[0], *args)
    return value if op in _EXACT else convert.rounded(b, result, value)
