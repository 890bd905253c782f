"""Elementwise ops: unary, binary, compare, logic, select, cast, clamp.

Binary ops broadcast as NumPy does; operands have one dtype (frontends insert casts by
`ir/promote.py`). 16-bit floats are computed in f32 and rounded once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.opdef import AnyOp, Call, Decompose, OpDef, Signature, Trait, register
from anyshape.ir.types import (
    ALL_DTYPES,
    FLOATS,
    INTEGERS,
    NUMERIC,
    SIGNED,
    Array,
    DType,
    bool_,
    i32,
)
from anyshape.ops.compose import Expr
from anyshape.ops.rules import FixedDType, SameDType, broadcast_shape, check_allowed, same_shape

Formula = Callable[[Expr], Expr]
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
    *,
    cost: int = 1,
    formula: Formula | None = None,
    generated: bool = False,
    public: bool = False,
) -> OpDef[Attrs]:
    """One operand, same shape.

    Kernels compute the `formula`, in f32 where the operand is narrower, or what is `generated`
    under the op's name; without either, the op runs on the host, by `function`.
    """
    return register(
        OpDef(
            name,
            Signature(("x",)),
            Attrs,
            SameDType(allowed) if result is None else FixedDType(allowed, result),
            same_shape,
            reference=lambda call: widened(function, call),
            decompose=None if formula is None else decomposed(formula),
            traits=frozenset((Trait.ELEMENTWISE, *traits)),
            cost=cost,
            generated=generated,
            public=public,
        )
    )


def decomposed(formula: Formula) -> Decompose[Attrs]:
    """A formula of one operand as a decomposition."""

    def decompose(b: Builder, operands: Sequence[Value], attrs: Attrs, /) -> Value:
        x = Expr(b, operands[0])
        return formula(x.wide()).cast(x.dtype).value

    return decompose


def binary(
    name: str,
    function: BinaryFunction,
    allowed: tuple[DType, ...] = NUMERIC,
    traits: Iterable[Trait] = (),
    neutral: float | None = None,
    result: DType | None = None,
    *,
    cost: int = 1,
    generated: bool = False,
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
            ufunc=function if isinstance(function, np.ufunc) else None,
            cost=cost,
            generated=generated,
        )
    )


def ufunc_of(op: AnyOp) -> np.ufunc:
    """NumPy's function of two, which can also reduce, accumulate and update in place."""
    assert op.ufunc is not None, f"NumPy has no ufunc {op.name}"
    return op.ufunc


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _sigmoid(x: Array) -> Array:
    # exp of a non-positive number only: no overflow on either side.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _sinh(x: Expr) -> Expr:
    """Of |x|: from expm1, exact near 0; beyond 20 half of exp, as the square of a root that does
    not overflow before the result does. Closer to 0 than 1e-8 it is x, and -0 stays -0."""
    size = x.apply("abs")
    grown = size.apply("minimum", 20).apply("expm1")
    near = (grown + grown / (grown + 1)) * 0.5
    root = (size * 0.5).apply("exp")
    far = root * 0.5 * root
    result = size.apply("lt", 20).apply("select", near, far)
    signed = x.apply("lt", 0).apply("select", result.apply("neg"), result)
    return size.apply("lt", 1e-8).apply("select", x, signed)


def _cosh(x: Expr) -> Expr:
    root = (x.apply("abs") * 0.5).apply("exp")
    return root * 0.5 * root + x.lift(0.5) / (root * root)


def _floordiv(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y)


def _pair_dot(x: Array, y: Array) -> Array:
    """Each number stands for two signed ones of 16 bits: the sum of their products."""
    low = x.astype(np.int16).astype(np.int32) * y.astype(np.int16)
    return low + (x >> 16) * (y >> 16)


