"""Bands: what the taps of a block meet of the input, copied into scratch with zeros around."""

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
from anyshape.loop import Apply, Buffer, For, Guard, Literal, Load, Prepare, Scalar, Store
from anyshape.loop.printer import row_major
from anyshape.sym import Dim, Less, LessEqual, Symbol

TAP_SLICE, BAND_ROW, ELEMENT = (Symbol(name) for name in ("kd", "s", "u"))


def input_buffer(plan: ConvPlan, x: Buffer) -> Buffer:
    """[batch, slices, rows, places * channels]: a row is one run of memory."""
    slices, rows, places = (axis.size for axis in plan.axes)
    shape = plan.batch, slices, rows, places * plan.channels
    return Buffer(x.name, x.dtype, shape, row_major(shape))


def prepared_band(plan: ConvPlan, x: Buffer) -> Prepare:
    """What the taps of a block meet, zeros where that is outside of the input."""
    slices, rows, places = plan.axes
    index = (Dim.of(TAP_SLICE), Dim.of(BAND_ROW), Dim.of(ELEMENT))
    store = Store(plan.band, index, _element(plan, x))
    elements = For(ELEMENT, places.met(Dim.of(LENGTH)) * plan.channels, (store,), vector=True)
    lines = For(BAND_ROW, rows.met(Dim.of(HEIGHT)), (elements,))
    return Prepare(plan.keys, (For(TAP_SLICE, slices.taps, (lines,)),))


def _element(plan: ConvPlan, x: Buffer) -> Scalar:
    slices, rows, places = plan.axes
    first = Dim.of(FIRST_PLACE) * places.stride - places.low
    index = (
        Dim.of(BATCH),
        Dim.of(SLICE) * slices.stride + Dim.of(TAP_SLICE) * slices.dilation - slices.low,
        Dim.of(FIRST_ROW) * rows.stride + Dim.of(BAND_ROW) - rows.low,
        first * plan.channels + Dim.of(ELEMENT),
    )
    inside = zip(index[1:], x.shape[1:], strict=True)
    tests = [test for i, n in inside for test in (LessEqual(Dim.of(0), i), Less(i, n))]
    met = Guard(tuple(tests), Load(x, index), Literal.of(0, x.dtype))
    return met if x.dtype == plan.total else Apply("cast", (met,), plan.total)
