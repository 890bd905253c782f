"""A convolution divided into tasks, bands and register tiles.

    task: a block of the result's rows, columns of them, and a panel of output channels
      tile: up to `rows` neighbouring places of one row

The *band* of a block is what its taps meet of the input. Where there is padding, or another dtype,
a task copies it into scratch, zeros included, so that its tiles know no edges; tasks that differ in
their panel alone follow each other and share it. All spatial axes are taken as three: depth, rows
and columns, of which those that a convolution lacks have one place and one tap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.families.conv.match import ConvMatch
from anyshape.families.dot.plan import (
    SUMS,
    dtype_in_groups,
    grouped,
    scratch,
    task_parts,
    total_of,
)
from anyshape.ir.types import DType, Shape
from anyshape.loop import Bind, Buffer, Number
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import Tiling
from anyshape.sym import Axis, Dim, Symbol, ceildiv, maximum, minimum, product

BATCH, SLICE, ROWS, PLACES, GROUP, PANEL = (Symbol(name) for name in ("q", "d", "b", "e", "g", "p"))
FIRST_ROW, HEIGHT, FIRST_PLACE, LENGTH, WIDTH = (
    Symbol(name) for name in ("fr", "h", "fp", "l", "w")
)
TILE, FIRST, COUNT = (Symbol(name) for name in ("r", "f", "m"))
MOST_ROWS, MOST_PLACES = Symbol("br"), Symbol("bp")
"""Sizes of the kernel that level 2 computes: rows and places of a block."""

BAND_BYTES = 256 << 10
"""Of a band: it stays in the second level, beside a panel."""

TASKS_FOR_EACH = 4
"""Tasks that each thread has at least, if there is so much work."""

ONE = Dim.of(1)


@dataclass(frozen=True, slots=True)
class SpatialAxis:
    """One spatial axis of the input and of the result."""

    size: Dim
    places: Dim
    taps: Dim
    stride: int = 1
    dilation: int = 1
    low: int = 0
    high: int = 0

    @property
    def reach(self) -> Dim:
        """From the first tap to the last."""
        return (self.taps - 1) * self.dilation

    def met(self, places: Dim) -> Dim:
        """How many places of the input so many neighbouring ones of the result meet."""
        return (places - 1) * self.stride + self.reach + 1


@dataclass(frozen=True, slots=True)
class ConvPlan:
    """All that depends on form and tiling alone."""

    form: ConvMatch
    tiling: Tiling

    @property
    def axes(self) -> tuple[SpatialAxis, SpatialAxis, SpatialAxis]:
        form, attrs = self.form, self.form.attrs
        numbers = attrs.strides, attrs.dilations, *form.padding
        sizes = form.x.tensor.shape[1:-1], form.conv.result().tensor.shape[1:-1]
        given = zip(*sizes, self.form.weights.shape[1:-2], *numbers, strict=True)
        missing = SpatialAxis(ONE, ONE, ONE)
        found = [SpatialAxis(*axis) for axis in given]
        slices, rows, places = (*[missing] * (3 - len(found)), *found)
        return slices, rows, places

    @property
    def rank(self) -> int:
        """Spatial axes that the convolution has."""
        return self.form.conv.result().tensor.rank - 2

    def spatial(self, place: tuple[Dim, Dim, Dim]) -> tuple[Dim, ...]:
        """Of a slice, a row and a place, what the convolution has."""
        return place[3 - self.rank :]

    @property
    def batch(self) -> Dim:
        return self.form.conv.result().tensor.shape[0]

    @property
    def channels(self) -> Dim:
        """Of the input."""
        return self.form.conv.operands[0].tensor.shape[-1]

    @property
    def total(self) -> DType:
        return total_of(self.form.conv.result().tensor.dtype)

    @property
    def stored_dtype(self) -> DType:
        return self.form.x.tensor.dtype

    @property
    def group(self) -> int:
        """Steps of k that lie together in panels: more than one for bytes (0059)."""
        dtypes = self.stored_dtype, self.form.weights.base.tensor.dtype
        return grouped(self.total, *dtypes, self.tiling.group) if self.form.stored else 1

    @property
    def multiplied(self) -> DType:
        """The dtype in which micro-kernels read places, and bands have them."""
        return dtype_in_groups(self.group, self.total)

    @property
    def has_band(self) -> bool:
        """Whether tasks copy what they read."""
        padded = any(axis.low or axis.high for axis in self.axes)
        return padded or self.stored_dtype != self.multiplied

    @property
    def joins_taps(self) -> bool:
        """Whether the taps of a row are one run of memory with the channels."""
        return self.form.groups == 1 and self.axes[2].dilation == 1

    @property
    def is_one_product(self) -> bool:
        """Whether there is one row of taps, or one tap, so that nothing is added up in memory."""
        taps = [axis.taps for axis in self.axes]
        return all(dim == 1 for dim in (taps[:2] if self.joins_taps else taps))

    # --- register tiles -----------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Places of a register tile: many where there are registers for it. A panel is then half as
        wide as that of a product, and more often within the cache: depths are long."""
        return 14 if self._has_many_registers else self.tiling.rows

    @property
    def width(self) -> int:
        """Output channels of a panel."""
        lanes = self.tiling.vector_bytes // self.total.itemsize
        return lanes * (2 if self._has_many_registers else self.tiling.vectors)

    @property
    def _has_many_registers(self) -> bool:
        return self.tiling.vectors >= 4

    @property
    def panels(self) -> Dim:
        return ceildiv(self.form.outside, self.width)

    @property
    def whole_panels(self) -> bool:
        return self.form.outside % self.width == 0

    # --- blocks -------------------------------------------------------------------------------

    @property
    def own_axes(self) -> tuple[Axis, ...]:
        return Axis(MOST_ROWS.name, min=1), Axis(MOST_PLACES.name, min=1)

    @property
    def block(self) -> tuple[Dim, Dim]:
        """Rows and places of a block: as much as a band has room for, but something for everyone,
        and all blocks of about one size."""
        slices, rows, places = self.axes
        room = BAND_BYTES // self.multiplied.itemsize
        element = maximum(1, self.channels * slices.taps)
        most = (room // (element * rows.taps) - places.reach) // places.stride
        length = even(places.places, maximum(self.rows, most))
        most = (room // (element * places.met(length)) - rows.reach) // rows.stride
        others = product((self.batch, slices.places, *self.panels_of_block))
        wanted = ceildiv(Dim.of(TASKS_FOR_EACH * self.tiling.threads), maximum(1, others))
        most = minimum(most, ceildiv(rows.places, wanted))
        return even(rows.places, most), length

    @property
    def panels_of_block(self) -> Shape:
        """Groups, and panels of each: a task has one of them."""
        return self.form.groups, self.panels

    @property
    def extents(self) -> Shape:
        """Of the parts of a task; those of one band follow each other."""
        slices, rows, places = self.axes
        blocks = (
            ceildiv(rows.places, Dim.of(MOST_ROWS)),
            ceildiv(places.places, Dim.of(MOST_PLACES)),
        )
        return self.batch, slices.places, *blocks, *self.panels_of_block

    @property
    def keys(self) -> tuple[Symbol, ...]:
        """What tasks of one band have in common."""
        return BATCH, SLICE, ROWS, PLACES

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Of the parts of a task."""
        return (*self.keys, GROUP, PANEL)[: len(self.extents)]

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        """Parts of a task as indices of their own: proofs need no division."""
        _, rows, places = self.axes
        parts = task_parts(self.symbols, self.extents)
        return (
            *parts,
            *_block(FIRST_ROW, HEIGHT, Dim.of(ROWS), Dim.of(MOST_ROWS), rows.places),
            *_block(FIRST_PLACE, LENGTH, Dim.of(PLACES), Dim.of(MOST_PLACES), places.places),
            *self._width,
        )

    @property
    def first_column(self) -> Dim:
        return Dim.of(PANEL) * self.width

    @property
    def first_channel(self) -> Dim:
        """Of the result."""
        return Dim.of(GROUP) * self.form.outside + self.first_column

    @property
    def columns_left(self) -> Dim:
        """From this panel on."""
        return self.form.outside - self.first_column

    @property
    def columns(self) -> Dim:
        """Of this panel; the last one may be narrower."""
        return Dim.of(self.width) if self.whole_panels else Dim.of(WIDTH)

    @property
    def _width(self) -> Iterator[Bind]:
        if not self.whole_panels:
            size = minimum(self.width, self.columns_left)
            yield Bind(WIDTH, Number(size), size + 1)

    # --- tiles --------------------------------------------------------------------------------

    @property
    def tiles(self) -> Dim:
        """Register tiles of a row of the block."""
        return ceildiv(Dim.of(LENGTH), self.rows)

    @property
    def parts_of_tile(self) -> tuple[Bind, Bind]:
        """The first place of a tile within its row, and how many it has: about as many each."""
        length, tile, tiles = Dim.of(LENGTH), Dim.of(TILE), maximum(1, self.tiles)
        first, last = (length * number // tiles for number in (tile, tile + 1))
        most = minimum(self.rows, length - Dim.of(FIRST)) + 1
        return (
            Bind(FIRST, Number(first), maximum(1, length)),
            Bind(COUNT, Number(last - Dim.of(FIRST)), most),
        )

    # --- memory -------------------------------------------------------------------------------

    @property
    def sums(self) -> Buffer:
        return scratch(SUMS, self.total, (Dim.of(self.rows), Dim.of(self.width)))

    @property
    def band(self) -> Buffer:
        slices, rows, places = self.axes
        sizes = rows.met(Dim.of(MOST_ROWS)), places.met(Dim.of(MOST_PLACES)) * self.channels
        return scratch("band", self.multiplied, (slices.taps, *sizes))

    def packing(self) -> Packing:
        """How constant weights are to be stored. Groups of k end where a product does: panels are
        then those of a row of taps, or of a tap."""
        axes = [axis for axis in self.form.weights.axes if axis is not None]
        first = 1 if self.group == 1 else len(axes) - (3 if self.joins_taps else 2)
        batch, depth = tuple(axes[:first]), tuple(axes[first:-1])
        return Packing(batch, depth, (axes[-1],), self.width, group=self.group)


def even(whole: Dim, most: Dim) -> Dim:
    """Of blocks with no more than `most`: about equally much in each, and never nothing."""
    most = maximum(1, minimum(whole, most))
    return maximum(1, ceildiv(whole, maximum(1, ceildiv(whole, most))))


def _block(first: Symbol, count: Symbol, number: Dim, most: Dim, whole: Dim) -> tuple[Bind, Bind]:
    """Where a block begins, and how much of it there is."""
    size = minimum(most, whole - Dim.of(first))
    return Bind(first, Number(number * most), whole), Bind(count, Number(size), size + 1)
