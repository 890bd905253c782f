"""Depthwise convolutions of bytes: two rows of taps at once.

    task t: a block of rows and places, a panel of channels
      for m < rows of pairs
        for u < places that are met
          for j < channels of the panel        a vector loop
            band[m, u, j] = a number, and that of the next row of taps, in 32 bits
      for y < rows of the block
        for r < tiles of places                of eight, then of four, two and one
          for j < channels of the panel        a vector loop
            for each pair of rows of taps
              sum0, sum1, … += both products with each tap of the rows
            epilogue of sum0, sum1, …

An instruction multiplies both numbers of a pair, which 16 bits hold, and adds the products exactly,
in 32 bits. Weights lie in pairs, the last one filled up with zeros. A pair is made once for all
places whose taps meet it, with what is around the input: tiles know no edges. Rows of the result
that are neighbours in the input share their pairs: weights are there twice then, moved by one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as every
from math import gcd

from anyshape.families.conv.band import around, inside
from anyshape.families.conv.depthwise_plan import DepthwisePlan
from anyshape.families.conv.epilogue import Epilogue
from anyshape.families.conv.plan import (
    BATCH,
    FIRST,
    FIRST_PLACE,
    FIRST_ROW,
    GROUP,
    HEIGHT,
    LENGTH,
    MOST_PLACES,
    MOST_ROWS,
    SLICE,
    TASKS_FOR_EACH,
    TILE,
    SpatialAxis,
    even,
)
from anyshape.families.dot.axes import Body
from anyshape.families.dot.plan import COLUMN, scratch
from anyshape.families.family import Job
from anyshape.ir.types import Shape, i8, i32
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
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.loop.merge import flat_buffer
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import accesses
from anyshape.lower.notation import cast, each, lanes
from anyshape.lower.packing import Packing
from anyshape.lower.tasks import TASK
from anyshape.sym import Dim, Less, LessEqual, Symbol, ceildiv, maximum, minimum, product

PAIR = 2  # rows of taps
HALF_BITS = 16
LOW_HALF = Literal.of((1 << HALF_BITS) - 1, i32)

TILES = (8, 4, 2, 1)
"""Places of a tile, the largest first."""

WIDTH = 64
"""Channels of a panel: a cache line of bytes."""

NEAR_BYTES = 96 << 10
"""Of a band: it stays in the second level, and what a row of the block meets in the first."""

LINE, TAP_SLICE, TAP_PLACE, TAP_PAIR = (Symbol(name) for name in ("y", "kd", "kw", "kh"))
BAND_ROW, BAND_PLACE = Symbol("m"), Symbol("u")
PHASE, FIRST_PAIR = Symbol("ph"), Symbol("fm")


@dataclass(frozen=True, slots=True)
class ByteDepthwisePlan(DepthwisePlan):
    """As of others, but what a block meets is copied in pairs. A line has rows, of one place."""

    @property
    def axes(self) -> tuple[SpatialAxis, SpatialAxis, SpatialAxis]:
        slices, rows, places = DepthwisePlan.axes.__get__(self)
        return (slices, places, rows) if self.rank == 1 else (slices, rows, places)

    def spatial(self, place: tuple[Dim, Dim, Dim]) -> tuple[Dim, ...]:
        return place[1:2] if self.rank == 1 else DepthwisePlan.spatial(self, place)

    @property
    def width(self) -> int:
        return max(1, min(int(self.channels), WIDTH))

    # --- pairs --------------------------------------------------------------------------------

    @property
    def phases(self) -> int:
        """Where in a pair the first row of taps may be: it is made for two rows of the result, if
        these are next to each other in the input."""
        rows = self.axes[1]
        return PAIR if rows.dilation == 1 and rows.stride % PAIR else 1

    @property
    def pairs(self) -> int:
        """Of rows of taps."""
        return (int(self.axes[1].taps) + self.phases - 1 + PAIR - 1) // PAIR

    @property
    def step(self) -> int:
        """Rows of the input from a row of pairs to the next: no other ones are multiplied."""
        rows = self.axes[1]
        return PAIR if self.phases > 1 else gcd(rows.stride, PAIR * rows.dilation)

    def rows_of_pairs(self, rows: Dim) -> Dim:
        """How many of them so many rows of the result meet."""
        axis = self.axes[1]
        reach = (rows - 1) * axis.stride + (self.pairs - 1) * PAIR * axis.dilation
        return reach // self.step + 1

    # --- blocks -------------------------------------------------------------------------------

    @property
    def block(self) -> tuple[Dim, Dim]:
        """Rows and places of a block: a near band, and something for everyone."""
        slices, rows, places = self.axes
        column = NEAR_BYTES // self.total.itemsize // (self.width * int(slices.taps))
        most = (column // self.rows_of_pairs(Dim.of(1)) - places.reach) // places.stride
        length = even(places.places, maximum(TILES[0], most))
        most = (
            column // places.met(length) * self.step - self.pairs * PAIR * rows.dilation
        ) // rows.stride
        others = product((self.batch, slices.places, ceildiv(places.places, length), self.panels))
        wanted = ceildiv(Dim.of(TASKS_FOR_EACH * self.tiling.threads), maximum(1, others))
        most = minimum(maximum(TILES[1], most), ceildiv(rows.places, wanted))
        return even(rows.places, most), length

    @property
    def extents(self) -> Shape:
        """Tasks of one panel follow each other: they have its weights in common."""
        *block, panels = DepthwisePlan.extents.__get__(self)
        return panels, *block

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return GROUP, *self.keys

    @property
    def tiles_of_row(self) -> tuple[int, ...]:
        """Sizes of tiles that there may be."""
        most = self.axes[2].places.constant
        return TILES if most is None else tuple(count for count in TILES if count <= max(1, most))

    def parts_of_line(self) -> Iterator[Bind]:
        """The row of pairs that the first taps of a row meet, and where in it the first one is."""
        place = Dim.of(LINE) * self.axes[1].stride
        most = self.rows_of_pairs(Dim.of(MOST_ROWS)) - (self.pairs - 1) * self.pair_step
        yield Bind(FIRST_PAIR, Number(place // self.step), most)
        if self.phases > 1:
            yield Bind(PHASE, Number(place % self.step), Dim.of(PAIR))

    @property
    def pair_step(self) -> int:
        """Rows of pairs from a pair of rows of taps to the next."""
        return PAIR * self.axes[1].dilation // self.step

    # --- memory -------------------------------------------------------------------------------

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        return (self.band, self.taps) if self.phases > 1 else (self.band,)

    @property
    def taps(self) -> Buffer:
        """The weights of a panel for each phase."""
        slices, _, places = self.axes
        sizes = slices.taps, places.taps, Dim.of(self.pairs), Dim.of(self.width)
        return scratch("taps", self.total, (Dim.of(self.phases), *sizes))

    @property
    def band(self) -> Buffer:
        slices, _, places = self.axes
        sizes = self.rows_of_pairs(Dim.of(MOST_ROWS)), places.met(Dim.of(MOST_PLACES))
        return scratch("band", self.total, (slices.taps, *sizes, Dim.of(self.width)))

    def packing(self) -> Packing:
        """[taps along slices and places, pairs of rows of taps, channels]."""
        groups, *taps, inside_axis, outside_axis = self.form.weights.axes
        depth = taps[-1] if self.rank == 1 else taps[-2]
        others = (*(axis for axis in taps if axis != depth), inside_axis, outside_axis)
        assert groups is not None, "a constant is seen as a whole"
        batch = tuple(axis for axis in others if axis is not None)
        depths = () if depth is None else (depth,)
        return Packing(batch, depths, (groups,), max(1, int(self.channels)), group=PAIR)

    def weights_buffer(self, given: Buffer) -> Buffer:
        """The same, a pair as one number."""
        slices, _, places = self.axes
        stored = ceildiv(self.axes[1].taps, PAIR)
        shape = slices.taps, places.taps, stored, Dim.of(max(1, int(self.channels)))
        return Buffer(given.name, i32, shape, row_major(shape))


def byte_depthwise_kernel(plan: ByteDepthwisePlan, job: Job) -> Kernel:
    """The kernel of a region with one depthwise convolution of bytes."""
    form, inputs = plan.form, job.inputs
    epilogue = Epilogue.of(plan, job, Dim.of(LINE))
    buffers = {b.name: epilogue.views.get(b.name, flat_buffer(b)) for b in (*inputs, *job.outputs)}
    x, weights = (inputs[param] for param in (form.x_param, form.weights_param))
    buffers[x.name], buffers[weights.name] = plan.input_buffer(x), plan.weights_buffer(weights)
    before, filled = around(plan, job)
    buffers |= {b.name: b for b, _ in accesses(before)}
    pairs = _Pairs(plan, buffers[x.name], filled)
    tiles = _Tiles(plan, buffers[weights.name], epilogue)
    taps = (_prepared_taps(plan, buffers[weights.name]),) if plan.phases > 1 else ()
    body = (*plan.parts_of_task, *before, *taps, pairs.loops(), tiles.loops())
    given = tuple(buffers.values()), job.sizes, TASK, product(plan.extents)
    return Kernel(*given, body, job.facts, plan.scratch)


def _prepared_taps(plan: ByteDepthwisePlan, weights: Buffer) -> Prepare:
    """Weights as they lie, and moved by one row of taps, with zeros around."""
    slices, _, places = plan.axes
    place = Dim.of(TAP_SLICE), Dim.of(TAP_PLACE)

    def stored(pair: Dim) -> Guard:
        channel = plan.first_channel + Dim.of(COLUMN)
        tests = LessEqual(Dim.of(0), pair), Less(pair, weights.shape[2])
        return Guard(tests, Load(weights, (*place, pair, channel)), Literal.of(0, i32))

    def store(phase: int, value: Scalar) -> Store:
        index = Dim.of(phase), *place, Dim.of(TAP_PAIR), Dim.of(COLUMN)
        return Store(plan.taps, index, value)

    pair = Dim.of(TAP_PAIR)
    high = Apply("right_shift", (stored(pair - 1), Literal.of(HALF_BITS, i32)), i32)
    moved = _paired(Apply("bitwise_and", (high, LOW_HALF), i32), stored(pair))
    run = lanes(COLUMN, plan.columns, store(0, stored(pair)), store(1, moved))
    rows = each(TAP_PLACE, places.taps, each(TAP_PAIR, Dim.of(plan.pairs), run))
    return Prepare((GROUP,), (each(TAP_SLICE, slices.taps, rows),))


def _paired(low: Scalar, high: Scalar) -> Scalar:
    """Of a number of 16 bits, and another one in front of it."""
    moved = Apply("left_shift", (high, Literal.of(HALF_BITS, i32)), i32)
    return Apply("bitwise_or", (low, moved), i32)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The band of a block."""

    plan: ByteDepthwisePlan
    x: Buffer
    filled: Scalar

    def loops(self) -> For:
        plan = self.plan
        slices, _, places = plan.axes
        index = Dim.of(TAP_SLICE), Dim.of(BAND_ROW), Dim.of(BAND_PLACE), Dim.of(COLUMN)
        run = lanes(COLUMN, plan.columns, Store(plan.band, index, self._pair()))
        row = each(BAND_PLACE, places.met(Dim.of(LENGTH)), run)
        return each(TAP_SLICE, slices.taps, each(BAND_ROW, plan.rows_of_pairs(Dim.of(HEIGHT)), row))

    def _pair(self) -> Scalar:
        low, high = (cast(self._number(row), i32) for row in range(PAIR))
        if self.x.dtype is i8:
            low = Apply("bitwise_and", (low, LOW_HALF), i32)
        return _paired(low, high)

    def _number(self, row: int) -> Guard:
        slices, rows, places = self.plan.axes
        met = (
            Dim.of(SLICE) * slices.stride + Dim.of(TAP_SLICE) * slices.dilation - slices.low,
            Dim.of(FIRST_ROW) * rows.stride
            + Dim.of(BAND_ROW) * self.plan.step
            + row * rows.dilation
            - rows.low,
            Dim.of(FIRST_PLACE) * places.stride + Dim.of(BAND_PLACE) - places.low,
        )
        load = Load(self.x, (Dim.of(BATCH), *met, self.plan.first_channel + Dim.of(COLUMN)))
        return Guard(inside(met, self.x.shape[1:-1]), load, self.filled)


