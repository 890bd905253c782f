"""What the elementwise functions mean, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import NUMPY, Array, NoMeaning, is_float
from tests.fuzz.against_numpy.meaning.operands import Number, Operand, floating, strong, together
from tests.fuzz.against_numpy.noise import (
    FUNCTION_ULPS,
    Noisy,
    broadcast,
    cast,
    compared,
    constant,
    mapped,
    stepped,
    widened,
)
from tests.fuzz.against_numpy.spellings import PUBLIC

Function = Callable[..., Array]


def arithmetic(function: Function) -> Callable[..., Noisy]:
    """Operands meet in one type, which the result has."""

    def meaning(x: Operand, y: Operand) -> Noisy:
        left, right = together(x, y)
        if left.dtype == "bool":
            raise NoMeaning("arithmetic of bools")
        return mapped(function, left, right)

    return meaning


def comparison(function: Function) -> Callable[..., Noisy]:
    return lambda x, y: compared(function, *together(x, y))


def as_bool(x: Operand) -> Noisy:
    return cast(strong(x), "bool")


def logic(function: Function) -> Callable[..., Noisy]:
    return lambda *operands: mapped(function, *map(as_bool, operands), dtype="bool")


def bitwise(function: Function) -> Callable[..., Noisy]:
    return lambda *operands: mapped(function, *together(*operands))


def shift(function: Function, is_left: bool) -> Callable[..., Noisy]:
    """Beyond the bits of a number, and by negative amounts, nothing but a sign is left."""

    def shifted(x: Array, y: Array) -> Array:
        bits = x.dtype.itemsize * 8
        inside = (y >= 0) & (y < bits)
        rest = np.zeros_like(x) if is_left else np.where(x < 0, -1, 0).astype(x.dtype)
        return np.where(inside, function(x, np.where(inside, y, 0).astype(x.dtype)), rest)

    return bitwise(shifted)


def divide(x: Operand, y: Operand) -> Noisy:
    return mapped(np.divide, *floating(x, y))


def power(x: Operand, y: Number | Noisy) -> Noisy:
    base, exponent = together(x, y)
    if is_float(base.dtype):
        result = mapped(np.power, base, exponent, ulps=FUNCTION_ULPS, keeps=False)
        # A negative number has powers with whole exponents only: noise decides which that is.
        below, moved = (np.broadcast_to(a, result.shape) for a in (base.value < 0, exponent.error))
        return Noisy(
            result.dtype, result.value, np.where(below & (moved > 0), np.inf, result.error)
        )
    if not isinstance(y, int) or y < 0 or base.dtype == "bool":
        raise NoMeaning("powers of integers have a constant exponent")
    return mapped(lambda v: _integer_power(v, y), base)


def _integer_power(value: Array, exponent: int) -> Array:
    result = np.ones_like(value)
    for _ in range(exponent):
        result = result * value
    return result


def function_of_floats(function: Function, keeps: bool = False) -> Callable[[Operand], Noisy]:
    """Computed in f32 where the type is narrower."""

    def meaning(x: Operand) -> Noisy:
        operand = floating(x)[0]
        ulps = 1 if keeps else FUNCTION_ULPS
        return cast(mapped(function, widened(operand), ulps=ulps, keeps=keeps), operand.dtype)

    return meaning


def erf_values(x: Array) -> Array:
    return np.vectorize(lambda v: math.erf(float(v)), otypes=[np.longdouble])(x)


def sigmoid_values(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def rsqrt_values(x: Array) -> Array:
    return 1 / np.sqrt(x)


def rounding(function: Function) -> Callable[[Operand], Noisy]:
    def meaning(x: Operand) -> Noisy:
        operand = strong(x)
        return stepped(function, operand) if is_float(operand.dtype) else operand

    return meaning


def sign(x: Operand) -> Noisy:
    operand = strong(x)
    return stepped(np.sign, operand) if is_float(operand.dtype) else mapped(np.sign, operand)


def absolute(x: Operand) -> Noisy:
    operand = strong(x)
    return operand if operand.dtype == "bool" else mapped(np.abs, operand)


def classified(function: Function) -> Callable[[Operand], Noisy]:
    return lambda x: mapped(function, floating(x)[0], dtype="bool")


def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> Noisy:
    result = strong(x)
    if low is not None:
        result = arithmetic(np.maximum)(result, low)
    return result if high is None else arithmetic(np.minimum)(result, high)


def square(x: Operand) -> Noisy:
    """Of one operand: near 0, two that move one at a time would leave the error times 0."""
    operand = strong(x)
    if operand.dtype == "bool":
        raise NoMeaning("arithmetic of bools")
    return mapped(np.square, operand)


def reciprocal(x: Operand) -> Noisy:
    return divide(1, x)


def where(condition: Operand, x: Operand, y: Operand) -> Noisy:
    chosen, left, right = broadcast(as_bool(condition), *together(x, y))
    value = np.where(chosen.value, left.value, right.value)
    error = np.where(chosen.value, left.error, right.error)
    return Noisy(left.dtype, value, np.where(np.isinf(chosen.error), np.inf, error))


def astype(x: Operand, dtype: str) -> Noisy:
    return cast(strong(x), dtype)


def mod(x: Operand, y: Operand) -> Noisy:
    """Not known where the error of the dividend is near the divisor: it has many periods then."""
    left, right = together(x, y)
    result = arithmetic(np.mod)(left, right)
    if not is_float(left.dtype):
        return result
    with np.errstate(all="ignore"):
        times = np.abs(left.value / right.value) + 1
        moved = left.error + times * right.error
        many = (moved > 0) & ~(moved < np.abs(right.value) / 4)
    return Noisy(result.dtype, result.value, np.where(many, np.inf, result.error))


def wave(function: Function) -> Callable[[Operand], Noisy]:
    def meaning(x: Operand) -> Noisy:
        result = function_of_floats(function)(x)
        far = floating(x)[0].error > 0.2  # integers are rounded, too, when they become floats
        return Noisy(result.dtype, result.value, np.where(far, np.inf, result.error))

    return meaning


def relu(x: Operand) -> Noisy:
    operand = strong(x)
    return arithmetic(np.maximum)(operand, constant(0, operand.dtype))


def gelu(x: Operand, approximate: str = "none") -> Noisy:
    operand = floating(x)[0]
    function = _gelu_tanh if approximate == "tanh" else _gelu_erf
    # The sum 1 + erf cancels where x is far below zero: the error is that of the sum.
    wide_ = widened(operand)
    result = mapped(function, wide_, ulps=FUNCTION_ULPS, keeps=False)
    cancelled = np.abs(wide_.value) * 4 * float(np.finfo(NUMPY[wide_.dtype]).eps)
    error = np.where(np.isfinite(result.value), result.error + cancelled, result.error)
    return cast(Noisy(wide_.dtype, result.value, error), operand.dtype)


def _gelu_erf(x: Array) -> Array:
    return x * 0.5 * (1 + erf_values(x * np.sqrt(np.longdouble(0.5))))


def _gelu_tanh(x: Array) -> Array:
    return x * 0.5 * (1 + np.tanh((x + 0.044715 * x * x * x) * np.sqrt(2 / np.longdouble(np.pi))))


def silu(x: Operand) -> Noisy:
    operand = floating(x)[0]
    wide_ = widened(operand)
    gate = mapped(sigmoid_values, wide_, ulps=FUNCTION_ULPS, keeps=False)
    return cast(mapped(np.multiply, wide_, gate), operand.dtype)


def negative(x: Operand) -> Noisy:
    return mapped(np.negative, strong(x))


FUNCTIONS: dict[str, Callable[..., Noisy]] = {
    **{name: function_of_floats(getattr(np, name)) for name in PUBLIC if hasattr(np, name)},
    "add": arithmetic(np.add),
    "subtract": arithmetic(np.subtract),
    "multiply": arithmetic(np.multiply),
    "divide": divide,
    "floor_divide": arithmetic(np.floor_divide),
    "mod": mod,
    "maximum": arithmetic(np.maximum),
    "minimum": arithmetic(np.minimum),
    "power": power,
    "equal": comparison(np.equal),
    "not_equal": comparison(np.not_equal),
    "less": comparison(np.less),
    "less_equal": comparison(np.less_equal),
    "greater": comparison(np.greater),
    "greater_equal": comparison(np.greater_equal),
    "logical_and": logic(np.logical_and),
    "logical_or": logic(np.logical_or),
    "logical_xor": logic(np.logical_xor),
    "logical_not": logic(np.logical_not),
    "bitwise_and": bitwise(np.bitwise_and),
    "bitwise_or": bitwise(np.bitwise_or),
    "bitwise_xor": bitwise(np.bitwise_xor),
    "bitwise_not": bitwise(np.invert),
    "left_shift": shift(np.left_shift, is_left=True),
    "right_shift": shift(np.right_shift, is_left=False),
    "negative": negative,
    "abs": absolute,
    "sign": sign,
    "square": square,
    "reciprocal": reciprocal,
    "clip": clip,
    "sqrt": function_of_floats(np.sqrt, keeps=True),
    "rsqrt": function_of_floats(rsqrt_values),
    "sin": wave(np.sin),
    "cos": wave(np.cos),
    "tan": wave(np.tan),
    "erf": function_of_floats(erf_values),
    "sigmoid": function_of_floats(sigmoid_values),
    "floor": rounding(np.floor),
    "ceil": rounding(np.ceil),
    "round": rounding(np.rint),
    "isnan": classified(np.isnan),
    "isinf": classified(np.isinf),
    "isfinite": classified(np.isfinite),
    "where": where,
    "astype": astype,
    "relu": relu,
    "gelu": gelu,
    "silu": silu,
}
