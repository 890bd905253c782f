"""Sizes as values become size expressions, which the facts can reason about.

Arithmetic on `dim_value`s goes back into the dim. Values are i64 and wrap; sizes do not. A size
that does not fit 64 bits cannot occur, so the two agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Value
from anyshape.ir.rewrite import Match, Refusal, Rule, Var, attr, op
from anyshape.ir.types import i64
from anyshape.ops.source import ConstantAttrs, DimAttrs
from anyshape.sym import Dim, NotEqual, maximum, minimum

x = Var("x")

# --- dim_of, shape_of, dim_value ------------------------------------------------------------------


def known_dim(found: Match, builder: Builder) -> Value:
    axis = cast(int, found.attrs["axis"])
    return builder.emit("dim_value", value=found["x"].tensor.shape[axis])


def known_shape(found: Match, builder: Builder) -> Value:
    """A constant where the shape is one, else its dims side by side."""
    type_ = found["x"].tensor
    if type_.is_concrete:
        return builder.constant(np.array([int(dim) for dim in type_.shape], np.int64))
    parts = [builder.emit("dim_value", value=dim) for dim in type_.shape]
    rows = [builder.emit("reshape", part, shape=(1,)) for part in parts]
    return builder.emit("concat", *rows, axis=0)


def constant_size(found: Match, builder: Builder) -> Value | Refusal:
    dim = cast(Dim, found.attrs["value"])
    if dim.constant is None:
        return Refusal(f"{dim} is not constant")
    return builder.constant(np.array(dim.constant, np.int64))


# --- arithmetic on sizes --------------------------------------------------------------------------


def size_of(value: Value) -> Dim | None:
    """The dim that an i64 scalar is known to be."""
    attrs = value.node.attrs
    if isinstance(attrs, DimAttrs):
        return attrs.value
    if isinstance(attrs, ConstantAttrs) and isinstance(attrs.value, TensorLiteral):
        literal = attrs.value
        return Dim.of(int(literal.array)) if (literal.dtype, literal.shape) == (i64, ()) else None
    return None


def is_size(value: Value) -> bool:
    return size_of(value) is not None


a, b = Var("a", is_size), Var("b", is_size)


def divisor_is_not_zero(found: Match) -> Refusal | None:
    divisor = size_of(found["b"])
    assert divisor is not None
    if found.proves(NotEqual(divisor, Dim.of(0))):
        return None
    return Refusal(f"{divisor} may be 0")


_ON_DIMS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "add": Dim.__add__,
    "sub": Dim.__sub__,
    "mul": Dim.__mul__,
    "maximum": maximum,
    "minimum": minimum,
    "floordiv": Dim.__floordiv__,
    "mod": Dim.__mod__,
}


def combined_size(found: Match, builder: Builder) -> Value | Refusal:
    left, right = size_of(found["a"]), size_of(found["b"])
    assert left is not None
    assert right is not None
    if left.is_constant and right.is_constant:
        return Refusal("both are constants, which folding evaluates")
    return builder.emit("dim_value", value=_ON_DIMS[found.root.node.op.name](left, right))


def _on_sizes(name: str) -> Rule:
    divides = (divisor_is_not_zero,) if name in ("floordiv", "mod") else ()
    law = f"{name}(dim_value(a), dim_value(b)) -> dim_value({name}(a, b))"
    return Rule(f"{name}-of-sizes", law, op(name, a, b).in_order(), combined_size, divides)


RULES: tuple[Rule, ...] = (
    Rule(
        "dim-of",
        "dim_of(x, i) -> dim_value(shape[i])",
        op("dim_of", x, axis=attr("axis")),
        known_dim,
    ),
    Rule(
        "shape-of",
        "shape_of(x) -> concat(dim_value(shape[0]), …)",
        op("shape_of", x),
        known_shape,
    ),
    Rule(
        "dim-value-constant",
        "dim_value(n) -> n",
        op("dim_value", value=attr("value")),
        constant_size,
    ),
    *map(_on_sizes, _ON_DIMS),
)
