"""Activations, softmax, norms and dense layers: compounds, defined by their decompositions.

A fused kernel for one of them is an optimisation that must agree with the formula here. All of
them compute 16-bit floats in f32 and round once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees, each
from anyshape.ir.node import Value
from anyshape.ir.opdef import OpDef, Signature, Trait, register
from anyshape.ir.types import FLOATS, NUMERIC, Shape
from anyshape.ops.compose import Expr
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.rules import SameDType, same_shape

FLOAT = SameDType(FLOATS)

# --- activations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeluAttrs(Attrs):
    """`none` is the exact form with erf, `tanh` its approximation."""

    approximate: Literal["none", "tanh"] = "none"


def gelu_formula(x: Expr, approximate: str) -> Expr:
    if approximate == "tanh":
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (inner.apply("tanh") + 1)
    return x * 0.5 * ((x * math.sqrt(0.5)).apply("erf") + 1)


def silu_formula(x: Expr) -> Expr:
    return x * x.apply("sigmoid")


def _gelu(b: Builder, operands: Sequence[Value], attrs: GeluAttrs, /) -> Value:
    x = Expr(b, operands[0])
    return gelu_formula(x.wide(), attrs.approximate).cast(x.dtype).value


def _silu(b: Builder, operands: Sequence[Value], attrs: Attrs, /) -> Value:
    x = Expr(b, operands[0])
    return silu_formula(x.wide()).cast(x.dtype).value


def _relu(b: Builder, operands: Sequence[Value], attrs: Attrs, /) -> Value:
    return Expr(b, operands[0]).apply("maximum", 0).value


ACTIVATION = frozenset({Trait.ELEMENTWISE})
X = Signature(("x",))

gelu = register(
    OpDef("gelu", X, GeluAttrs, FLOAT, same_shape, decompose=_gelu, traits=ACTIVATION, cost=24)
)
silu = register(
    OpDef("silu", X, Attrs, FLOAT, same_shape, decompose=_silu, traits=ACTIVATION, cost=17)
)
relu = register(
    OpDef("relu", X, Attrs, SameDType(NUMERIC), same_shape, decompose=_relu, traits=ACTIVATION)
)


# --- softmax --------------------------------------------------------------------------------------


def axis_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxisAttrs, /
) -> tuple[Shape, ...]:
    """Same shape; `axis` is one of the operand's."""
    ctx.check_axes("axis", (attrs.axis,), len(shapes[0]))
    return (shapes[0],)


def _softmax(b: Builder, operands: Sequence[Value], attrs: AxisAttrs, /) -> Value:
    x = Expr(b, operands[0])
    wide = x.wide()
    power = (wide - wide.reduce("max", attrs.axis)).apply("exp")
    return (power / power.reduce("sum", attrs.axis)).cast(x.dtype).value


def _log_softmax(b: Builder, operands: Sequence[Value], attrs: AxisAttrs, /) -> Value:
    x = Expr(b, operands[0])
    wide = x.wide()
    shifted = wide - wide.reduce("max", attrs.axis)
    total = shifted.apply("exp").reduce("sum", attrs.axis)
    return (shifted - total.apply("log")).cast(x.dtype).value


def _softmax_mixing(shapes: Sequence[Shape], attrs: AxisAttrs, /) -> tuple[Link, ...]:
    axis = attrs.axis
    return (*each(len(shapes[0]), [axis]), Link((axis,), axis, Sees.FILLED, -math.inf))


ROWWISE = frozenset({Trait.ROWWISE})

softmax = register(
    OpDef(
        "softmax", X, AxisAttrs, FLOAT, axis_shape,
        decompose=_softmax, traits=ROWWISE, mixing=_softmax_mixing, cost=20,
    )
)  # fmt: skip
log_softmax = register(
    OpDef(
        "log_softmax", X, AxisAttrs, FLOAT, axis_shape,
        decompose=_log_softmax, traits=ROWWISE, mixing=_softmax_mixing, cost=20,
    )
)  # fmt: skip


# --- norms ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormAttrs(Attrs):
    """Normalises over the axes from `axis` to the last, as scale and bias have them."""

    axis: int
    eps: float = 1e-5


def norm_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: NormAttrs, /
) -> tuple[Shape, ...]:
    x = shapes[0]
    ctx.check_axes("axis", (attrs.axis,), len(x))
    for index, weight in enumerate(shapes[1:], 1):
        name = ctx.op.signature.name(index)
        if len(weight) != len(x) - attrs.axis:
            problem = f"{name} has rank {len(weight)}, expected {len(x) - attrs.axis}"
            raise ctx.refuse_operand(problem)
        for axis, dim in enumerate(weight, attrs.axis):
            ctx.require_equal(x[axis], dim, f"{name} must have the size of x at axis {axis}")
    return (x,)


