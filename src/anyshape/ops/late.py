"""Ops whose result sizes depend on the data: a late axis is born at each.

Two of them bear a size while a graph runs; the others are written with these before it is compiled
(`passes/late_sizes.py`):

    prefix(count, values…)     the first `count` rows of each value, one late axis for all
    late_size(value)           a size told by a scalar, as bool[n, 0]: no memory, only a size

An op like `nonzero` is then a kernel with an upper bound, whose results have as many rows as there
may be, and a `prefix` of them. What lies behind the first `count` rows is unspecified, and nothing
reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.base.errors import DTypeError, LateSizeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, register
from anyshape.ir.types import ALL_DTYPES, Array, DType, Shape, bool_, i64
from anyshape.ops.compact import require_mask
from anyshape.ops.rules import FixedDType
from anyshape.sym import Dim, product


def nonzero_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    found = ctx.late_axis(product(shapes[0]))
    return ((found, Dim.of(len(shapes[0]))),)


nonzero = register(
    OpDef(
        "nonzero",
        Signature(("x",)),
        Attrs,
        FixedDType(ALL_DTYPES, i64),
        nonzero_shape,
        reference=lambda call: np.argwhere(call.args[0]).astype(np.int64),
        doc="The index of each element that is not zero, in order, one row each.",
    )
)


def _compress_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    if dtypes[0] != bool_:
        raise DTypeError(f"{op} (mask)", "bool", str(dtypes[0]))
    return tuple(dtypes[1:])


def compress_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /
) -> tuple[Shape, ...]:
    mask, *values = shapes
    if not values:
        raise ctx.refuse_operand("there is no value to take rows of")
    for value in values:
        require_mask(ctx, mask, value)
    rows = ctx.late_axis(product(mask))
    return tuple((rows, *value[len(mask) :]) for value in values)


def _compress(call: Call[Attrs]) -> tuple[Array, ...]:
    mask, *values = call.args
    return tuple(value[mask] for value in values)


compress = register(
    OpDef(
        "compress",
        Signature(("mask", "values*")),
        Attrs,
        _compress_dtype,
        compress_shape,
        reference=_compress,
        doc="The rows of each value that `mask`, which has its first axes, selects, in order.",
    )
)


# --- what bears a size at run time ----------------------------------------------------------------


def _prefix_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    if dtypes[0] != i64:
        raise DTypeError(f"{op} (count)", "i64", str(dtypes[0]))
    return tuple(dtypes[1:])


def prefix_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    count, *values = shapes
    if len(count) != 1:
        raise ctx.refuse_operand(f"count has rank {len(count)}, expected 1")
    if not all(values):
        raise ctx.refuse_operand("a value has rank 0, and no rows")
    if not values:
        raise ctx.refuse_operand("there is no value to take rows of")
    ctx.require_equal(count[0], Dim.of(1), "count has one element")
    upper = values[0][0]
    for value in values[1:]:
        upper = ctx.require_equal(upper, value[0], "values have as many rows as each other")
    rows = ctx.late_axis(upper)
    return tuple((rows, *value[1:]) for value in values)


def _prefix(call: Call[Attrs]) -> tuple[Array, ...]:
    (count,), *values = call.args
    if not 0 <= count <= len(values[0]):
        raise LateSizeError("prefix", int(count), len(values[0]))
    return tuple(value[:count] for value in values)


prefix = register(
    OpDef(
        "prefix",
        Signature(("count", "values*")),
        Attrs,
        _prefix_dtype,
        prefix_shape,
        reference=_prefix,
        doc="The first `count` rows of each value; what lies behind them is unspecified.",
    )
)


def late_size_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /
) -> tuple[Shape, ...]:
    if shapes[0]:
        raise ctx.refuse_operand(f"value has rank {len(shapes[0])}, expected 0")
    return ((ctx.late_axis(None), Dim.of(0)),)


def _late_size(call: Call[Attrs]) -> Array:
    size = int(call.args[0])
    if size < 0:
        raise LateSizeError("late_size", size, None)
    return np.empty((size, 0), np.bool_)


late_size = register(
    OpDef(
        "late_size",
        Signature(("value",)),
        Attrs,
        FixedDType((i64,), bool_),
        late_size_shape,
        reference=_late_size,
        doc="A size told by a scalar: a result without elements that has so many rows.",
    )
)
