"""The kernel of a convolution in Winograd's form (`lower/winograd.py` has the scheme).

    task t: a block of tiles, times a panel of output channels
      prepare patches = B^T d B              for the tiles of the block, zeros outside of the input
      for g < groups of tiles
        for z < points
          products[z] = patches[z] @ panel[z]
        for r < tiles of the group
          results = A^T products A           noting whether any of them is not finite
        if one was not: results again, as sums over taps
        for r < tiles of the group
          for places of the tile that there are
            for j < channels of the panel    a vector loop: bias, activation, residual, …

A number that is not finite spreads through the transforms to the whole tile, and so do sums of
large numbers that overflow where the convolution does not. Neither ever becomes finite again: each
point is a part of some result. So tiles are right whenever they are finite, and are computed over
with the plain weights, which the other form has anyway, when they are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.families.conv.epilogue import Epilogue
from anyshape.families.conv.transforms import Straight, at_points, from_points
from anyshape.families.conv.winograd_plan import (
    BLOCK,
    COLUMNS,
    COUNT,
    FIRST,
    GROUP,
    IMAGE,
    MOST_TILES,
    PANEL,
    ROWS,
    TILE,
    TILES,
    WinogradPlan,
)
from anyshape.families.dot.plan import COLUMN, flat
from anyshape.families.family import Job
from anyshape.ir.types import bool_, f32, i64
from anyshape.loop import (
    Accumulator,
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Kernel,
    Literal,
    Load,
    Local,
    Matrix,
    Multiply,
    Number,
    Prepare,
    Scalar,
    Span,
    Statement,
    Store,
    Update,
)
from anyshape.loop.merge import flat_buffer
from anyshape.lower.tasks import TASK
from anyshape.lower.winograd import TAPS
from anyshape.sym import Dim, Less, LessEqual, Symbol, minimum

POINT, CHANNEL, STEP, DEPTH, AGAIN, ONCE = (Symbol(name) for name in ("z", "c", "s", "d", "a", "o"))
ROW, PLACE, TAP_ROW, TAP, ZEROED = (Symbol(name) for name in ("y", "x", "kh", "kw", "v"))
ZERO, ONE = Dim.of(0), Dim.of(1)
NOTHING = Literal.of(0, f32)


def winograd_kernel(plan: WinogradPlan, job: Job) -> Kernel:
    """The kernel of a region whose convolution has weights in both forms."""
    form, inputs = plan.form, job.inputs
    epilogue = _epilogue(plan, job)
    buffers = {b.name: epilogue.views.get(b.name, flat_buffer(b)) for b in (*inputs, *job.outputs)}
    x, weights, points = (
        inputs[param] for param in (form.x_param, form.weights_param, form.points_param)
    )
    buffers[x.name], buffers[weights.name] = plan.input_buffer(x), plan.weights_buffer(weights)
    size = plan.scheme.points * plan.direct.panels * plan.channels * plan.width
    buffers[points.name] = flat(points, size)
    read = buffers[x.name], buffers[weights.name], buffers[points.name]
    code = _Code(plan, *read, epilogue)
    body = (*plan.parts_of_task, *code.task())
    given = tuple(buffers.values()), job.sizes, TASK, plan.tasks
    scratch = plan.patches, plan.products, plan.results
    return Kernel(*given, body, job.facts, scratch)


def _epilogue(plan: WinogradPlan, job: Job) -> Epilogue:
    """For one channel at one place of a tile."""
    row, place = (c + Dim.of(s) for c, s in zip(plan.corner, (ROW, PLACE), strict=True))
    element = Dim.of(IMAGE), row, place, plan.first_channel + Dim.of(COLUMN)
    found = Dim.of(TILE), Dim.of(ROW) * plan.scheme.tile + Dim.of(PLACE), Dim.of(COLUMN)
    return Epilogue.at_place(plan.form.conv, job, element, (plan.results, found))


@dataclass(frozen=True, slots=True)
class _Code:
    """The statements of a task."""

    plan: WinogradPlan
    x: Buffer
    weights: Buffer
    points: Buffer
    epilogue: Epilogue

    def task(self) -> Iterator[Statement]:
        yield Prepare((BLOCK,), tuple(self._patches()))
        bad, some = Local("bad", f32), Local("some", f32)
        group = (
            *self.plan.parts_of_group,
            For(POINT, Dim.of(self.plan.scheme.points), tuple(self._products())),
            For(TILE, Dim.of(COUNT), (self._tile(some), Update(bad, some)), (_added(bad),)),
            Bind(AGAIN, Apply("cast", (Apply("is_nan", (bad,), bool_),), i64), Dim.of(2)),
            For(ONCE, Dim.of(AGAIN), (For(TILE, Dim.of(COUNT), tuple(self._again())),)),
            For(TILE, Dim.of(COUNT), tuple(self._finished())),
        )
        yield For(GROUP, self.plan.groups, group)

    # --- patches ------------------------------------------------------------------------------

    def _patches(self) -> Iterator[Statement]:
        """Of the block, at all points."""
        yield For(TILE, Dim.of(TILES), (*self.plan.place_of(Dim.of(TILE)), self._patch()))

    def _patch(self) -> For:
        scheme, code = self.plan.scheme, Straight(f32, "v")
        size = range(scheme.size)
        lines = [
            at_points(code, scheme, [code.let(self._met(row, place)) for row in size])
            for place in size
        ]
        for row in size:
            values = at_points(code, scheme, [lines[place][row] for place in size])
            for place, value in enumerate(values):
                index = Dim.of(row * scheme.size + place), Dim.of(TILE), Dim.of(CHANNEL)
                code.body.append(Store(self.plan.patches, index, value))
        return For(CHANNEL, Dim.of(self.plan.channels), tuple(code.body), vector=True)

    def _met(self, row: int | Dim, place: int | Dim) -> Scalar:
        """What is so far from the corner of a patch, 0 outside of the input."""
        moved = zip(self.plan.corner, self.plan.axes, (row, place), strict=True)
        found = tuple(corner - axis.low + away for corner, axis, away in moved)
        inside = zip(found, self.plan.axes, strict=True)
        tests = [t for i, axis in inside for t in (LessEqual(ZERO, i), Less(i, axis.size))]
        load = Load(self.x, (Dim.of(IMAGE), *found, Dim.of(CHANNEL)))
        return Guard(tuple(tests), load, NOTHING)

    # --- products -----------------------------------------------------------------------------

    def _products(self) -> Iterator[Statement]:
        """Sums of at most so many channels are added up: fewer roundings for each."""
        channels, steps = self.plan.channels, self.plan.steps
        if channels <= steps:
            yield self._product(ZERO, Dim.of(channels), added=False)
            return
        index = Dim.of(POINT), Dim.of(ZEROED), Dim.of(COLUMN)
        zero = Store(self.plan.products, index, NOTHING)
        yield For(ZEROED, Dim.of(COUNT), (self._columns(zero),))
        depth = minimum(steps, channels - Dim.of(STEP) * steps)
        sized = Bind(DEPTH, Number(depth), depth + 1)
        product = self._product(Dim.of(STEP) * steps, Dim.of(DEPTH), added=True)
        yield For(STEP, Dim.of(-(-channels // steps)), (sized, product))

    def _product(self, first: Dim, depth: Dim, *, added: bool) -> Multiply:
        plan, points = self.plan, Dim.of(self.plan.scheme.points)
        channels, width = Dim.of(plan.channels), Dim.of(plan.width)
        lhs = Matrix(
            plan.patches,
            (
                Span(points, Dim.of(MOST_TILES) * channels, Dim.of(POINT)),
                Span(Dim.of(MOST_TILES), channels, Dim.of(FIRST), down=ONE),
                Span(channels, ONE, first, right=ONE),
            ),
        )
        panels = plan.direct.panels
        rhs = Matrix(
            self.points,
            (
                Span(points, panels * channels * width, Dim.of(POINT)),
                Span(panels, channels * width, Dim.of(PANEL)),
                Span(channels, width, first, down=ONE),
                Span(width, ONE, ZERO, right=ONE),
            ),
        )
        sizes = Dim.of(COUNT), plan.columns, depth
        at = (Dim.of(POINT),)
        given = plan.products, lhs, rhs, *sizes
        return Multiply(*given, padded=True, added=added, ahead=plan.ahead, at=at)

    # --- results ------------------------------------------------------------------------------

    def _tile(self, some: Local) -> For:
        """A tile from its products, and 0 or NaN, by which is told whether all are finite."""
        plan, scheme, code = self.plan, self.plan.scheme, Straight(f32, "v")
        size = range(scheme.size)
        lines = [
            from_points(code, scheme, [code.let(self._at_point(row, place)) for row in size])
            for place in size
        ]
        found: list[Scalar] = []
        for row in range(scheme.tile):
            found += from_points(code, scheme, [lines[place][row] for place in size])
        for place, value in enumerate(found):
            code.body.append(Store(plan.results, self._result(Dim.of(place)), value))
        total = found[0]
        for value in found[1:]:
            total = code.let(Apply("add", (total, value), f32))
        code.body.append(Update(some, Apply("mul", (total, NOTHING), f32)))
        return For(COLUMN, plan.columns, tuple(code.body), (_added(some),), vector=True)

    def _at_point(self, row: int, place: int) -> Load:
        point = Dim.of(row * self.plan.scheme.size + place)
        return Load(self.plan.products, (point, Dim.of(TILE), Dim.of(COLUMN)))

    def _result(self, place: Dim) -> tuple[Dim, Dim, Dim]:
        return Dim.of(TILE), place, Dim.of(COLUMN)

    def _again(self) -> Iterator[Statement]:
        """A tile as sums over taps and channels."""
        yield from self.plan.place_of(Dim.of(FIRST) + Dim.of(TILE))
        scheme, total = self.plan.scheme, Local("total", f32)
        met = self._met(Dim.of(ROW) + Dim.of(TAP_ROW), Dim.of(PLACE) + Dim.of(TAP))
        row = (Dim.of(TAP_ROW) * TAPS + Dim.of(TAP)) * self.plan.channels + Dim.of(CHANNEL)
        weight = Load(self.weights, (Dim.of(PANEL), row, Dim.of(COLUMN)))
        added = Update(total, Apply("mul", (met, weight), f32))
        inner = For(CHANNEL, Dim.of(self.plan.channels), (added,))
        taps = For(TAP, Dim.of(TAPS), (inner,))
        sums = For(TAP_ROW, Dim.of(TAPS), (taps,), (_added(total),))
        place = Dim.of(ROW) * scheme.tile + Dim.of(PLACE)
        stored = Store(self.plan.results, self._result(place), total)
        columns = For(COLUMN, self.plan.columns, (sums, stored), vector=True)
        yield For(ROW, Dim.of(scheme.tile), (For(PLACE, Dim.of(scheme.tile), (columns,)),))

    def _finished(self) -> Iterator[Statement]:
        yield from self.plan.place_of(Dim.of(FIRST) + Dim.of(TILE))
        yield from self.plan.parts_of_tile
        columns = For(COLUMN, self.plan.columns, self.epilogue.body, vector=True)
        yield For(ROW, Dim.of(ROWS), (For(PLACE, Dim.of(COLUMNS), (columns,)),))

    def _columns(self, statement: Statement) -> For:
        return For(COLUMN, Dim.of(self.plan.width), (statement,), vector=True)


def _added(local: Local) -> Accumulator:
    return Accumulator(local, "add")
