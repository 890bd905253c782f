"""Short names for loops and scalars, for kernels that are written by hand."""

from __future__ import annotations

from anyshape.ir.types import DType, bool_
from anyshape.loop import Apply, For, Literal, Scalar, Statement
from anyshape.sym import Dim, Symbol


def apply(op: str, *args: Scalar, dtype: DType | None = None) -> Apply:
    """An op whose result has the dtype of its last operand, unless said otherwise."""
    return Apply(op, args, dtype or args[-1].dtype)


def is_equal(x: Scalar, value: float) -> Apply:
    return apply("eq", x, Literal.of(value, x.dtype), dtype=bool_)


def cast(value: Scalar, dtype: DType) -> Scalar:
    return value if value.dtype == dtype else apply("cast", value, dtype=dtype)


def each(index: Symbol, extent: Dim, *body: Statement) -> For:
    """One iteration after the other."""
    return For(index, extent, body)


def lanes(index: Symbol, extent: Dim, *body: Statement) -> For:
    """Several iterations at once."""
    return For(index, extent, body, vector=True)
