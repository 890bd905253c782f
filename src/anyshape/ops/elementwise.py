"""Elementwise ops: unary, binary, compare, logic, select, cast, clamp.

Binary ops broadcast as NumPy does; operands have one dtype (frontends insert casts by
`ir/promote.py`). 16-bit floats are computed in f32 and rounded once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import (
    ALL_DTYPES,
    FLOATS,
    INTEGERS,
    NUMERIC,
    SIGNED,
    Array,
    DType,
    bool_,
)
from anyshape.ops.rules import FixedDType, SameDType, broadcast_shape, check_allowed, same_shape

UnaryFunction = Callable[[Array], Any]
BinaryFunction = Callable[[Array, Array], Any]


def widened(function: Callable[..., Any], call: Call[Attrs]) -> Array:
    """`function` on the operands, with 16-bit floats computed in f32.

    Operands are dense: NumPy adds up in another order where strides differ, and a reference gives
    the same bits for the same values.
    """
    narrow = call.args[0].dtype.itemsize == 2 and call.args[0].dtype.kind not in "iu"
    dtype = np.dtype(np.float32) if narrow else None
    args = [np.asarray(array, dtype, order="C") for array in call.args]
    with np.errstate(all="ignore"):
        return np.asarray(function(*args)).astype(call.result.dtype.numpy)


def unary(
    name: str,
    function: UnaryFunction,
    allowed: tuple[DType, ...] = FLOATS,
    traits: Iterable[Trait] = (),
    result: DType | None = None,
) -> OpDef[Attrs]:
    """One operand, same shape."""
    return register(
        OpDef(
            name,
            Signature(("x",)),
            Attrs,
            SameDType(allowed) if result is None else FixedDType(allowed, result),
            same_shape,
            reference=lambda call: widened(function, call),
            traits=frozenset((Trait.ELEMENTWISE, *traits)),
        )
    )


def binary(
    name: str,
    function: BinaryFunction,
    allowed: tuple[DType, ...] = NUMERIC,
    traits: Iterable[Trait] = (),
    neutral: float | None = None,
    result: DType | None = None,
) -> OpDef[Attrs]:
    """Two operands that broadcast."""
    return register(
        OpDef(
            name,
            Signature(("x", "y")),
            Attrs,
            SameDType(allowed) if result is None else FixedDType(allowed, result),
            broadcast_shape,
            reference=lambda call: widened(function, call),
            traits=frozenset((Trait.ELEMENTWISE, *traits)),
            neutral=neutral,
        )
    )


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _sigmoid(x: Array) -> Array:
    # exp of a non-positive number only: no overflow on either side.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _floordiv(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y)


RING = (Trait.COMMUTATIVE, Trait.ASSOCIATIVE)
LATTICE = (Trait.COMMUTATIVE, Trait.ASSOCIATIVE, Trait.IDEMPOTENT)

neg = unary("neg", np.negative, FLOATS + SIGNED, (Trait.INVOLUTION,))
abs_ = unary("abs", np.abs, FLOATS + SIGNED, (Trait.IDEMPOTENT,))
sign = unary("sign", np.sign, FLOATS + SIGNED, (Trait.IDEMPOTENT,))
floor = unary("floor", np.floor, FLOATS, (Trait.IDEMPOTENT,))
ceil = unary("ceil", np.ceil, FLOATS, (Trait.IDEMPOTENT,))
round_ = unary("round", np.rint, FLOATS, (Trait.IDEMPOTENT,))
exp = unary("exp", np.exp)
expm1 = unary("expm1", np.expm1)
log = unary("log", np.log)
log1p = unary("log1p", np.log1p)
sqrt = unary("sqrt", np.sqrt)
rsqrt = unary("rsqrt", lambda x: 1 / np.sqrt(x))
sin = unary("sin", np.sin)
cos = unary("cos", np.cos)
tanh = unary("tanh", np.tanh)
erf = unary("erf", _erf)
sigmoid = unary("sigmoid", _sigmoid)
logical_not = unary("logical_not", np.logical_not, (bool_,), (Trait.INVOLUTION,))
is_nan = unary("is_nan", np.isnan, FLOATS, result=bool_)
is_inf = unary("is_inf", np.isinf, FLOATS, result=bool_)

add = binary("add", np.add, NUMERIC, RING, neutral=0)
sub = binary("sub", np.subtract)
mul = binary("mul", np.multiply, NUMERIC, RING, neutral=1)
div = binary("div", np.divide, FLOATS)
floordiv = binary("floordiv", _floordiv)
mod = binary("mod", np.mod)
pow_ = binary("pow", np.power, FLOATS)
maximum = binary("maximum", np.maximum, NUMERIC, LATTICE)
minimum = binary("minimum", np.minimum, NUMERIC, LATTICE)
logical_and = binary("logical_and", np.logical_and, (bool_,), LATTICE, neutral=1)
logical_or = binary("logical_or", np.logical_or, (bool_,), LATTICE, neutral=0)
bitwise_and = binary("bitwise_and", np.bitwise_and, INTEGERS, LATTICE)
bitwise_or = binary("bitwise_or", np.bitwise_or, INTEGERS, LATTICE, neutral=0)
bitwise_xor = binary("bitwise_xor", np.bitwise_xor, INTEGERS, RING, neutral=0)

eq = binary("eq", np.equal, ALL_DTYPES, (Trait.COMMUTATIVE,), result=bool_)
ne = binary("ne", np.not_equal, ALL_DTYPES, (Trait.COMMUTATIVE,), result=bool_)
lt = binary("lt", np.less, NUMERIC, result=bool_)
le = binary("le", np.less_equal, NUMERIC, result=bool_)
gt = binary("gt", np.greater, NUMERIC, result=bool_)
ge = binary("ge", np.greater_equal, NUMERIC, result=bool_)


# --- select, cast ---------------------------------------------------------------------------------


def _select_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    condition, on_true, on_false = dtypes
    check_allowed(f"{op} (condition)", condition, (bool_,))
    if on_true != on_false:
        raise DTypeError(op, "both branches of one dtype", f"{on_true} and {on_false}")
    return (on_true,)


select = register(
    OpDef(
        "select",
        Signature(("condition", "on_true", "on_false")),
        Attrs,
        _select_dtype,
        broadcast_shape,
        reference=lambda call: np.where(*call.args),
        traits=frozenset({Trait.ELEMENTWISE}),
    )
)


@dataclass(frozen=True)
class CastAttrs(Attrs):
    """The dtype to convert to. Float to integer truncates; NaN and overflow are unspecified."""

    to: DType


def _cast(call: Call[CastAttrs]) -> Array:
    with np.errstate(all="ignore"):
        return call.args[0].astype(call.attrs.to.numpy)


cast = register(
    OpDef(
        "cast",
        Signature(("x",)),
        CastAttrs,
        lambda op, dtypes, attrs: (attrs.to,),
        same_shape,
        reference=_cast,
        traits=frozenset({Trait.ELEMENTWISE}),
    )
)
