"""Movement: ops that place elements and compute none.

Sizes in attributes are dims, so one entry serves static and dynamic cases. Frontends resolve what
source languages leave open (-1 in a reshape, negative or clamped slice bounds) into dims before
they make a node; in the IR, bounds are exact and are required to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, each
from anyshape.ir.node import Value
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import ALL_DTYPES, Array, Shape, shape_text
from anyshape.ops.rules import SameDType
from anyshape.sym import Dim, ceildiv, total

ANY = SameDType(ALL_DTYPES)
INDEXED = frozenset({Trait.INDEXED})


# --- reshape, transpose, broadcast, reverse -------------------------------------------------------


@dataclass(frozen=True)
class ShapeAttrs(Attrs):
    """A whole result shape."""

    shape: tuple[Dim, ...]


def _ints(dims: Sequence[Dim]) -> tuple[int, ...]:
    return tuple(int(dim) for dim in dims)


def reshape_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ShapeAttrs, /
) -> tuple[Shape, ...]:
    ctx.require_sizes(attrs.shape)
    what = f"{shape_text(shapes[0])} and {shape_text(attrs.shape)} must have the same size"
    ctx.require_same_size(shapes[0], attrs.shape, what)
    return (attrs.shape,)


reshape = register(
    OpDef(
        "reshape",
        Signature(("x",)),
        ShapeAttrs,
        ANY,
        reshape_shape,
        reference=lambda call: call.args[0].reshape(_ints(call.attrs.shape)),
        traits=frozenset({Trait.ALIAS, Trait.INDEXED}),
    )
)


@dataclass(frozen=True)
class TransposeAttrs(Attrs):
    """Result axis i is operand axis perm[i]."""

    perm: tuple[int, ...]


def transpose_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: TransposeAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("perm", attrs.perm, len(shapes[0]))
    if len(attrs.perm) != len(shapes[0]):
        problem = f"has {len(attrs.perm)} axes, the rank is {len(shapes[0])}"
        raise ctx.refuse_attribute("perm", problem)
    return (tuple(shapes[0][axis] for axis in attrs.perm),)


def _transpose_mixing(shapes: Sequence[Shape], attrs: TransposeAttrs, /) -> tuple[Link, ...]:
    return tuple(Link((axis,), result) for result, axis in enumerate(attrs.perm))


transpose = register(
    OpDef(
        "transpose",
        Signature(("x",)),
        TransposeAttrs,
        ANY,
        transpose_shape,
        reference=lambda call: np.transpose(call.args[0], call.attrs.perm),
        mixing=_transpose_mixing,
        traits=INDEXED,
    )
)


def broadcast_to_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ShapeAttrs, /
) -> tuple[Shape, ...]:
    if len(attrs.shape) < len(shapes[0]):
        raise ctx.refuse_attribute("shape", f"has a lower rank than {shape_text(shapes[0])}")
    ctx.require_sizes(attrs.shape)
    offset = len(attrs.shape) - len(shapes[0])
    for axis, (old, new) in enumerate(zip(shapes[0], attrs.shape[offset:], strict=True)):
        if old != 1:
            ctx.require_one_or(old, new, f"axis {axis} must be 1 or {new}")
    return (attrs.shape,)


broadcast = register(
    OpDef(
        "broadcast",
        Signature(("x",)),
        ShapeAttrs,
        ANY,
        broadcast_to_shape,
        reference=lambda call: np.broadcast_to(call.args[0], _ints(call.attrs.shape)),
        traits=INDEXED,
        doc="NumPy's broadcast_to: axes align right; an axis of size 1 repeats.",
    )
)


@dataclass(frozen=True)
class AxesAttrs(Attrs):
    """Some axes of the operand."""

    axes: tuple[int, ...]


def reverse_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxesAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axes", attrs.axes, len(shapes[0]))
    return (shapes[0],)


reverse = register(
    OpDef(
        "reverse",
        Signature(("x",)),
        AxesAttrs,
        ANY,
        reverse_shape,
        reference=lambda call: np.flip(call.args[0], call.attrs.axes),
        mixing=lambda shapes, attrs: each(len(shapes[0]), attrs.axes),
        traits=INDEXED,
    )
)


# --- slice, concat, pad ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SliceAttrs(Attrs):
    """Per axis start <= stop within the size, and a positive step."""

    starts: tuple[Dim, ...]
    stops: tuple[Dim, ...]
    steps: tuple[int, ...]


def slice_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: SliceAttrs, /
) -> tuple[Shape, ...]:
    rank = len(shapes[0])
    for name, given in (("starts", attrs.starts), ("stops", attrs.stops), ("steps", attrs.steps)):
        if len(given) != rank:
            raise ctx.refuse_attribute(name, f"has {len(given)} entries, the rank is {rank}")
    bounds = zip(shapes[0], attrs.starts, attrs.stops, attrs.steps, strict=True)
    return (tuple(_slice_dim(ctx, axis, *bound) for axis, bound in enumerate(bounds)),)


def _slice_dim(ctx: ShapeContext, axis: int, size: Dim, start: Dim, stop: Dim, step: int) -> Dim:
    if step < 1:
        raise ctx.refuse_attribute("steps", f"must be positive, got {step} at axis {axis}")
    ctx.require(start >= 0, f"start {start} at axis {axis} must not be negative")
    ctx.require(start <= stop, f"start {start} must not be after stop {stop} at axis {axis}")
    ctx.require(stop <= size, f"stop {stop} must be within size {size} of axis {axis}")
    return ceildiv(stop - start, Dim.of(step))


def _slice(call: Call[SliceAttrs]) -> Array:
    attrs = call.attrs
    bounds = zip(_ints(attrs.starts), _ints(attrs.stops), attrs.steps, strict=True)
    return call.args[0][tuple(slice(*bound) for bound in bounds)]


slice_ = register(
    OpDef(
        "slice",
        Signature(("x",)),
        SliceAttrs,
        ANY,
        slice_shape,
        reference=_slice,
        traits=INDEXED,
    )
)


@dataclass(frozen=True)
class AxisAttrs(Attrs):
    """One axis of the operand."""

    axis: int


def concat_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: AxisAttrs, /
) -> tuple[Shape, ...]:
    first = list(shapes[0])
    ctx.check_axes("axis", (attrs.axis,), len(first))
    for index, shape in enumerate(shapes[1:], 1):
        if len(shape) != len(first):
            raise ctx.refuse_operand(f"operand {index} has rank {len(shape)}, not {len(first)}")
        for axis, dim in enumerate(shape):
            if axis != attrs.axis:
                what = f"operand {index} must have the first's size at axis {axis}"
                first[axis] = ctx.require_equal(first[axis], dim, what)
    first[attrs.axis] = total(shape[attrs.axis] for shape in shapes)
    return (tuple(first),)


concat = register(
    OpDef(
        "concat",
        Signature(("x", "xs*")),
        AxisAttrs,
        ANY,
        concat_shape,
        reference=lambda call: np.concatenate(call.args, axis=call.attrs.axis),
        traits=INDEXED,
    )
)


def append_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    return concat_shape(ctx, shapes, AxisAttrs(0))


def _append(b: Builder, operands: Sequence[Value], attrs: Attrs, /) -> Value:
    return b.emit("concat", *operands, axis=0)


append = register(
    OpDef(
        "append",
        Signature(("x", "more")),
        Attrs,
        ANY,
        append_shape,
        decompose=_append,
        doc="A concat along axis 0 whose result begins in the memory of x, and continues it.",
    )
)


@dataclass(frozen=True)
class PadAttrs(Attrs):
    """Elements added before and after each axis."""

    low: tuple[Dim, ...]
    high: tuple[Dim, ...]


def pad_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: PadAttrs, /) -> tuple[Shape, ...]:
    shape, fill = shapes
    if fill:
        raise ctx.refuse_operand(f"the fill value must be a scalar, got {shape_text(fill)}")
    for name, given in (("low", attrs.low), ("high", attrs.high)):
        if len(given) != len(shape):
            raise ctx.refuse_attribute(name, f"has {len(given)} entries, the rank is {len(shape)}")
        for axis, dim in enumerate(given):
            ctx.require(dim >= 0, f"{name} {dim} at axis {axis} must not be negative")
    return (tuple(map(_padded, attrs.low, shape, attrs.high)),)


def _padded(low: Dim, size: Dim, high: Dim) -> Dim:
    return low + size + high


def _pad(call: Call[PadAttrs]) -> Array:
    widths = list(zip(_ints(call.attrs.low), _ints(call.attrs.high), strict=True))
    data, fill = call.args
    return np.pad(data, widths, constant_values=fill) if widths else data


pad = register(
    OpDef(
        "pad",
        Signature(("x", "fill")),
        PadAttrs,
        ANY,
        pad_shape,
        reference=_pad,
        traits=INDEXED,
    )
)
