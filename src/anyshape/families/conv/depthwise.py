"""Depthwise convolutions: each channel by itself, neighbouring channels in the lanes of a vector.

    task t: a block of rows and places, a panel of channels
      for y < rows of the block
        for r < tiles of places inside         of four, then of two, then of one
          for j < channels of the panel        a vector loop
            for each row of taps inside
              sum0, sum1, … += products with each tap of the row
            epilogue of sum0, sum1, …
        for r < tiles of places at edges       the same, with zeros outside

The code names every tap of a row and every place of a tile: what several places of it meet is
loaded once, and so is the weight of a tap. Sums stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anyshape.families.conv.depthwise_plan import (
    BASE,
    INSIDE,
    LEFT,
    TILES,
    DepthwisePlan,
    TapRange,
)
from anyshape.families.conv.epilogue import Epilogue
from anyshape.families.conv.plan import (
    BATCH,
    FIRST,
    FIRST_PLACE,
    FIRST_ROW,
    HEIGHT,
    LENGTH,
    SLICE,
    TILE,
)
from anyshape.families.dot.axes import Body
from anyshape.families.dot.plan import COLUMN
from anyshape.families.family import Job
from anyshape.loop import (
    Accumulator,
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Update,
)
from anyshape.loop.merge import flat_buffer
from anyshape.lower.tasks import TASK
from anyshape.sym import Dim, Less, LessEqual, Symbol, maximum, minimum, product

LINE = Symbol("y")


def depthwise_kernel(plan: DepthwisePlan, job: Job) -> Kernel:
    """The kernel of a region with one depthwise convolution."""
    form, inputs = plan.form, job.inputs
    epilogue = Epilogue.of(plan, job, Dim.of(LINE))
    buffers = {b.name: epilogue.views.get(b.name, flat_buffer(b)) for b in (*inputs, *job.outputs)}
    x, weights = (inputs[param] for param in (form.x_param, form.weights_param))
    buffers[x.name], buffers[weights.name] = plan.input_buffer(x), plan.weights_buffer(weights)
    code = _Code(plan, buffers[x.name], buffers[weights.name], epilogue)
    body = (*plan.parts_of_task, *code.task())
    given = tuple(buffers.values()), job.sizes, TASK, product(plan.extents)
    return Kernel(*given, body, job.facts)


@dataclass(frozen=True, slots=True)
class _Code:
    """The statements of a task."""

    plan: DepthwisePlan
    x: Buffer
    weights: Buffer
    epilogue: Epilogue

    @property
    def ranges(self) -> tuple[TapRange, TapRange]:
        slices, rows = map(TapRange, self.plan.axes[:2], "dh")
        return slices, rows

    def task(self) -> Iterator[Statement]:
        slices, rows = self.ranges
        yield from slices.at(Dim.of(SLICE))
        yield from self.plan.parts_of_row
        row = (*rows.at(Dim.of(FIRST_ROW) + Dim.of(LINE)), *self._row())
        yield For(LINE, Dim.of(HEIGHT), row)

    def _row(self) -> Iterator[For]:
        left, inside, done = Dim.of(LEFT), Dim.of(INSIDE), Dim.of(0)
        rest = inside
        for count in TILES:
            first = left + done + Dim.of(TILE) * count
            yield For(TILE, rest // count, tuple(self._tile(first, count)))
            done, rest = done + rest // count * count, rest % count
        yield from self._edges()

    def _tile(self, first: Dim, count: int) -> Iterator[Statement]:
        """Places inside."""
        yield Bind(FIRST, Number(first), Dim.of(LENGTH) - (count - 1))
        yield self.plan.base_of(Dim.of(FIRST), count)
        yield self._channels(count, tuple(self._products(count, self._inside)))

    def _edges(self) -> Iterator[For]:
        """Those before what is inside, then those behind it, by tiles of each size."""
        before, after = Dim.of(LEFT), Dim.of(LENGTH) - Dim.of(LEFT) - Dim.of(INSIDE)
        done = Dim.of(0), Dim.of(LEFT) + Dim.of(INSIDE)
        for count in self.plan.tiles_at_edges:
            tile, left, right = Dim.of(TILE), before // count, after // count
            is_behind = minimum(1, maximum(0, tile + 1 - left))
            first = done[0] + tile * count + is_behind * (done[1] - done[0] - left * count)
            yield For(TILE, left + right, tuple(self._edge(first, count)))
            done = done[0] + left * count, done[1] + right * count
            before, after = before % count, after % count

    def _edge(self, first: Dim, count: int) -> Iterator[Statement]:
        yield Bind(FIRST, Number(first), Dim.of(LENGTH) - (count - 1))
        yield self._channels(count, tuple(self._products(count, self._perhaps_outside)))

    def _products(self, count: int, met: Callable[[int], Load | Guard]) -> Iterator[Statement]:
        """Of one row of taps, for all places of a tile; what is read twice is named once."""
        axis = self.plan.axes[2]
        seen: dict[int, Local] = {}
        for tap in range(int(axis.taps)):
            weight = Local(f"tap{tap}", self.plan.total)
            yield Let(weight, self._weight(tap))
            for place in range(count):
                away = place * axis.stride + tap * axis.dilation
                if away not in seen:
                    seen[away] = Local(f"met{len(seen)}", self.plan.total)
                    yield Let(seen[away], self._wide(met(away)))
                product = Apply("mul", (seen[away], weight), self.plan.total)
                yield Update(self._sum(place), product)

    # --- sums ---------------------------------------------------------------------------------

    def _channels(self, count: int, products: Body) -> For:
        """The sums of some places for each channel, from those of a row of taps, and the rest."""
        slices, rows = self.ranges
        sums = tuple(Accumulator(self._sum(place), "add") for place in range(count))
        line = rows.meeting(Dim.of(FIRST_ROW) + Dim.of(LINE)), *products
        inside = slices.meeting(Dim.of(SLICE)), For(rows.tap, rows.count, line)
        loops = For(slices.tap, slices.count, inside, sums)
        after = (s for place in range(count) for s in self.epilogue.at(place, self._sum(place)))
        return For(COLUMN, self.plan.columns, (loops, *after), vector=True)

    def _sum(self, place: int) -> Local:
        return Local(f"sum{place}", self.plan.total)

    @property
    def _channel(self) -> Dim:
        return self.plan.first_channel + Dim.of(COLUMN)

    def _weight(self, tap: int) -> Scalar:
        slices, rows = self.ranges
        place = slices.number, rows.number, Dim.of(tap), self._channel
        return self._wide(Load(self.weights, place))

    def _inside(self, away: int) -> Load:
        """What is so far away from what the first tap of the first place meets."""
        return self._load(Dim.of(BASE) + away)

    def _perhaps_outside(self, away: int) -> Guard:
        axis = self.plan.axes[2]
        place = (Dim.of(FIRST_PLACE) + Dim.of(FIRST)) * axis.stride - axis.low + away
        tests = LessEqual(Dim.of(0), place), Less(place, axis.size)
        return Guard(tests, self._load(place), Literal.of(0, self.x.dtype))

    def _load(self, place: Dim) -> Load:
        slices, rows = self.ranges
        outer = Dim.of(BATCH), slices.met, rows.met
        return Load(self.x, (*outer, place, self._channel))

    def _wide(self, value: Load | Guard) -> Scalar:
        total = self.plan.total
        return value if value.dtype == total else Apply("cast", (value,), total)
