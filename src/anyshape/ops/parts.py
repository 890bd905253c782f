"""Long axes in parts: what passes make of a reduction, a running total or a sort whose axis may be
too long for one task.

Part p of an axis has `length` elements from p*length on, the last part those that are left. How
many parts there are depends on the sizes. Where there are none, the axis is short or its rows are
many, and it is not divided at all: `staged` then takes the first form.

    part_reduce        one total for each part
    part_index         where in each part its extremum stands
    part_dot           a product over each part of the depth
    part_cumulative    running totals within parts, each on top of the totals before it
    staged             one value computed in two ways: as a whole, or from parts
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, lookup, register
from anyshape.ir.types import Array, DType, Shape, i64
from anyshape.ops.cumulative import moved_on
from anyshape.ops.dot import DotAttrs, dot_shape, free_axes
from anyshape.ops.elementwise import ufunc_of
from anyshape.sym import Dim, product

Combine = Literal["add", "mul", "maximum", "minimum"]
"""The names of ops of two that elements are put together with."""


@dataclass(frozen=True)
class PartReduceAttrs(Attrs):
    """Which axes are combined how, and in which dtype. The first of them is divided; or, if they
    are `flat`, all as one: they are neighbours then."""

    combine: Combine
    axes: tuple[int, ...]
    parts: Dim
    length: Dim
    dtype: DType
    flat: bool = False


@dataclass(frozen=True)
class PartIndexAttrs(Attrs):
    """The axis searched, and its parts."""

    axis: int
    parts: Dim
    length: Dim


@dataclass(frozen=True)
class PartDotAttrs(DotAttrs):
    """As of a dot, whose contracted axes are divided as one."""

    parts: Dim = field(kw_only=True)
    length: Dim = field(kw_only=True)
    dtype: DType = field(kw_only=True)


@dataclass(frozen=True)
class PartCumulativeAttrs(Attrs):
    """As of a cumulative op, with the number of parts of its axis."""

    combine: Combine
    axis: int
    parts: Dim
    length: Dim
    exclusive: bool = False
    reverse: bool = False


@dataclass(frozen=True)
class StagedAttrs(Attrs):
    """How many parts there are; 0 if the axis is not divided."""

    parts: Dim


def divided_size(shape: Shape, attrs: PartReduceAttrs) -> Dim:
    """Of the axis that is divided."""
    axes = attrs.axes if attrs.flat else attrs.axes[:1]
    return product(shape[axis] for axis in axes)


# --- totals of parts ------------------------------------------------------------------------------


def part_reduce_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartReduceAttrs, /
) -> tuple[Shape, ...]:
    (x,) = shapes
    ctx.check_axes("axes", attrs.axes, len(x))
    ctx.require_sizes((attrs.parts,))
    return ((attrs.parts, *(dim for axis, dim in enumerate(x) if axis not in attrs.axes)),)


def _part_reduce(call: Call[PartReduceAttrs]) -> Array:
    (x,) = call.args
    attrs, dtype = call.attrs, call.result.dtype
    axes = attrs.axes
    if attrs.flat:
        before, after = x.shape[: axes[0]], x.shape[axes[-1] + 1 :]
        size = math.prod(x.shape[axis] for axis in axes)
        x, axes = x.reshape((*before, size, *after)), axes[:1]
    length = attrs.length.evaluate({})
    combine = lookup(attrs.combine)
    start, function = combine.neutral_in(dtype), ufunc_of(combine)

    def total(part: int) -> Any:
        stop = min((part + 1) * length, x.shape[axes[0]])
        chosen = np.take(x, range(part * length, stop), axes[0]).astype(dtype.numpy)
        return function.reduce(chosen, axis=axes, initial=start, dtype=dtype.numpy)

    totals = [np.asarray(total(part)) for part in range(attrs.parts.evaluate({}))]
    shape = tuple(int(dim) for dim in call.result.shape)
    return np.stack(totals).astype(dtype.numpy) if totals else np.zeros(shape, dtype.numpy)


part_reduce = register(
    OpDef(
        "part_reduce",
        Signature(("x",)),
        PartReduceAttrs,
        lambda op, dtypes, attrs: (attrs.dtype,),
        part_reduce_shape,
        reference=_part_reduce,
        traits=frozenset({Trait.REDUCTION}),
        doc="The totals of parts of an axis.",
    )
)


# --- where extrema of parts are -------------------------------------------------------------------


def part_index_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartIndexAttrs, /
) -> tuple[Shape, ...]:
    x, _ = shapes
    ctx.check_axes("axis", (attrs.axis,), len(x))
    ctx.require_sizes((attrs.parts,))
    return ((attrs.parts, *x[: attrs.axis], *x[attrs.axis + 1 :]),)


def _part_index(call: Call[PartIndexAttrs]) -> Array:
    x, extrema = call.args
    rows, length = np.moveaxis(x, call.attrs.axis, 0), call.attrs.length.evaluate({})
    found = np.full(extrema.shape, i64.highest, np.int64)
    for part, best in enumerate(extrema):
        inside = rows[part * length : (part + 1) * length]
        is_best = (inside == best) | (np.isnan(inside) if x.dtype.kind == "f" else False)
        if len(inside):
            first = part * length + is_best.argmax(0)
            found[part] = np.where(is_best.any(0), first, found[part])
    return found


part_index = register(
    OpDef(
        "part_index",
        Signature(("x", "extrema")),
        PartIndexAttrs,
        lambda op, dtypes, attrs: (i64,),
        part_index_shape,
        reference=_part_index,
        traits=frozenset({Trait.REDUCTION}),
        doc="The lowest index in each part of an axis that has the part's extremum, or a NaN; "
        "the greatest integer if there is none.",
    )
)


# --- products over parts of the depth -------------------------------------------------------------


def part_dot_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartDotAttrs, /
) -> tuple[Shape, ...]:
    ctx.require_sizes((attrs.parts,))
    (whole,) = dot_shape(ctx, shapes, attrs)
    return ((attrs.parts, *whole),)


def _part_dot(call: Call[PartDotAttrs]) -> Array:
    attrs, dtype, length = call.attrs, call.result.dtype, call.attrs.length.evaluate({})
    lhs, rhs = (_as_matrices(x, attrs, side, dtype) for side, x in enumerate(call.args))
    ranges = (slice(p * length, (p + 1) * length) for p in range(attrs.parts.evaluate({})))
    with np.errstate(all="ignore"):
        totals = [lhs[:, :, part] @ np.swapaxes(rhs[:, :, part], 1, 2) for part in ranges]
    shape = tuple(int(dim) for dim in call.result.shape)
    return np.asarray(totals, dtype.numpy).reshape(shape)


def _as_matrices(x: Array, attrs: DotAttrs, side: int, dtype: DType) -> Array:
    """[batch, free, depth]"""
    roles = attrs.batch[side], free_axes(x.ndim, attrs, side), attrs.contract[side]
    sizes = [math.prod(x.shape[axis] for axis in axes) for axes in roles]
    ordered = x.transpose([axis for axes in roles for axis in axes])
    return ordered.reshape(sizes).astype(dtype.numpy)


part_dot = register(
    OpDef(
        "part_dot",
        Signature(("lhs", "rhs")),
        PartDotAttrs,
        lambda op, dtypes, attrs: (attrs.dtype,),
        part_dot_shape,
        reference=_part_dot,
        traits=frozenset({Trait.CONTRACTION}),
        doc="The products of two operands over each part of what they contract.",
    )
)


# --- running totals -------------------------------------------------------------------------------


def part_cumulative_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartCumulativeAttrs, /
) -> tuple[Shape, ...]:
    x, _ = shapes
    ctx.check_axes("axis", (attrs.axis,), len(x))
    ctx.require_sizes((attrs.parts,))
    return (x,)


def _part_cumulative(call: Call[PartCumulativeAttrs]) -> Array:
    x, totals = call.args
    attrs, dtype, length = call.attrs, call.result.dtype, call.attrs.length.evaluate({})
    rows = np.moveaxis(x, attrs.axis, 0).astype(totals.dtype)
    combine, found = lookup(attrs.combine), np.empty_like(rows)
    start, function = combine.neutral_in(dtype), ufunc_of(combine)
    for part in range(len(totals)):
        place = slice(part * length, (part + 1) * length)
        walked = np.flip(rows[place], 0) if attrs.reverse else rows[place]
        inside = function.accumulate(walked, axis=0, dtype=totals.dtype)
        inside = moved_on(inside, 0, start) if attrs.exclusive else inside
        others = totals[part + 1 :] if attrs.reverse else totals[:part]
        before = function.reduce(others, axis=0, initial=start, dtype=totals.dtype)
        found[place] = function(before, np.flip(inside, 0) if attrs.reverse else inside)
    with np.errstate(all="ignore"):
        return np.moveaxis(found, 0, attrs.axis).astype(dtype.numpy)


part_cumulative = register(
    OpDef(
        "part_cumulative",
        Signature(("x", "totals")),
        PartCumulativeAttrs,
        lambda op, dtypes, attrs: (dtypes[0],),
        part_cumulative_shape,
        reference=_part_cumulative,
        traits=frozenset({Trait.ROWWISE}),
        doc="Running totals within parts of an axis, on top of the totals of the parts before.",
    )
)


# --- two ways -------------------------------------------------------------------------------------


def staged_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: StagedAttrs, /
) -> tuple[Shape, ...]:
    whole, _ = shapes
    ctx.require_sizes((attrs.parts,))
    return (whole,)


staged = register(
    OpDef(
        "staged",
        Signature(("whole", "parts")),
        StagedAttrs,
        lambda op, dtypes, attrs: (dtypes[0],),
        staged_shape,
        reference=lambda call: call.args[1 if call.attrs.parts.evaluate({}) else 0],
        doc="One value computed in two ways; from parts if there are any.",
    )
)
