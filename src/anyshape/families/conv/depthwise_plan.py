"""A depthwise convolution divided into tasks, and its places into those at edges and the others.

    task: a block of the result's rows, places of them, and a panel of channels
      inside: places whose taps all meet the input; tiles of some of them have code of their own
      edges: places of which a tap along the row is outside; they test what they read

Nothing is copied. Taps along rows and slices that are outside are left out for all places of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.families.conv.plan import (
    FIRST_PLACE,
    GROUP,
    LENGTH,
    TASKS_FOR_EACH,
    ConvPlan,
    SpatialAxis,
    even,
)
from anyshape.ir.types import Shape
from anyshape.loop import Bind, Buffer, Number
from anyshape.loop.printer import row_major
from anyshape.lower.packing import Packing
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum, product

LEFT, INSIDE, BASE = (Symbol(name) for name in ("le", "in", "u"))
PADDED, WITHIN = Symbol("pe"), Symbol("wi")
"""The same, before rows with few places inside are taken as edges throughout."""

TILES = (4, 2, 1)
"""Places of a tile, the largest first: with more than four, what they meet no longer fits the
registers of all instruction sets."""

NEAR_BYTES = 24 << 10
"""Of the input that the places of a block's row meet: it stays in the first level, since the next
row meets most of it again."""

NEAR_WEIGHTS = 8 << 10
"""Bytes of the weights of a panel, which stay there too."""


@dataclass(frozen=True, slots=True)
class TapRange:
    """Along one axis: the taps that meet the input, and where the one in hand does.

    All of them do, where there is no padding.
    """

    axis: SpatialAxis
    letter: str

    @property
    def first(self) -> Dim:
        return self._named("fk") if self._is_padded else Dim.of(0)

    @property
    def count(self) -> Dim:
        return self._named("nk") if self._is_padded else self.axis.taps

    @property
    def tap(self) -> Symbol:
        """Counts them."""
        return Symbol(f"k{self.letter}")

    @property
    def number(self) -> Dim:
        """Of the tap in hand."""
        return self.first + Dim.of(self.tap)

    @property
    def met(self) -> Dim:
        """What the tap in hand meets."""
        return self._named("x")

    def at(self, place: Dim) -> Iterator[Bind]:
        """The range, from a place of the result."""
        axis, first = self.axis, self.first
        if not self._is_padded:
            return
        begin = place * axis.stride - axis.low
        behind = minimum(axis.taps, (axis.size - 1 - begin) // axis.dilation + 1)
        most = minimum(axis.taps - first, axis.size * axis.taps)  # none, if the input has none
        outside = ceildiv(-begin, Dim.of(axis.dilation))
        yield Bind(_symbol(first), Number(outside), axis.taps + 1)
        yield Bind(_symbol(self.count), Number(behind - first), most + 1)

    def meeting(self, place: Dim) -> Bind:
        axis = self.axis
        number = place * axis.stride - axis.low + self.number * axis.dilation
        return Bind(_symbol(self.met), Number(number), axis.size)

    @property
    def _is_padded(self) -> bool:
        return bool(self.axis.low or self.axis.high)

    def _named(self, what: str) -> Dim:
        return Dim.of(Symbol(f"{what}{self.letter}"))


def _symbol(dim: Dim) -> Symbol:
    (symbol,) = dim.symbols
    return symbol


@dataclass(frozen=True, slots=True)
class DepthwisePlan(ConvPlan):
    """As of any convolution, but channels are in their order, and a panel has some of them."""

    @property
    def width(self) -> int:
        """Channels of a panel: so many vectors, a power of two, that their weights stay near."""
        vectors = 2 * self.tiling.vector_bytes // self.total.itemsize
        taps = int(product(axis.taps for axis in self.axes))
        while 2 * vectors * taps * self.total.itemsize <= NEAR_WEIGHTS:
            vectors *= 2
        return max(1, min(int(self.channels), vectors))

    @property
    def panels(self) -> Dim:
        return ceildiv(self.channels, self.width)

    @property
    def panels_of_block(self) -> Shape:
        return (self.panels,)

    @property
    def whole_panels(self) -> bool:
        return self.channels % self.width == 0

    @property
    def first_column(self) -> Dim:
        return Dim.of(GROUP) * self.width

    @property
    def first_channel(self) -> Dim:
        return self.first_column

    @property
    def columns_left(self) -> Dim:
        return self.channels - self.first_column

    def packing(self) -> Packing:
        """[taps, channels]."""
        groups, *taps, inside, outside = (axis for axis in self.form.weights.axes)
        depth = tuple(axis for axis in (*taps, inside, outside) if axis is not None)
        assert groups is not None, "a constant is seen as a whole"
        return Packing((), depth, (groups,), max(1, int(self.channels)))

    @property
    def block(self) -> tuple[Dim, Dim]:
        """Rows and places of a block: few enough places, and something for everyone."""
        slices, rows, places = self.axes
        row = self.width * slices.taps * rows.taps
        most = (NEAR_BYTES // self.stored_dtype.itemsize // row - places.reach) // places.stride
        length = even(places.places, maximum(2 * TILES[0], most))
        blocks = ceildiv(places.places, length), self.panels
        others = product((self.batch, slices.places, *blocks))
        wanted = ceildiv(Dim.of(TASKS_FOR_EACH * self.tiling.threads), maximum(1, others))
        return even(rows.places, ceildiv(rows.places, wanted)), length

    # --- places of a row ----------------------------------------------------------------------

    @property
    def _most_at_edges(self) -> int:
        axis = self.axes[2]
        return -(-max(axis.low, axis.high) // axis.stride)

    @property
    def _joins_short_rows(self) -> bool:
        """Whether rows with few places inside are edges throughout: in larger tiles, what places
        share is loaded once. Where edges have one place, most of such a row is inside."""
        return self._most_at_edges > 1

    @property
    def tiles_at_edges(self) -> tuple[int, ...]:
        """Sizes of tiles that there may be."""
        if self._joins_short_rows:
            return TILES
        return tuple(count for count in TILES if count <= self._most_at_edges)

    @property
    def parts_of_row(self) -> Iterator[Bind]:
        """Of a block: places at the left edge, and those behind them that are inside."""
        if not self._joins_short_rows:
            yield from self._edge_and_inside(LEFT, INSIDE)
            return
        yield from self._edge_and_inside(PADDED, WITHIN)
        length, is_long = Dim.of(LENGTH), minimum(1, Dim.of(WITHIN) // TILES[0])
        left = length + is_long * (Dim.of(PADDED) - length)
        yield Bind(LEFT, Number(left), length + 1)
        yield Bind(INSIDE, Number(is_long * Dim.of(WITHIN)), self._most_inside(LEFT) + 1)

    def _edge_and_inside(self, edge: Symbol, inside: Symbol) -> Iterator[Bind]:
        axis, first, left = self.axes[2], Dim.of(FIRST_PLACE), Dim.of(edge)
        yield Bind(edge, Number(ceildiv(Dim.of(axis.low), axis.stride) - first), Dim.of(LENGTH) + 1)
        last = (axis.size - 1 - axis.reach + axis.low) // axis.stride
        yield Bind(inside, Number(last + 1 - first - left), self._most_inside(edge) + 1)

    def _most_inside(self, edge: Symbol) -> Dim:
        return minimum(Dim.of(LENGTH) - Dim.of(edge), maximum(0, self._fitting))

    @property
    def _fitting(self) -> Dim:
        """Places of which all taps meet the input, at most."""
        axis = self.axes[2]
        return (axis.size - 1 - axis.reach) // axis.stride + 1

    def base_of(self, first: Dim, count: int) -> Bind:
        """What the first tap of a tile inside meets."""
        axis = self.axes[2]
        number = (Dim.of(FIRST_PLACE) + first) * axis.stride - axis.low
        return Bind(BASE, Number(number), axis.size - axis.reach - (count - 1) * axis.stride)

    # --- memory -------------------------------------------------------------------------------

    def input_buffer(self, x: Buffer) -> Buffer:
        """[batch, slices, rows, places, channels]."""
        shape = self.batch, *(axis.size for axis in self.axes), self.channels
        return Buffer(x.name, x.dtype, shape, row_major(shape))

    def weights_buffer(self, given: Buffer) -> Buffer:
        """[taps along slices, rows and places, channels]."""
        shape = *(axis.taps for axis in self.axes), Dim.of(max(1, int(self.channels)))
        return Buffer(given.name, given.dtype, shape, row_major(shape))
