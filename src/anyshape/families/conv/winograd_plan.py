"""A convolution in Winograd's form divided into tasks, tiles and products.

    task: a block of tiles, whatever rows and images they are of, and a panel of output channels
      group: up to `rows` tiles, as many as a register tile has rows

Tiles are counted along a row of tiles, then over the rows, then over the images, so that small
images fill register tiles together. At an edge, places of a tile that are none of the result are
left out, and places of its patch outside of the input are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.families.conv.match import ConvMatch
from anyshape.families.conv.plan import ConvPlan, SpatialAxis, even
from anyshape.families.dot.plan import scratch, task_parts
from anyshape.ir.node import Region
from anyshape.ir.types import TensorType, f32
from anyshape.loop import Bind, Buffer, Number
from anyshape.loop.ir import Ahead
from anyshape.loop.printer import row_major
from anyshape.lower.effort import Effort, region_effort
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import Tiling
from anyshape.lower.winograd import TAPS, Scheme, scheme
from anyshape.sym import Axis, Dim, Symbol, ceildiv, maximum, minimum

BLOCK, PANEL, FIRST_TILE, TILES, WIDTH = (Symbol(name) for name in ("b", "p", "ft", "nt", "w"))
TILE, IMAGE, TILE_ROW, TILE_COLUMN = (Symbol(name) for name in ("r", "q", "tr", "tc"))
ROWS, COLUMNS = Symbol("nr"), Symbol("nc")
GROUP, FIRST, COUNT = (Symbol(name) for name in ("g", "f", "m"))
MOST_TILES = Symbol("bt")
"""A size of the kernel that level 2 computes: tiles of a block."""

PATCH_BYTES = 512 << 10
"""Of the patches of a block at all points: half of a second level."""

TASKS_FOR_EACH = 3
"""Blocks for each thread, if there is so much work."""

PARTS = {2: 1, 4: 2}
"""Sums of input channels for each tile, at least: those of fewer terms have smaller errors."""

MOST_STEPS = {2: 128, 4: 32}
"""Terms of each of these sums."""


@dataclass(frozen=True, slots=True)
class WinogradPlan:
    """All that depends on form and tiling alone."""

    form: ConvMatch
    tiling: Tiling

    @property
    def direct(self) -> ConvPlan:
        """The other form: its panels of output channels are those of this one."""
        return ConvPlan(self.form, self.tiling)

    @property
    def scheme(self) -> Scheme:
        return scheme(self.form.tile)

    @property
    def axes(self) -> tuple[SpatialAxis, SpatialAxis]:
        _, rows, places = self.direct.axes
        return rows, places

    @property
    def channels(self) -> int:
        """Of the input."""
        return int(self.form.inside)

    @property
    def steps(self) -> int:
        """Input channels whose products are one sum."""
        tile, channels = self.form.tile, self.channels
        parts = max(PARTS[tile], -(-channels // MOST_STEPS[tile]))
        return -(-channels // parts)

    # --- tiles --------------------------------------------------------------------------------

    @property
    def grid(self) -> tuple[Dim, Dim]:
        """Rows of tiles of an image, and tiles of a row."""
        rows, places = (ceildiv(axis.places, self.scheme.tile) for axis in self.axes)
        return rows, places

    @property
    def tiles(self) -> Dim:
        """Of all images."""
        rows, places = self.grid
        return self.direct.batch * rows * places

    @property
    def rows(self) -> int:
        """Tiles of a group."""
        return self.direct.rows

    @property
    def groups(self) -> Dim:
        """Of a block."""
        return ceildiv(Dim.of(TILES), self.rows)

    # --- blocks -------------------------------------------------------------------------------

    @property
    def own_axes(self) -> tuple[Axis]:
        return (Axis(MOST_TILES.name, min=1),)

    @property
    def block(self) -> Dim:
        """Tiles of a block: as many as there is room for, but something for everyone, and whole
        groups."""
        bytes_of_tile = self.scheme.points * self.channels * f32.itemsize
        most = max(1, PATCH_BYTES // bytes_of_tile // self.rows) * self.rows
        wanted = ceildiv(self.tiles, Dim.of(TASKS_FOR_EACH * self.tiling.threads))
        whole = ceildiv(wanted, self.rows) * self.rows
        return even(self.tiles, minimum(most, maximum(self.rows, whole)))

    @property
    def blocks(self) -> Dim:
        return ceildiv(self.tiles, Dim.of(MOST_TILES))

    @property
    def tasks(self) -> Dim:
        """That one runs says that there is an image."""
        return self.blocks * self.direct.panels * minimum(1, self.direct.batch)

    @property
    def parts_of_task(self) -> Iterator[Bind]:
        yield from task_parts((BLOCK, PANEL), (self.blocks, self.direct.panels))
        first, most = Dim.of(FIRST_TILE), Dim.of(MOST_TILES)
        yield Bind(FIRST_TILE, Number(Dim.of(BLOCK) * most), maximum(1, self.tiles))
        yield Bind(TILES, Number(minimum(most, self.tiles - first)), most + 1)
        if not self.direct.whole_panels:
            size = minimum(self.width, self.form.outside - self.first_channel)
            yield Bind(WIDTH, Number(size), size + 1)

    @property
    def parts_of_group(self) -> tuple[Bind, Bind]:
        """The first tile of a group within its block, and how many it has: about as many each."""
        tiles, group, groups = Dim.of(TILES), Dim.of(GROUP), maximum(1, self.groups)
        first, last = (tiles * number // groups for number in (group, group + 1))
        most = minimum(self.rows, tiles - Dim.of(FIRST)) + 1
        return (
            Bind(FIRST, Number(first), maximum(1, tiles)),
            Bind(COUNT, Number(last - Dim.of(FIRST)), most),
        )

    def place_of(self, tile: Dim) -> tuple[Bind, Bind, Bind]:
        """Where a tile of the block is."""
        number = Dim.of(FIRST_TILE) + tile
        rows, places = self.grid
        return (
            Bind(IMAGE, Number(number // (rows * places)), maximum(1, self.direct.batch)),
            Bind(TILE_ROW, Number(number // places % rows), rows),
            Bind(TILE_COLUMN, Number(number % places), places),
        )

    @property
    def corner(self) -> tuple[Dim, Dim]:
        """The first row and place of a tile in the result."""
        return Dim.of(TILE_ROW) * self.scheme.tile, Dim.of(TILE_COLUMN) * self.scheme.tile

    @property
    def parts_of_tile(self) -> Iterator[Bind]:
        """Its rows and places that are in the result."""
        for symbol, axis, first in zip((ROWS, COLUMNS), self.axes, self.corner, strict=True):
            size = minimum(self.scheme.tile, axis.places - first)
            yield Bind(symbol, Number(size), size + 1)

    # --- panels -------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return self.direct.width

    @property
    def first_channel(self) -> Dim:
        return Dim.of(PANEL) * self.width

    @property
    def columns(self) -> Dim:
        """Of this panel; the last one may be narrower."""
        return Dim.of(self.width) if self.direct.whole_panels else Dim.of(WIDTH)

    @property
    def ahead(self) -> Ahead | None:
        """What is multiplied at the next point, if weights come from beyond the second level: it
        lies behind all other panels of this point, where no CPU looks by itself."""
        if not self.tiling.far_weights:
            return None
        distance = self.direct.panels * self.channels * self.width
        return Ahead(distance, Dim.of(0), Dim.of(1))

    # --- memory -------------------------------------------------------------------------------

    def input_buffer(self, x: Buffer) -> Buffer:
        """[batch, rows, places, channels]."""
        sizes = (axis.size for axis in self.axes)
        shape = self.direct.batch, *sizes, Dim.of(self.channels)
        return Buffer(x.name, x.dtype, shape, row_major(shape))

    def weights_buffer(self, given: Buffer) -> Buffer:
        """[panels, taps and channels, channels of a panel]."""
        shape = self.direct.panels, Dim.of(TAPS**2 * self.channels), Dim.of(self.width)
        return Buffer(given.name, given.dtype, shape, row_major(shape))

    @property
    def patches(self) -> Buffer:
        """The patches of a block at all points."""
        sizes = Dim.of(self.scheme.points), Dim.of(MOST_TILES), Dim.of(self.channels)
        return scratch("patches", f32, sizes)

    @property
    def products(self) -> Buffer:
        """The tiles of a group at all points."""
        return self._group("products", self.scheme.points, 0)

    @property
    def results(self) -> Buffer:
        """The tiles of a group, place by place."""
        return self._group("tiles", self.scheme.tile**2, 1)

    def _group(self, name: str, size: int, axis: int) -> Buffer:
        sizes = [self.rows, self.width]
        sizes.insert(axis, size)
        return scratch(name, f32, tuple(map(Dim.of, sizes)))

    def packing(self) -> Packing:
        """How weights at the points are stored."""
        return Packing((0,), (1,), (2,), self.width)

    # --- effort -------------------------------------------------------------------------------

    def effort(self, direct: Effort) -> Effort:
        """Of this form, from that of the other one."""
        inside, outside, size = self.channels, int(self.form.outside), self.scheme.size
        products = inside * outside * self.scheme.points
        patches = inside * OPERATIONS * size * 2 * size
        results = outside * OPERATIONS * (size + self.scheme.tile) * size
        more = (self.scheme.points - TAPS**2) * inside * outside * f32.itemsize
        waits = more * (OPERATIONS_OF_FAR_BYTE if self.tiling.far_weights else 1)
        return Effort(
            2 * self.tiles * products,
            direct.operations + self.tiles * (patches + results) + waits,
            direct.bytes + more,
        )


def direct_effort(form: ConvMatch, region: Region) -> Effort:
    """Of a region with weights in both forms, of which the plain ones are read."""
    points = region.params[form.points_param]
    assert isinstance(points, TensorType)
    whole = region_effort(region, {form.weights_param})
    return whole + Effort(bytes=-(points.size * points.dtype.itemsize))


OPERATIONS = 2
"""For each element that a transform makes along an axis, with what is loaded and stored."""

OPERATIONS_OF_FAR_BYTE = 4
"""In whose time a byte of weights comes from memory, while products of few tiles wait for it."""
