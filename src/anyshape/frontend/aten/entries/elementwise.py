"""Elementwise ops. Operands are brought into the dtype that torch computes in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError, as_dtype, entry
from anyshape.frontend.aten.value_checks import check_divisor
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.compound import relu
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.functions import FUNCTIONS, expm1, log, rsqrt, sqrt
from anyshape.frontend.builder.movement import broadcast_to
from anyshape.frontend.builder.quotients import fmod, trunc, trunc_divide
from anyshape.frontend.builder.source import full_like
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_, f16, f32, u8

Function = Callable[..., Tensor]


# --- one operand ----------------------------------------------------------------------------------


def _unary(function: Function) -> Function:
    def apply(call: Call, x: Tensor) -> Tensor:
        return function(call.operand(x))

    return apply


def _test(function: Function) -> Function:
    """A question about numbers; integers are asked as floats."""

    def apply(call: Call, x: Tensor) -> Tensor:
        return function(x if x.dtype.is_float else cast_to(x, f32))

    return apply


def _log2(x: Tensor) -> Tensor:
    return log(x) * (1 / math.log(2))


def _log10(x: Tensor) -> Tensor:
    return log(x) * (1 / math.log(10))


def _negated(x: Tensor) -> Tensor:
    """Bytes wrap."""
    return asarray(0, x.dtype) - x if x.dtype == u8 else ew.negative(x)


def _sign(x: Tensor) -> Tensor:
    """0 for NaN, as torch has it."""
    if x.dtype == bool_:
        return x
    if x.dtype == u8:
        return cast_to(x > 0, u8)
    return cast_to(x > 0, x.dtype) - cast_to(x < 0, x.dtype) if x.dtype.is_float else ew.sign(x)


_UNARY: dict[str, Function] = {
    **FUNCTIONS,
    "abs": ew.abs, "ceil": ew.ceil, "floor": ew.floor, "log2": _log2, "log10": _log10,
    "neg": _negated, "reciprocal": ew.reciprocal, "round": ew.round, "sign": _sign,
    "square": ew.square, "trunc": trunc, "relu": relu, "bitwise_not": ew.bitwise_not,
}  # fmt: skip

for _name, _function in _UNARY.items():
    TABLE[f"aten.{_name}.default"] = _unary(_function)

TABLE["aten.isnan.default"] = _test(ew.isnan)
TABLE["aten.isinf.default"] = _test(ew.isinf)


@entry("aten.logical_not.default")
def logical_not(call: Call, x: Tensor) -> Tensor:
    return ew.logical_not(x)


# --- two operands ---------------------------------------------------------------------------------


def _arithmetic(function: Function) -> Function:
    def apply(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
        return function(call.operand(x), call.operand(y))

    return apply


def _division(function: Function) -> Function:
    """Integers have no quotient by 0."""

    def apply(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
        left, right = call.operand(x), call.operand(y)
        result = function(left, right)
        _check_divisor(call, right, result)
        return result

    return apply


def _check_divisor(call: Call, divisor: Tensor, result: Tensor) -> None:
    if not divisor.dtype.is_float:
        check_divisor(call, divisor, result.shape)


def _multiplied(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
    if call.dtype == bool_:
        return ew.logical_and(call.operand(x), call.operand(y))
    return call.operand(ew.multiply(*call.factors(x, y)))


def _comparison(function: Function) -> Function:
    """False is below True."""

    def apply(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
        dtype = u8 if call.common == bool_ else call.common
        return function(as_dtype(x, dtype), as_dtype(y, dtype))

    return apply


def _extremum(function: Function, of_truths: Function) -> Function:
    def apply(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
        return (of_truths if call.dtype == bool_ else function)(call.operand(x), call.operand(y))

    return apply


maximum = _extremum(ew.maximum, ew.logical_or)
minimum = _extremum(ew.minimum, ew.logical_and)


def _logic(function: Function) -> Function:
    def apply(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
        return function(x, y)

    return apply


def _add(call: Call, x: ArrayLike, y: ArrayLike, alpha: ArrayLike = 1) -> Tensor:
    if call.dtype == bool_:  # torch adds truths so
        return ew.logical_or(call.operand(x), ew.logical_and(call.operand(y), bool(alpha)))
    return call.operand(x) + _scaled(call.operand(y), alpha)


def _sub(call: Call, x: ArrayLike, y: ArrayLike, alpha: ArrayLike = 1) -> Tensor:
    return call.operand(x) - _scaled(call.operand(y), alpha)


def _rsub(call: Call, x: ArrayLike, y: ArrayLike, alpha: ArrayLike = 1) -> Tensor:
    return call.operand(y) - _scaled(call.operand(x), alpha)


def _scaled(y: Tensor, alpha: ArrayLike) -> Tensor:
    return y if isinstance(alpha, (int, float)) and alpha == 1 else y * as_dtype(alpha, y.dtype)


def _divided(call: Call, x: ArrayLike, y: ArrayLike, rounding_mode: str | None = None) -> Tensor:
    left, right = call.factors(x, y)
    if rounding_mode is None:
        return call.operand(ew.divide(left, right))
    result = (ew.floor_divide if rounding_mode == "floor" else trunc_divide)(left, right)
    _check_divisor(call, right, result)
    return call.operand(result)


def _power(call: Call, x: ArrayLike, y: ArrayLike) -> Tensor:
    if isinstance(y, bool) and isinstance(x, Tensor) and x.dtype == bool_:
        # torch's kernel gives truths, and says of them that they are integers
        raise active().refuse(f"truths to the power of {y}", f"write int({y}), or the result")
    if isinstance(y, (int, float)) and y in (2, 3):  # as torch does it
        base = call.operand(x)
        return ew.square(base) if y == 2 else ew.square(base) * base
    if isinstance(y, float) and abs(y) == 0.5 and call.dtype != f16:
        # As torch does it, but for f16: a root of -inf is NaN, a power is infinite.
        base = call.operand(x)
        return sqrt(base) if y > 0 else rsqrt(base)
    if not call.dtype.is_float:
        if not isinstance(y, int) or y < 0 or isinstance(x, (int, float)):
            raise NoEntryError
        return ew.power(call.operand(x), y)
    return ew.power(call.operand(x), call.operand(y))


_BINARY: dict[str, Function] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "div": _divided, "true_divide": _divided,
    "mul": _multiplied, "remainder": _division(ew.mod), "fmod": _division(fmod),
    "bitwise_and": _arithmetic(ew.bitwise_and), "bitwise_or": _arithmetic(ew.bitwise_or),
    "bitwise_xor": _arithmetic(ew.bitwise_xor),
    "eq": _comparison(ew.equal), "ne": _comparison(ew.not_equal), "lt": _comparison(ew.less),
    "le": _comparison(ew.less_equal), "gt": _comparison(ew.greater),
    "ge": _comparison(ew.greater_equal),
}  # fmt: skip

for _name, _function in _BINARY.items():
    TABLE[f"aten.{_name}.Tensor"] = _function
    TABLE[f"aten.{_name}.Scalar"] = _function
for _name in ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"):
    TABLE[f"aten.{_name}"] = _power
for _name in ("div.Tensor_mode", "div.Scalar_mode"):
    TABLE[f"aten.{_name}"] = _divided
for _name, _function in {
    "maximum": maximum, "minimum": minimum,
    "logical_and": _logic(ew.logical_and), "logical_or": _logic(ew.logical_or),
    "logical_xor": _logic(ew.logical_xor), "floor_divide": _division(ew.floor_divide),
}.items():  # fmt: skip
    TABLE[f"aten.{_name}.default"] = _function


# --- selection and conversion ---------------------------------------------------------------------


@entry("aten.where.self")
def where(call: Call, condition: Tensor, x: ArrayLike, y: ArrayLike) -> Tensor:
    return ew.where(condition, call.operand(x), call.operand(y))


@entry("aten.clamp.default", "aten.clamp.Tensor")
def clamp(
    call: Call, x: Tensor, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Tensor:
    bounds = [None if bound is None else call.held(bound) for bound in (min, max)]
    if call.dtype == bool_:
        return _clamped_truths(call.operand(x), *bounds)
    return ew.clip(call.operand(x), *bounds)


def _clamped_truths(x: Tensor, least: Tensor | None, greatest: Tensor | None) -> Tensor:
    raised = x if least is None else ew.logical_or(x, least)
    return raised if greatest is None else ew.logical_and(raised, greatest)


@entry("aten.hardtanh.default")
def hardtanh(call: Call, x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    return ew.clip(x, as_dtype(min_val, x.dtype), as_dtype(max_val, x.dtype))


@entry("aten.leaky_relu.default")
def leaky_relu(call: Call, x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return ew.where(x > 0, x, x * negative_slope)


@entry("aten.elu.default")
def elu(
    call: Call, x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Tensor:
    below = expm1(x * input_scale) * alpha
    return ew.where(x > 0, x, below) * scale


@entry("aten._to_copy.default", "prims.convert_element_type.default")
def to_copy(call: Call, x: Tensor, *_: Any, **__: Any) -> Tensor:
    """Another dtype; devices and layouts are none of ours."""
    return call.operand(x)


@entry(
    "aten.clone.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.lift_fresh_copy.default",
)
def same(call: Call, x: Tensor, **_: Any) -> Tensor:
    return x


@entry("aten.copy.default")
def copy(call: Call, target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """The source in the target's dtype and shape."""
    return broadcast_to(call.operand(source), target.shape)


@entry("aten.fill.Scalar")
def fill(call: Call, x: Tensor, value: float) -> Tensor:
    return full_like(x, call.held(value))
