"""Elementwise functions, named as in NumPy. Operands broadcast and are promoted (`convert`).

Functions of floats that are one op each, such as `exp`, are in `functions.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.convert import (
    ArrayLike,
    as_float,
    as_tensor,
    asarray,
    classify,
    floating,
    promoted,
)
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


# --- arithmetic -----------------------------------------------------------------------------------


def _arithmetic(op: str, x: ArrayLike, y: ArrayLike) -> Tensor:
    return active().emit(op, *promoted(x, y))


def add(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("add", x, y)


def subtract(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("sub", x, y)


def multiply(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("mul", x, y)


def divide(x: ArrayLike, y: ArrayLike) -> Tensor:
    """True division; integers become f32."""
    return active().emit("div", *floating(x, y))


def floor_divide(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("floordiv", x, y)


def mod(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The remainder with the sign of the divisor, as Python's `%`."""
    return _arithmetic("mod", x, y)


def power(x: ArrayLike, y: ArrayLike) -> Tensor:
    """`x ** y`. Integers take a constant exponent that is not negative."""
    exponent = classify(y)
    base, _ = promoted(x, y)
    if base.dtype.is_float:
        return active().emit("pow", base, as_tensor(exponent, base.dtype))
    if not isinstance(exponent, int) or exponent < 0:
        raise active().refuse(
            f"{base.dtype} can only be raised to a constant integer that is not negative",
            "cast the base to a float type, for example x.astype(ash.f32)",
        )
    return _integer_power(base, exponent)


def _integer_power(base: Tensor, exponent: int) -> Tensor:
    """Square and multiply; the empty product is ones of the same shape."""
    result = base * 0 + 1 if exponent == 0 else +base
    for digit in f"{exponent:b}"[1:]:
        result = result * result
        result = result * base if digit == "1" else result
    return result


def maximum(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("maximum", x, y)


def minimum(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("minimum", x, y)


def negative(x: ArrayLike) -> Tensor:
    return active().emit("neg", asarray(x))


def abs(x: ArrayLike) -> Tensor:
    operand = asarray(x)
    return +operand if operand.dtype.kind in ("uint", "bool") else active().emit("abs", operand)


def sign(x: ArrayLike) -> Tensor:
    return active().emit("sign", asarray(x))


def square(x: ArrayLike) -> Tensor:
    return multiply(x, x)


def reciprocal(x: ArrayLike) -> Tensor:
    return divide(1, x)


def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor:
    """`x` within the bounds that are given."""
    result = +asarray(x)
    if min is not None:
        result = maximum(result, min)
    return result if max is None else minimum(result, max)


# --- rounding and classes of numbers --------------------------------------------------------------


def _rounding(op: str, x: ArrayLike) -> Tensor:
    operand = asarray(x)
    return active().emit(op, operand) if operand.dtype.is_float else +operand


def floor(x: ArrayLike) -> Tensor:
    return _rounding("floor", x)


def ceil(x: ArrayLike) -> Tensor:
    return _rounding("ceil", x)


def round(x: ArrayLike) -> Tensor:
    """To the nearest integer, halves to the even one."""
    return _rounding("round", x)


def isnan(x: ArrayLike) -> Tensor:
    return active().emit("is_nan", as_float(x))


def isinf(x: ArrayLike) -> Tensor:
    return active().emit("is_inf", as_float(x))


def isfinite(x: ArrayLike) -> Tensor:
    return logical_not(logical_or(isnan(x), isinf(x)))


# --- comparisons ----------------------------------------------------------------------------------


def equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("eq", x, y)


def not_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("ne", x, y)


def less(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("lt", x, y)


def less_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("le", x, y)


def greater(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("gt", x, y)


def greater_equal(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _arithmetic("ge", x, y)


# --- logic ----------------------------------------------------------------------------------------


def as_bool(x: ArrayLike) -> Tensor:
    """True where `x` is not zero."""
    operand = asarray(x)
    return operand if operand.dtype == bool_ else not_equal(operand, 0)


def logical_not(x: ArrayLike) -> Tensor:
    return active().emit("logical_not", as_bool(x))


def logical_and(x: ArrayLike, y: ArrayLike) -> Tensor:
    return active().emit("logical_and", as_bool(x), as_bool(y))


def logical_or(x: ArrayLike, y: ArrayLike) -> Tensor:
    return active().emit("logical_or", as_bool(x), as_bool(y))


def logical_xor(x: ArrayLike, y: ArrayLike) -> Tensor:
    return active().emit("ne", as_bool(x), as_bool(y))


def _bitwise(on_bools: str, on_integers: str, x: ArrayLike, y: ArrayLike) -> Tensor:
    left, right = promoted(x, y)
    return active().emit(on_bools if left.dtype == bool_ else on_integers, left, right)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _bitwise("logical_and", "bitwise_and", x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _bitwise("logical_or", "bitwise_or", x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Tensor:
    return _bitwise("ne", "bitwise_xor", x, y)


def bitwise_not(x: ArrayLike) -> Tensor:
    """Every bit flipped, by xor with ones."""
    operand = asarray(x)
    if operand.dtype == bool_:
        return logical_not(operand)
    ones = 2**operand.dtype.bits - 1 if operand.dtype.kind == "uint" else -1
    return bitwise_xor(operand, ones)


def left_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """`x << y`; 0 if no bit is left, or if `y` is negative."""
    return _arithmetic("left_shift", x, y)


def right_shift(x: ArrayLike, y: ArrayLike) -> Tensor:
    """`x >> y`; nothing but the sign is left beyond the last bit, or if `y` is negative."""
    return _arithmetic("right_shift", x, y)


# --- selection ------------------------------------------------------------------------------------


def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Tensor:
    """Elements of `x` where the condition is true, of `y` elsewhere."""
    return active().emit("select", as_bool(condition), *promoted(x, y))
