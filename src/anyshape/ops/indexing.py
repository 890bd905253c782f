"""Elements taken from places that data decide.

    gather        an index chooses a whole slice of `x` along `axis`
    take_along    an index chooses one element; the other axes run along

An index outside the axis is an error. Compiled code cannot raise one: it takes the nearest element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.base.errors import EvaluationError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import INTEGERS, Array, DType, Shape
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.rules import check_allowed


def checked_indices(op: str, indices: Array, size: int) -> Array:
    """The indices as i64, or an error for one that is outside."""
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        place = f"0..{size - 1}" if size else "an axis of size 0"
        raise EvaluationError(op, f"index {indices[outside][0]} is outside {place}")
    return indices.astype(np.int64)


# --- gather and take_along ------------------------------------------------------------------------


def _take_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (indices)", dtypes[1], INTEGERS)
    return (dtypes[0],)


def gather_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxisAttrs, /
) -> tuple[Shape, ...]:
    data, indices = shapes
    ctx.check_axes("axis", (attrs.axis,), len(data))
    return ((*data[: attrs.axis], *indices, *data[attrs.axis + 1 :]),)


def _gather(call: Call[AxisAttrs]) -> Array:
    data, indices = call.args
    checked = checked_indices("gather", indices, data.shape[call.attrs.axis])
    return np.take(data, checked, axis=call.attrs.axis)


def _gather_mixing(shapes: Sequence[Shape], attrs: AxisAttrs, /) -> tuple[Link, ...]:
    """What is chosen from is seen whole, as an index may be any; an index that is filled is 0."""
    data, indices = map(len, shapes)
    kept = (axis for axis in range(data) if axis != attrs.axis)
    return (
        *(Link((axis, None), axis if axis < attrs.axis else axis + indices - 1) for axis in kept),
        *(Link((None, axis), attrs.axis + axis, Sees.FILLED) for axis in range(indices)),
    )


gather = register(
    OpDef(
        "gather",
        Signature(("x", "indices")),
        AxisAttrs,
        _take_dtype,
        gather_shape,
        reference=_gather,
        mixing=_gather_mixing,
        traits=frozenset({Trait.INDEXED}),
        doc="Takes slices of `x` along `axis`; the axes of `indices` stand in its place.",
    )
)


def along_shape(ctx: ShapeContext, data: Shape, indices: Shape, axis: int) -> None:
    """`indices` fit into `data` along every axis but one."""
    ctx.check_axes("axis", (axis,), len(data))
    if len(indices) != len(data):
        raise ctx.refuse_operand(f"indices have rank {len(indices)}, x has {len(data)}")
    for other, (size, given) in enumerate(zip(data, indices, strict=True)):
        if other != axis and given is not size:
            what = f"indices must not be longer than x at axis {other}"
            ctx.require(given <= size, what)


def take_along_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxisAttrs, /
) -> tuple[Shape, ...]:
    data, indices = shapes
    along_shape(ctx, data, indices, attrs.axis)
    return (indices,)


def along(indices: Array, axis: int) -> tuple[Array, ...]:
    """The index of each element: its own place, but for `axis`."""
    places = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    places[axis] = indices
    return tuple(places)


def _take_along(call: Call[AxisAttrs]) -> Array:
    data, indices = call.args
    checked = checked_indices("take_along", indices, data.shape[call.attrs.axis])
    return data[along(checked, call.attrs.axis)]


def _take_along_mixing(shapes: Sequence[Shape], attrs: AxisAttrs, /) -> tuple[Link, ...]:
    """As with gather; other axes run along, with indices that are filled wherever there are."""
    return tuple(
        Link((None if axis == attrs.axis else axis, axis), axis, Sees.FILLED)
        for axis in range(len(shapes[1]))
    )


take_along = register(
    OpDef(
        "take_along",
        Signature(("x", "indices")),
        AxisAttrs,
        _take_dtype,
        take_along_shape,
        reference=_take_along,
        mixing=_take_along_mixing,
        traits=frozenset({Trait.INDEXED}),
        doc="The element of `x` at each element's own place, its index along `axis` given.",
    )
)
