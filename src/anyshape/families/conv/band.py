"""Bands: what the taps of a block meet of the input, copied into scratch with zeros around, or
what else its input is padded with."""

from __future__ import annotations

from anyshape.families.conv.plan import (
    BATCH,
    FIRST_PLACE,
    FIRST_ROW,
    HEIGHT,
    LENGTH,
    SLICE,
    ConvPlan,
)
from anyshape.families.family import Job
from anyshape.ir.types import Shape
from anyshape.loop import (
    Apply,
    Buffer,
    For,
    Guard,
    Literal,
    Load,
    Prepare,
    Scalar,
    Statement,
    Store,
)
from anyshape.loop.ir import Index
from anyshape.loop.printer import row_major
from anyshape.lower.context import Lowering
from anyshape.sym import Dim, FactScope, Less, LessEqual, Predicate, Symbol

TAP_SLICE, BAND_ROW, ELEMENT = (Symbol(name) for name in ("kd", "s", "u"))


def input_buffer(plan: ConvPlan, x: Buffer) -> Buffer:
    """[batch, slices, rows, places * channels]: a row is one run of memory."""
    slices, rows, places = (axis.size for axis in plan.axes)
    shape = plan.batch, slices, rows, places * plan.channels
    return Buffer(x.name, x.dtype, shape, row_major(shape))


def prepared_band(plan: ConvPlan, job: Job, x: Buffer) -> Prepare:
    """What the taps of a block meet, and what is around it where that is outside of the input."""
    slices, rows, places = plan.axes
    index = (Dim.of(TAP_SLICE), Dim.of(BAND_ROW), Dim.of(ELEMENT))
    before, filled = around(plan, job)
    store = Store(plan.band, index, _element(plan, x, filled))
    elements = For(ELEMENT, places.met(Dim.of(LENGTH)) * plan.channels, (store,), vector=True)
    lines = For(BAND_ROW, rows.met(Dim.of(HEIGHT)), (elements,))
    return Prepare(plan.keys, (*before, For(TAP_SLICE, slices.taps, (lines,))))


def around(plan: ConvPlan, job: Job) -> tuple[tuple[Statement, ...], Scalar]:
    """How what is around the input is made, and it: zero, or what the input is padded with."""
    if plan.form.pad is None:
        return (), Literal.of(0, plan.stored_dtype)
    low = Lowering(job.region, job.inputs, FactScope.of(job.facts))
    found = low.at(plan.form.pad.operands[1], ())
    return tuple(low.levels[0].body), found


def inside(index: Index, sizes: Shape) -> tuple[Predicate, ...]:
    """That an index is one of an element, along each axis."""
    found = zip(index, sizes, strict=True)
    return tuple(test for i, n in found for test in (LessEqual(Dim.of(0), i), Less(i, n)))


def _element(plan: ConvPlan, x: Buffer, filled: Scalar) -> Scalar:
    slices, rows, places = plan.axes
    first = Dim.of(FIRST_PLACE) * places.stride - places.low
    index = (
        Dim.of(BATCH),
        Dim.of(SLICE) * slices.stride + Dim.of(TAP_SLICE) * slices.dilation - slices.low,
        Dim.of(FIRST_ROW) * rows.stride + Dim.of(BAND_ROW) - rows.low,
        first * plan.channels + Dim.of(ELEMENT),
    )
    met = Guard(inside(index[1:], x.shape[1:]), Load(x, index), filled)
    return met if x.dtype == plan.band.dtype else Apply("cast", (met,), plan.band.dtype)