@dataclass(frozen=True, slots=True)
class _Tiles:
    """The sums of a block, and what follows them."""

    plan: ByteDepthwisePlan
    weights: Buffer
    epilogue: Epilogue

    def loops(self) -> For:
        return each(LINE, Dim.of(HEIGHT), *self.plan.parts_of_line(), *self._row())

    def _row(self) -> Iterator[For]:
        length, done = Dim.of(LENGTH), Dim.of(0)
        left = length
        for count in self.plan.tiles_of_row:
            first = Bind(FIRST, Number(done + Dim.of(TILE) * count), length - (count - 1))
            yield each(TILE, left // count, first, self._channels(count))
            done, left = done + left // count * count, left % count

    def _channels(self, count: int) -> For:
        """The sums of some places for each channel, and the rest."""
        slices = self.plan.axes[0].taps
        sums = tuple(Accumulator(self._sum(place), "add") for place in range(count))
        products = For(TAP_PAIR, Dim.of(self.plan.pairs), tuple(self._products(count)))
        loops = For(TAP_SLICE, slices, (products,), sums)
        after = (s for place in range(count) for s in self.epilogue.at(place, self._sum(place)))
        return lanes(COLUMN, self.plan.columns, loops, *after)

    def _products(self, count: int) -> Body:
        """Of a pair of rows of taps, for all places of a tile; each pair of numbers in turn."""
        axis = self.plan.axes[2]
        uses: dict[int, list[tuple[int, int]]] = {}
        for place, tap in every(range(count), range(int(axis.taps))):
            uses.setdefault(place * axis.stride + tap * axis.dilation, []).append((place, tap))
        taps = [Local(f"tap{tap}", i32) for tap in range(int(axis.taps))]
        found: list[Statement] = [Let(tap, self._weight(n)) for n, tap in enumerate(taps)]
        for number, (away, users) in enumerate(sorted(uses.items())):
            met = Local(f"met{number}", i32)
            found.append(Let(met, self._met(away)))
            for place, tap in users:
                found.append(Update(self._sum(place), Apply("pair_dot", (met, taps[tap]), i32)))
        return tuple(found)

    def _sum(self, place: int) -> Local:
        return Local(f"sum{place}", i32)

    def _weight(self, tap: int) -> Load:
        index = Dim.of(TAP_SLICE), Dim.of(tap), Dim.of(TAP_PAIR)
        if self.plan.phases > 1:
            return Load(self.plan.taps, (Dim.of(PHASE), *index, Dim.of(COLUMN)))
        return Load(self.weights, (*index, self.plan.first_channel + Dim.of(COLUMN)))

    def _met(self, away: int) -> Load:
        """What is so far away from what the first tap of the first place meets."""
        row = Dim.of(FIRST_PAIR) + Dim.of(TAP_PAIR) * self.plan.pair_step
        place = Dim.of(FIRST) * self.plan.axes[2].stride + away
        return Load(self.plan.band, (Dim.of(TAP_SLICE), row, place, Dim.of(COLUMN)))
