"""Depthwise convolutions: each channel by itself, neighbouring channels in the lanes of a vector.

    task t: a block of rows and places, all channels
      prepare band = what the taps meet        unless it can be read where it is
      for y < rows of the block
        for r < tiles of a row                 some places each; then the rest one by one
          for c < channels                     a vector loop
            sums[0, c], sums[1, c], … = products with each tap
          epilogue

The code names every tap and every place of a tile: what several places of it meet is loaded once,
and so is the weight of a tap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as tuples

from anyshape.families.conv.band import input_buffer, prepared_band
from anyshape.families.conv.epilogue import epilogue_loops
from anyshape.families.conv.plan import (
    BATCH,
    COUNT,
    FIRST,
    FIRST_PLACE,
    FIRST_ROW,
    HEIGHT,
    LENGTH,
    SLICE,
    TILE,
    ConvPlan,
)
from anyshape.families.dot.plan import COLUMN
from anyshape.families.family import Job
from anyshape.ir.types import Shape
from anyshape.loop import (
    Apply,
    Bind,
    Buffer,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Store,
)
from anyshape.loop.ir import Index
from anyshape.loop.merge import flat_buffer
from anyshape.loop.printer import row_major
from anyshape.lower.packing import Packing
from anyshape.lower.tasks import TASK
from anyshape.sym import Dim, Symbol, product

LINE = Symbol("y")

TILE_PLACES = 4
"""Places of a tile: with more of them a vector of sums for each, and what they meet, no longer fit
the registers of all instruction sets."""


@dataclass(frozen=True, slots=True)
class DepthwisePlan(ConvPlan):
    """As of any convolution, but a task has all channels, in their order."""

    @property
    def rows(self) -> int:
        return TILE_PLACES

    @property
    def panels_of_block(self) -> Shape:
        return ()

    @property
    def whole_panels(self) -> bool:
        return True

    @property
    def width(self) -> int:
        return int(self.channels)

    @property
    def first_channel(self) -> Dim:
        return Dim.of(0)

    def packing(self) -> Packing:
        """[taps, channels]."""
        groups, *taps, inside, outside = (axis for axis in self.form.weights.axes)
        depth = tuple(axis for axis in (*taps, inside, outside) if axis is not None)
        assert groups is not None, "a constant is seen as a whole"
        return Packing((), depth, (groups,), max(1, self.width))


def depthwise_kernel(plan: DepthwisePlan, job: Job) -> Kernel:
    """The kernel of a region with one depthwise convolution."""
    form, inputs = plan.form, job.inputs
    after, views = epilogue_loops(plan, job, Dim.of(LINE))
    buffers = {b.name: views.get(b.name, flat_buffer(b)) for b in (*inputs, *job.outputs)}
    x, given = (inputs[param] for param in (form.x_param, form.weights_param))
    buffers[x.name], weights = input_buffer(plan, x), _weights(plan, given)
    buffers[weights.name] = weights
    sources = buffers[x.name], weights
    length, tile = Dim.of(LENGTH), Dim.of(TILE)
    whole = _places(plan, tile * plan.rows, plan.rows, sources)
    rest = _places(plan, length // plan.rows * plan.rows + tile, 1, sources)
    row = (
        For(TILE, length // plan.rows, (*whole, *after)),
        For(TILE, length % plan.rows, (*rest, *after)),
    )
    band = (prepared_band(plan, buffers[x.name]),) if plan.has_band else ()
    body = (*plan.parts_of_task, *band, For(LINE, Dim.of(HEIGHT), row))
    scratch = (plan.sums, plan.band) if plan.has_band else (plan.sums,)
    given_sizes = tuple(buffers.values()), job.sizes, TASK, product(plan.extents)
    return Kernel(*given_sizes, body, job.facts, scratch)


def _weights(plan: DepthwisePlan, given: Buffer) -> Buffer:
    shape = product(plan.form.weights.shape[1:-2]), Dim.of(max(1, plan.width))
    return Buffer(given.name, given.dtype, shape, row_major(shape))


def _places(
    plan: DepthwisePlan, first: Dim, count: int, sources: tuple[Buffer, Buffer]
) -> tuple[Statement, ...]:
    """The sums of so many places of a row."""
    sums = For(COLUMN, Dim.of(plan.width), tuple(_sums(plan, count, *sources)), vector=True)
    return (
        Bind(FIRST, Number(first), Dim.of(LENGTH) - (count - 1)),
        Bind(COUNT, Number(Dim.of(count)), Dim.of(count + 1)),
        sums,
    )


def _sums(plan: DepthwisePlan, count: int, x: Buffer, weights: Buffer) -> Iterator[Statement]:
    """Straight-line code for one channel; what is read twice is named once."""
    totals: list[Scalar | None] = [None] * count
    seen: dict[tuple[int, ...], Local] = {}
    taps = [range(int(axis.taps)) for axis in plan.axes]
    for number, tap in enumerate(tuples(*taps)):
        weight = Local(f"tap{number}", plan.total)
        yield Let(weight, _wide(plan, Load(weights, (Dim.of(number), Dim.of(COLUMN)))))
        for place in range(count):
            key = (*tap[:2], place * plan.axes[2].stride + tap[2] * plan.axes[2].dilation)
            if key not in seen:
                seen[key] = Local(f"met{len(seen)}", plan.total)
                yield Let(seen[key], _wide(plan, _met(plan, x, key)))
            term = Apply("mul", (seen[key], weight), plan.total)
            total, name = totals[place], Local(f"sum{number}_{place}", plan.total)
            yield Let(name, term if total is None else Apply("add", (total, term), plan.total))
            totals[place] = name
    for place, total in enumerate(totals):
        assert total is not None, "there is a tap"
        yield Store(plan.sums, (Dim.of(place), Dim.of(COLUMN)), total)


def _wide(plan: DepthwisePlan, load: Load) -> Scalar:
    return load if load.dtype == plan.total else Apply("cast", (load,), plan.total)


def _met(plan: DepthwisePlan, x: Buffer, key: tuple[int, ...]) -> Load:
    """What a place meets: `key` has a tap along slices and rows, and how far it is along places."""
    slices, rows, places = plan.axes
    outer = Dim.of(key[0]), Dim.of(LINE) * rows.stride + key[1] * rows.dilation
    place = Dim.of(FIRST) * places.stride + key[2]
    index: Index = (*outer, place * plan.channels + Dim.of(COLUMN))
    if plan.has_band:
        return Load(plan.band, index)
    index = (
        Dim.of(BATCH),
        Dim.of(SLICE) * slices.stride + key[0] * slices.dilation,
        Dim.of(FIRST_ROW) * rows.stride + outer[1],
        Dim.of(FIRST_PLACE) * places.stride * plan.channels + index[2],
    )
    return Load(x, index)
