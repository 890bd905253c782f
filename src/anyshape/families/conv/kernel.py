"""The kernel of a convolution: register tiles over bands, and the epilogue on each of them.

    task t: a block of rows and places, times a panel of output channels
      prepare band = what the taps meet        unless it can be read where it is
      for y < rows of the block
        for r < register tiles of a row
          sums = 0                             unless there is one product only
          for each row of taps                 or each tap, if its channels are not beside the next
            sums += places of the tile @ panel, over taps of the row and channels
          for i < places of the tile
            for j < channels of the panel      a vector loop: bias, activation, residual, …

No matrix of all that the taps meet is ever in memory: a row of the product is a run of the band,
and neighbouring rows of it overlap there.
"""

from __future__ import annotations

from dataclasses import replace

from anyshape.families.conv.band import TAP_SLICE, input_buffer, prepared_band
from anyshape.families.conv.epilogue import Epilogue
from anyshape.families.conv.plan import (
    BATCH,
    COUNT,
    FIRST,
    FIRST_PLACE,
    FIRST_ROW,
    GROUP,
    HEIGHT,
    MOST_PLACES,
    PANEL,
    SLICE,
    TILE,
    ConvPlan,
)
from anyshape.families.dot.plan import COLUMN, ROW, flat
from anyshape.families.family import Job
from anyshape.loop import (
    Buffer,
    For,
    Kernel,
    Literal,
    Matrix,
    Multiply,
    Span,
    Statement,
    Store,
)
from anyshape.loop.merge import flat_buffer
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import accesses
from anyshape.lower.tasks import TASK
from anyshape.sym import Dim, Symbol, ceildiv, product

LINE, TAP_ROW, TAP = (Symbol(name) for name in ("y", "kh", "kw"))
ONE, ZERO = Dim.of(1), Dim.of(0)


def conv_kernel(plan: ConvPlan, job: Job) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    form = plan.form
    inputs = list(job.inputs)
    epilogue = Epilogue.of(plan, job, Dim.of(LINE))
    views = epilogue.views
    x, weights = inputs[form.x_param], inputs[form.weights_param]
    buffers = {b.name: views.get(b.name, flat_buffer(b)) for b in (*inputs, *job.outputs)}
    if x.name not in views:
        buffers[x.name] = input_buffer(plan, x)
    buffers[weights.name] = flat(weights, _weights_size(plan))
    multiply = _multiply(plan, buffers[x.name], buffers[weights.name])
    tile = (*plan.parts_of_tile, *_sums(plan, multiply), epilogue.loops(plan))
    tiles = For(LINE, Dim.of(HEIGHT), (For(TILE, plan.tiles, tile),))
    band = (prepared_band(plan, job, buffers[x.name]),) if plan.has_band else ()
    buffers |= {b.name: b for b, _ in accesses(band) if b.name in buffers}
    scratch = (plan.sums, plan.band) if plan.has_band else (plan.sums,)
    body = (*plan.parts_of_task, *band, tiles)
    given = tuple(buffers.values()), job.sizes, TASK, product(plan.extents)
    return Kernel(*given, body, job.facts, scratch)


def _sums(plan: ConvPlan, multiply: Multiply) -> tuple[Statement, ...]:
    """One product writes them, several add to them."""
    if plan.is_one_product:
        first = dict.fromkeys((TAP_SLICE, TAP_ROW, TAP), ZERO)
        lhs, rhs = (matrix.substitute(first) for matrix in (multiply.lhs, multiply.rhs))
        return (replace(multiply, lhs=lhs, rhs=rhs, added=False),)
    return _zeros(plan), _over_taps(plan, multiply)


def _zeros(plan: ConvPlan) -> For:
    """Rows of the tile that are used."""
    store = Store(plan.sums, (Dim.of(ROW), Dim.of(COLUMN)), Literal.of(0, plan.total))
    inner = For(COLUMN, Dim.of(plan.width), (store,), vector=True)
    return For(ROW, Dim.of(COUNT), (inner,))


def _over_taps(plan: ConvPlan, multiply: Multiply) -> For:
    slices, rows, places = (axis.taps for axis in plan.axes)
    body: tuple[Statement, ...] = (multiply,)
    if not plan.joins_taps:
        body = (For(TAP, places, body),)
    return For(TAP_SLICE, slices, (For(TAP_ROW, rows, body),))


# --- one product ----------------------------------------------------------------------------------


def _multiply(plan: ConvPlan, x: Buffer, weights: Buffer) -> Multiply:
    lhs = _band_rows(plan) if plan.has_band else _input_rows(plan, x)
    depth = plan.form.inside * (plan.axes[2].taps if plan.joins_taps else 1)
    sizes = Dim.of(COUNT), plan.columns, depth
    given = plan.sums, lhs, _panel(plan, weights), *sizes, plan.form.stored
    return Multiply(*given, added=True, group=plan.group)