def _scaled(normal: Expr, weights: Sequence[Expr]) -> Expr:
    """Multiplied with the first weight, then the second added, where they are given."""
    if weights:
        normal = normal * weights[0].wide()
    if len(weights) > 1:
        normal = normal + weights[1].wide()
    return normal


def _layer_norm(b: Builder, operands: Sequence[Value], attrs: NormAttrs, /) -> Value:
    x, *weights = (Expr(b, value) for value in operands)
    axes = range(attrs.axis, x.rank)
    centred = x.wide() - x.wide().reduce("mean", *axes)
    variance = (centred * centred).reduce("mean", *axes)
    normal = centred * (variance + attrs.eps).apply("rsqrt")
    return _scaled(normal, weights).cast(x.dtype).value


def _rms_norm(b: Builder, operands: Sequence[Value], attrs: NormAttrs, /) -> Value:
    x, *weights = (Expr(b, value) for value in operands)
    wide = x.wide()
    square = (wide * wide).reduce("mean", *range(attrs.axis, x.rank))
    normal = wide * (square + attrs.eps).apply("rsqrt")
    return _scaled(normal, weights).cast(x.dtype).value


def _norm_mixing(shapes: Sequence[Shape], attrs: NormAttrs, /) -> tuple[Link, ...]:
    """Rows are each for themselves; what is normalised over is seen whole."""
    others = (None,) * (len(shapes) - 1)
    return tuple(Link((axis, *others), axis) for axis in range(attrs.axis))


layer_norm = register(
    OpDef(
        "layer_norm", Signature(("x", "scale?", "bias?")), NormAttrs, FLOAT, norm_shape,
        decompose=_layer_norm, traits=ROWWISE, mixing=_norm_mixing, cost=8,
    )
)  # fmt: skip
rms_norm = register(
    OpDef(
        "rms_norm", Signature(("x", "scale?")), NormAttrs, FLOAT, norm_shape,
        decompose=_rms_norm, traits=ROWWISE, mixing=_norm_mixing, cost=6,
    )
)  # fmt: skip


# --- dense ----------------------------------------------------------------------------------------

Activation = Literal["none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"]

ACTIVATIONS: dict[str, Callable[[Expr], Expr]] = {
    "none": lambda x: x,
    "relu": lambda x: x.apply("relu"),
    "gelu": lambda x: x.apply("gelu"),
    "gelu_tanh": lambda x: x.apply("gelu", approximate="tanh"),
    "silu": lambda x: x.apply("silu"),
    "tanh": lambda x: x.apply("tanh"),
    "sigmoid": lambda x: x.apply("sigmoid"),
}


@dataclass(frozen=True)
class DenseAttrs(Attrs):
    """What is applied after the bias."""

    activation: Activation = "none"


def dense_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: DenseAttrs, /
) -> tuple[Shape, ...]:
    x, weight, *bias = shapes
    if not x or len(weight) != 2:
        raise ctx.refuse_operand(f"x has rank {len(x)} and weight {len(weight)}, not >= 1 and 2")
    ctx.require_equal(x[-1], weight[0], "the last axis of x and the first of weight must be equal")
    if bias:
        if len(bias[0]) != 1:
            raise ctx.refuse_operand(f"bias has rank {len(bias[0])}, expected 1")
        ctx.require_equal(bias[0][0], weight[1], "bias must have the last size of weight")
    return ((*x[:-1], weight[1]),)


def _dense(b: Builder, operands: Sequence[Value], attrs: DenseAttrs, /) -> Value:
    x, weight, *bias = (Expr(b, value) for value in operands)
    result = x.wide().apply("dot", weight.wide(), contract=((x.rank - 1,), (0,)))
    for term in bias:
        result = result + term.wide()
    return ACTIVATIONS[attrs.activation](result).cast(x.dtype).value


def _dense_mixing(shapes: Sequence[Shape], attrs: DenseAttrs, /) -> tuple[Link, ...]:
    last, has_bias = len(shapes[0]) - 1, len(shapes) > 2
    return (
        *(Link((axis, None, *[None] * has_bias), axis) for axis in range(last)),
        Link((last, 0, *[None] * has_bias), None, Sees.FILLED),
        Link((None, 1, *[0] * has_bias), last),
    )


dense = register(
    OpDef(
        "dense", Signature(("x", "weight", "bias?")), DenseAttrs, FLOAT, dense_shape,
        decompose=_dense, mixing=_dense_mixing,
    )
)  # fmt: skip