def _pow(x: Array, y: Array) -> Array:
    """Of as many exponents as there are results: for one that is broadcast and 0.5, NumPy takes the
    square root, which differs at -0 and -inf."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    exponents = np.array(np.broadcast_to(y, shape), order="C", ndmin=1)
    return np.power(x, exponents).reshape(shape)


RING = (Trait.COMMUTATIVE, Trait.ASSOCIATIVE)
LATTICE = (Trait.COMMUTATIVE, Trait.ASSOCIATIVE, Trait.IDEMPOTENT)

_unary = partial(unary, generated=True)
_function = partial(unary, public=True)  # of floats

neg = _unary("neg", np.negative, FLOATS + SIGNED, (Trait.INVOLUTION,))
abs_ = _unary("abs", np.abs, FLOATS + SIGNED, (Trait.IDEMPOTENT,))
sign = _unary("sign", np.sign, FLOATS + SIGNED, (Trait.IDEMPOTENT,))
floor = _unary("floor", np.floor, FLOATS, (Trait.IDEMPOTENT,))
ceil = _unary("ceil", np.ceil, FLOATS, (Trait.IDEMPOTENT,))
round_ = _unary("round", np.rint, FLOATS, (Trait.IDEMPOTENT,))
logical_not = _unary("logical_not", np.logical_not, (bool_,), (Trait.INVOLUTION,))
is_nan = _unary("is_nan", np.isnan, FLOATS, result=bool_)
is_inf = _unary("is_inf", np.isinf, FLOATS, result=bool_)

exp = _function("exp", np.exp, cost=12, generated=True)
expm1 = _function("expm1", np.expm1, cost=18, generated=True)
log = _function("log", np.log, cost=16, generated=True)
log1p = _function("log1p", np.log1p, cost=20, generated=True)
sqrt = _function("sqrt", np.sqrt, cost=6, generated=True)
rsqrt = _function("rsqrt", lambda x: 1 / np.sqrt(x), cost=8, generated=True)
sin = _function("sin", np.sin, cost=20, generated=True)
cos = _function("cos", np.cos, cost=20, generated=True)
tan = _function("tan", np.tan, cost=45, formula=lambda x: x.apply("sin") / x.apply("cos"))
sinh = _function("sinh", np.sinh, cost=50, formula=_sinh)
cosh = _function("cosh", np.cosh, cost=25, formula=_cosh)
tanh = _function("tanh", np.tanh, cost=20, generated=True)
erf = _function("erf", _erf, cost=20, generated=True)
sigmoid = _function("sigmoid", _sigmoid, cost=16, generated=True)

_binary = partial(binary, generated=True)

add = _binary("add", np.add, NUMERIC, RING, neutral=0)
sub = _binary("sub", np.subtract)
mul = _binary("mul", np.multiply, NUMERIC, RING, neutral=1)
div = _binary("div", np.divide, FLOATS, cost=5)
floordiv = _binary("floordiv", _floordiv, cost=20)
mod = _binary("mod", np.mod, cost=20)
pow_ = _binary("pow", _pow, FLOATS, cost=50)
maximum = _binary("maximum", np.maximum, NUMERIC, LATTICE, neutral=-math.inf)
minimum = _binary("minimum", np.minimum, NUMERIC, LATTICE, neutral=math.inf)
copysign = _binary("copysign", np.copysign, FLOATS)
logical_and = _binary("logical_and", np.logical_and, (bool_,), LATTICE, neutral=1)
logical_or = _binary("logical_or", np.logical_or, (bool_,), LATTICE, neutral=0)
bitwise_and = _binary("bitwise_and", np.bitwise_and, INTEGERS, LATTICE)
bitwise_or = _binary("bitwise_or", np.bitwise_or, INTEGERS, LATTICE, neutral=0)
bitwise_xor = _binary("bitwise_xor", np.bitwise_xor, INTEGERS, RING, neutral=0)
left_shift = _binary("left_shift", np.left_shift, INTEGERS)
right_shift = _binary("right_shift", np.right_shift, INTEGERS)

pair_dot = _binary("pair_dot", _pair_dot, (i32,), (Trait.COMMUTATIVE,))

eq = _binary("eq", np.equal, ALL_DTYPES, (Trait.COMMUTATIVE,), result=bool_)
ne = _binary("ne", np.not_equal, ALL_DTYPES, (Trait.COMMUTATIVE,), result=bool_)
lt = _binary("lt", np.less, NUMERIC, result=bool_)
le = _binary("le", np.less_equal, NUMERIC, result=bool_)
gt = _binary("gt", np.greater, NUMERIC, result=bool_)
ge = _binary("ge", np.greater_equal, NUMERIC, result=bool_)


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
        generated=True,
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
        generated=True,
    )
)
