"""Arithmetic with sizes that Python does in floats, or that divides: `n / 2`, `n ** -0.5`.

A float that depends on sizes is a tensor of rank 0, in f64. Where Python raises an error, by 0 or
of a negative number, that is a condition on sizes or a check of the value. An integer of such a
float is a dim if it is one of a quotient. Else the graph computes it, if it has but one right
value: each step on the way to it is exact by IEEE 754.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.value_checks import check_divisor
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import functions
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.item import integer
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Value
from anyshape.ir.types import f64, i64
from anyshape.ops import elementwise as op
from anyshape.ops.source import ConstantAttrs, DimAttrs, constant, dim_value
from anyshape.sym import Dim, NotEqual, ceildiv, maximum, product

Integer = int | Dim
Number = Integer | float | Tensor


@entry("sym_float")
def sym_float(call: Call, x: Number) -> Tensor:
    return asarray(x, f64)


# --- quotients, powers and roots ------------------------------------------------------------------


@entry("truediv")
def truediv(call: Call, x: Number, y: Number) -> Tensor:
    _require_divisor(call, y)
    return ew.divide(asarray(x, f64), asarray(y, f64))


@entry("floordiv")
def floordiv(call: Call, x: Number, y: Number) -> Number:
    _require_divisor(call, y)
    if isinstance(x, (int, Dim)) and isinstance(y, (int, Dim)):
        return x // y
    return ew.floor_divide(asarray(x, f64), asarray(y, f64))


@entry("mod")
def mod(call: Call, x: Number, y: Number) -> Number:
    _require_divisor(call, y)
    if isinstance(x, (int, Dim)) and isinstance(y, (int, Dim)):
        return x % y
    return ew.mod(asarray(x, f64), asarray(y, f64))


@entry("pow")
def power(call: Call, x: Number, y: Number) -> Number:
    if isinstance(x, (int, Dim)) and isinstance(y, int) and y >= 0:
        return product([Dim.of(x)] * y)
    if isinstance(y, float) and y == 0.5:
        return functions.sqrt(asarray(x, f64))
    if not isinstance(y, (int, float)) or y < 0:  # a quotient
        _require_divisor(call, x)
    return ew.power(asarray(x, f64), asarray(y, f64))


@entry("sym_sqrt", "_sym_sqrt")
def sqrt(call: Call, x: Number) -> Tensor:
    root = asarray(x, f64)
    _require_sign(active().value(root), "the square root of a number", positive=False)
    return functions.sqrt(root)


@entry("_sym_log2")
def log2(call: Call, x: Number) -> Tensor:
    number = asarray(x, f64)
    _require_sign(active().value(number), "the logarithm of a number", positive=True)
    return functions.log(number) / math.log(2)


@entry("abs")
def absolute(call: Call, x: Number) -> Number:
    return maximum(Dim.of(x), -Dim.of(x)) if isinstance(x, (int, Dim)) else ew.abs(asarray(x, f64))


# --- what Python refuses --------------------------------------------------------------------------


def _require_divisor(call: Call, y: Number) -> None:
    """Python divides no number by 0, where torch has an infinity for its elements."""
    size = _size_in(active().value(y)) if isinstance(y, Tensor) else y
    if isinstance(size, Dim):
        active().require(NotEqual(size, Dim.of(0)), "the model divides by it")
    elif isinstance(y, Tensor):
        check_divisor(call, y, ())


def _require_sign(value: Value, what: str, *, positive: bool) -> None:
    """A number is not negative, or is `positive`: required of the sizes that it is made of."""
    size, number = _size_in(value), _number_in(value)
    if size is not None:
        active().require(size >= int(positive), f"the model takes {what}")
    elif value.node.op in _SAME_SIGN:
        for operand in value.node.operands:
            _require_sign(operand, what, positive=positive)
    elif number is None or number < 0 or (positive and number == 0):
        fix = "compute it from sizes by +, *, / and max, which keep it from being negative"
        raise active().refuse(f"{what} that may be negative", fix)


_SAME_SIGN = frozenset({op.add, op.mul, op.div, op.sqrt, op.maximum})
"""Ops whose result is positive if all operands are."""


# --- integers of floats ---------------------------------------------------------------------------


@entry("floor")
def floor(call: Call, x: Number) -> Dim:
    if (quotient := _quotient(x)) is not None:
        return quotient[0] // quotient[1]
    return _integer("math.floor", x, ew.floor)


@entry("ceil")
def ceil(call: Call, x: Number) -> Dim:
    if (quotient := _quotient(x)) is not None:
        return ceildiv(*quotient)
    return _integer("math.ceil", x, ew.ceil)


@entry("trunc")
def trunc(call: Call, x: Number) -> Dim:
    quotient = _quotient(x)
    if quotient is not None and active().proves(quotient[0] >= 0):
        return quotient[0] // quotient[1]
    return _integer("int", x, lambda number: number)  # casts cut fractions off


@entry("round")
def rounded(call: Call, x: Number, digits: int | None = None) -> Dim:
    """To the nearest integer, the even one of two."""
    if isinstance(x, (int, Dim)) and not digits:
        return Dim.of(x)
    if digits is not None:
        fix = "round(x), or round(x * 10) / 10"
        raise active().refuse(f"round(x, {digits}) of a float that depends on sizes", fix)
    return _integer("round", x, ew.round)


def _integer(name: str, x: Number, function: Callable[[Tensor], Tensor]) -> Dim:
    if isinstance(x, (int, Dim)):
        return Dim.of(x)
    number = asarray(x, f64)
    if not _is_exact(active().value(number)):
        fix = "compute it from sizes by +, -, *, // and %, or give None for that axis in axes="
        raise active().refuse(f"{name} of a power or logarithm of a size", fix)
    return integer(cast_to(function(number), i64))


def _quotient(x: Number) -> tuple[Dim, int] | None:
    """A size divided by a number of which floats below 2**52 have the integer part right."""
    if not isinstance(x, Tensor):
        return None
    node = active().value(x).node
    if node.op is not op.div and node.op is not op.mul:
        return None
    size, number = _size_in(node.operands[0]), _number_in(node.operands[1])
    if size is None or number is None or number <= 0:
        return None
    divisor = number if node.op is op.div else 1 / number
    exact = divisor.is_integer() and (node.op is op.div or _is_power_of_2(int(divisor)))
    return (size, int(divisor)) if exact else None


def _is_power_of_2(number: int) -> bool:
    return number & (number - 1) == 0


def _is_exact(value: Value) -> bool:
    if _size_in(value) is not None or _number_in(value) is not None:
        return True
    return value.node.op in _EXACT and all(map(_is_exact, value.node.operands))


_EXACT = frozenset(
    {op.add, op.sub, op.mul, op.div, op.sqrt, op.maximum, op.minimum, op.abs_, op.neg, op.floor}
)
"""Ops whose result in floats is the nearest one to the true result."""


def _size_in(value: Value) -> Dim | None:
    """The size that a number is, if it is one."""
    node = value.node
    while node.op is op.cast:
        node = node.operands[0].node
    return node.attrs_as(DimAttrs).value if node.op is dim_value else None


def _number_in(value: Value) -> float | None:
    if value.node.op is not constant:
        return None
    literal = value.node.attrs_as(ConstantAttrs).value
    if not isinstance(literal, TensorLiteral) or literal.shape:
        return None
    return float(literal.array)
