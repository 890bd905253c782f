"""Sources: constants, counting, and sizes as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import ALL_DTYPES, NUMERIC, Array, DType, Shape, i64
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.rules import FixedDType, check_allowed
from anyshape.sym import Dim


@dataclass(frozen=True)
class ConstantAttrs(Attrs):
    """A small literal, or the name of a weight buffer."""

    value: TensorLiteral | WeightRef


def _constant(call: Call[ConstantAttrs]) -> Array:
    value = call.attrs.value
    return value.array if isinstance(value, TensorLiteral) else call.weights.array(value)


constant = register(
    OpDef(
        "constant",
        Signature(()),
        ConstantAttrs,
        lambda op, dtypes, attrs: (attrs.value.dtype,),
        lambda ctx, shapes, attrs: (attrs.value.type.shape,),
        reference=_constant,
    )
)


@dataclass(frozen=True)
class IotaAttrs(Attrs):
    """The indices along `axis` of a tensor of this shape."""

    shape: tuple[Dim, ...]
    axis: int
    dtype: DType


def _iota_dtype(op: str, dtypes: Sequence[DType], attrs: IotaAttrs, /) -> tuple[DType, ...]:
    check_allowed(op, attrs.dtype, NUMERIC)
    return (attrs.dtype,)


def iota_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: IotaAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axis", (attrs.axis,), len(attrs.shape))
    ctx.require_sizes(attrs.shape)
    return (attrs.shape,)


def _iota(call: Call[IotaAttrs]) -> Array:
    shape = tuple(int(dim) for dim in call.attrs.shape)
    index = np.arange(shape[call.attrs.axis]).astype(call.attrs.dtype.numpy)
    column = index.reshape([-1 if a == call.attrs.axis else 1 for a in range(len(shape))])
    return np.broadcast_to(column, shape)


iota = register(
    OpDef(
        "iota",
        Signature(()),
        IotaAttrs,
        _iota_dtype,
        iota_shape,
        reference=_iota,
        traits=frozenset({Trait.INDEXED}),
    )
)


# --- sizes as values ------------------------------------------------------------------------------


@dataclass(frozen=True)
class DimAttrs(Attrs):
    """A size expression."""

    value: Dim


dim_value = register(
    OpDef(
        "dim_value",
        Signature(()),
        DimAttrs,
        lambda op, dtypes, attrs: (i64,),
        lambda ctx, shapes, attrs: ((),),
        reference=lambda call: np.asarray(int(call.attrs.value), np.int64),
        traits=frozenset({Trait.INDEXED}),
        doc="A dim as a scalar: how sizes enter the computation.",
    )
)


def _dim_of_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxisAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axis", (attrs.axis,), len(shapes[0]))
    return ((),)


dim_of = register(
    OpDef(
        "dim_of",
        Signature(("x",)),
        AxisAttrs,
        FixedDType(ALL_DTYPES, i64),
        _dim_of_shape,
        reference=lambda call: np.asarray(call.args[0].shape[call.attrs.axis], np.int64),
        traits=frozenset({Trait.INDEXED}),
    )
)


shape_of = register(
    OpDef(
        "shape_of",
        Signature(("x",)),
        Attrs,
        FixedDType(ALL_DTYPES, i64),
        lambda ctx, shapes, attrs: ((Dim.of(len(shapes[0])),),),
        reference=lambda call: np.asarray(call.args[0].shape, np.int64),
    )
)