def _band_rows(plan: ConvPlan) -> Matrix:
    """What one row of taps, or one tap, meets from the places of a tile."""
    slices, rows, places = plan.axes
    height, run = plan.band.shape[1:]
    room = places.met(Dim.of(MOST_PLACES))
    line = Dim.of(LINE) * rows.stride + Dim.of(TAP_ROW) * rows.dilation
    spans = (Span(slices.taps, height * run, Dim.of(TAP_SLICE)), Span(height, run, line))
    return Matrix(plan.band, (*spans, *_run(plan, room, Dim.of(FIRST))))


def _input_rows(plan: ConvPlan, x: Buffer) -> Matrix:
    slices, rows, places = plan.axes
    firsts = (
        Dim.of(BATCH),
        Dim.of(SLICE) * slices.stride + Dim.of(TAP_SLICE) * slices.dilation,
        (Dim.of(FIRST_ROW) + Dim.of(LINE)) * rows.stride + Dim.of(TAP_ROW) * rows.dilation,
    )
    sizes = plan.batch, slices.size, rows.size
    strides = row_major((*sizes, x.shape[-1]))
    outer = (Span(*axis) for axis in zip(sizes, strides[:-1], firsts, strict=True))
    run = _run(plan, places.size, Dim.of(FIRST_PLACE) + Dim.of(FIRST))
    return Matrix(x, (*outer, *run))


def _run(plan: ConvPlan, room: Dim, first: Dim) -> tuple[Span, ...]:
    """Places and channels of a row with `room` places, from that of a place of the result on."""
    axis, channels = plan.axes[2], plan.channels
    if plan.joins_taps:
        step = channels * axis.stride
        return (Span(room * channels, ONE, first * step, down=step, right=ONE),)
    place = first * axis.stride + Dim.of(TAP) * axis.dilation
    return (
        Span(room, channels, place, down=Dim.of(axis.stride)),
        Span(channels, ONE, Dim.of(GROUP) * plan.form.inside, right=ONE),
    )


def _panel(plan: ConvPlan, weights: Buffer) -> Matrix:
    """The weights of one row of taps, or of one tap, for the channels of a panel."""
    form = plan.form
    taps = product(form.weights.shape[1:-2])
    depth = form.inside * (plan.axes[2].taps if plan.joins_taps else 1)
    rows = taps // plan.axes[2].taps if plan.joins_taps else taps
    tap = Dim.of(TAP_SLICE) * plan.axes[1].taps + Dim.of(TAP_ROW)
    if not plan.joins_taps:
        tap = tap * plan.axes[2].taps + Dim.of(TAP)
    if plan.group > 1:
        return _panel_of_groups(plan, weights, ceildiv(depth, plan.group), rows, tap)
    width = Dim.of(plan.width) if form.stored else form.outside
    whole = rows * depth * width
    column = ZERO if form.stored else plan.first_column
    panels = (Span(plan.panels, whole, Dim.of(PANEL)),) if form.stored else ()
    return Matrix(
        weights,
        (
            Span(form.groups, whole * (plan.panels if form.stored else 1), Dim.of(GROUP)),
            *panels,
            Span(rows, depth * width, tap),
            Span(depth, width, ZERO, down=ONE),
            Span(width, ONE, column, right=ONE),
        ),
    )


def _panel_of_groups(plan: ConvPlan, weights: Buffer, depth: Dim, rows: Dim, tap: Dim) -> Matrix:
    """The same, of [groups, rows of taps or taps, panels, groups of the depth, width]."""
    width = Dim.of(plan.width * plan.group)
    panel = depth * width
    return Matrix(
        weights,
        (
            Span(plan.form.groups, rows * plan.panels * panel, Dim.of(GROUP)),
            Span(rows, plan.panels * panel, tap),
            Span(plan.panels, panel, Dim.of(PANEL)),
            Span(depth, width, ZERO, down=ONE),
            Span(width, ONE, ZERO, right=ONE),
        ),
    )


def _weights_size(plan: ConvPlan) -> Dim:
    shape = plan.form.weights.shape
    if not plan.form.stored:
        return product(shape)
    run = 2 if plan.joins_taps else 1  # axes of one product's depth
    *outer, depth = (*shape[: -1 - run], product(shape[-1 - run : -1]))
    steps = ceildiv(depth, plan.group) * plan.group
    return product((*outer, steps, plan.panels, Dim.of(plan.width)))
