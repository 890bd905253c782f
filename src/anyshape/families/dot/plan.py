"""A matrix product divided into tasks, panels and register tiles.

    task: a block of rows times one panel of columns
      tile r of the block: some rows from `first_row` on

A task that computes an operand has several panels, or several blocks (`matrix_run.py`). All of it
is arithmetic on sizes; what the tasks do is in `matrix.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anyshape.analysis.matrix_sides import Side
from anyshape.families.dot.match import MatmulMatch, Panels
from anyshape.families.dot.task_runs import RUN, RUNS, Run
from anyshape.families.dot.tiles import Tiles
from anyshape.ir.types import DType, Shape, f32, i8, i16, i32, u8
from anyshape.loop import Bind, Buffer, Number
from anyshape.loop.ir import Ahead
from anyshape.loop.printer import row_major
from anyshape.lower.movement import delinear
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import Tiling
from anyshape.ops.known import DOT
from anyshape.sym import Dim, Symbol, ceildiv, maximum, minimum, product

TASK, PANEL, BLOCK = (Symbol(name) for name in ("t", "p", "b"))
HEIGHT, WIDTH, ROW, COLUMN, DEPTH = (Symbol(name) for name in ("h", "w", "i", "j", "k"))
FIRST_OF_DEPTH, DEPTH_OF_PART = Symbol("fd"), Symbol("nd")
SUMS = "sums"


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """All that depends on form and tiling alone."""

    form: MatmulMatch
    tiling: Tiling

    @property
    def whole_panels(self) -> bool:
        """Whether the number of columns is a multiple of a panel's."""
        return self.form.column_count % self.span == 0

    @property
    def total(self) -> DType:
        """Small numbers are summed in 32 bits."""
        return total_of(self.form.dot.result().tensor.dtype)

    @property
    def group(self) -> int:
        """Steps of k that lie together in panels: more than one for small integers (0059)."""
        rows, columns = (
            side.view.base.tensor.dtype for side in (self.form.rows, self.form.columns)
        )
        stored = self.form.panels is Panels.STORED and self.form.dot.op is DOT
        return grouped(self.total, rows, columns, self.tiling.group) if stored else 1

    @property
    def multiplied_rows(self) -> DType:
        """The dtype in which micro-kernels read rows."""
        return dtype_in_groups(self.group, self.total)

    @property
    def shares_rows(self) -> bool:
        """Whether tasks prepare a block of rows once and use it for a run of panels."""
        return self.form.rows_computed or (self.group > 1 and self._converts_rows)

    @property
    def _converts_rows(self) -> bool:
        """Whether micro-kernels read rows in another dtype, or groups of k that are apart."""
        together = self.group == 1 or self.form.rows.is_run_of_depth
        return self.form.rows.view.base.tensor.dtype != self.multiplied_rows or not together

    @property
    def width(self) -> int:
        """Columns of a panel: fewer, in whole vectors, where halves of few columns would leave most
        of it empty."""
        most = self.tiling.columns(self.total)
        if not self.form.halves:
            return most
        count, lanes = int(self.form.column_count), self.tiling.vector_bytes // self.total.itemsize
        panels = max(1, -(-count // (most // 2)))
        return min(most, 2 * lanes * -(-count // (panels * lanes)))

    @property
    def span(self) -> int:
        """Columns of a result that a panel is for: half as many, if it has two for each."""
        return self.width // self.form.columns_for_each

    @property
    def block(self) -> int:
        """Rows of a task: more of them where each task makes a copy of its panel."""
        if self.rows_first:
            return TILES_OF_ROWS_FIRST * self.tiling.rows
        copies = self.form.panels is Panels.COPIED
        return self.tiling.block * (COPIES_PAY_AFTER if copies else 1)

    @property
    def rows_first(self) -> bool:
        """Whether tasks of one block follow each other, instead of tasks of one panel.

        A thread then has a share of the rows, as it has in the steps around the product, and not of
        the columns: what it reads and writes stays with it. Every thread reads all panels, so they
        must be few, and in memory. Grouped products have their panels for each group.
        """
        if self.form.panels in (Panels.COPIED, Panels.COMPUTED) or self.shares_rows:
            return False
        size = self._bytes_of_panels
        few = size is not None and size <= self.tiling.caches.panels
        return few and self.form.dot.op is DOT

    @property
    def _bytes_of_panels(self) -> int | None:
        """Of all panels of one product, if that is known."""
        columns = self.form.column_count * self.form.columns_for_each
        elements = (self.form.depth * columns).constant
        return None if elements is None else elements * self._bytes_of_weight

    @property
    def _bytes_of_weight(self) -> int:
        return self.total.itemsize if self.group == 1 else 1

    @property
    def ahead(self) -> Ahead | None:
        """What is fetched while a tile is multiplied, if weights come from beyond the second level.

        The first tile of a task would wait for each line of its panel, and the others would leave
        memory idle. So all tiles fetch the next panel, a part each, if two panels fit the second
        level. Where they do not, or one tile is all that there is, it reads on: what the CPU itself
        reads ahead ends with a page.
        """
        depth, caches = self.form.depth.constant, self.tiling.caches
        is_stored = self.form.panels is Panels.STORED and self.form.dot.op is DOT
        if depth is None or not is_stored or not self.tiling.far_weights:
            return None
        if self.group > 1:
            return None  # panels are a quarter as large, and as far away as they are
        size, near = self.total.itemsize, READ_ON // self.total.itemsize
        panel = depth * self.width
        for tiles, most in enumerate(caches.fetched, 2):
            if panel * size <= most:
                return self.tiles.following(panel, tiles, near, caches.late)
        return self.tiles.reading_on(near, caches.late)

    @property
    def batches(self) -> Shape:
        """Parts of the depth come first, if there are any: each is a product of its own."""
        parts = () if self.form.part is None else (self.form.part.parts,)
        return (*parts, *self.operand_batches)

    @property
    def operand_batches(self) -> Shape:
        """Those that the operands have."""
        return tuple(self.form.rows.view.shape[axis] for axis in self.form.rows.batch)

    @property
    def panels(self) -> Dim:
        return ceildiv(self.form.column_count, self.span)

    @property
    def blocks(self) -> Dim:
        return ceildiv(self.form.row_count, self.block)

    # --- the place of one tile ----------------------------------------------------------------

    @property
    def run(self) -> Run | None:
        """What a task goes through, if it computes an operand."""
        if self.form.panels is Panels.COMPUTED:
            return Run(BLOCK, self.blocks, product((*self.batches, self.panels)))
        if self.shares_rows:
            return Run(PANEL, self.panels, product((*self.batches, self.blocks)))
        return None

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        """Batch, panel and block of a task as indices of their own: proofs need no division."""
        symbols = (*(index.symbol for index in self.batch), *self._parts)
        parts = (*task_parts(tuple(filter(None, symbols)), self.extents), *self._depth)
        if self.run is None:
            return (*parts, *self._height, *self._width)
        fixed = self._height if self.run.index is PANEL else self._width
        return (*parts, *self.run.bounds, *fixed)

    @property
    def parts_of_run(self) -> tuple[Bind, ...]:
        """What changes from one step of a run to the next."""
        if self.run is None:
            return ()
        return self._width if self.run.index is PANEL else self._height

    @property
    def keys(self) -> tuple[Symbol, ...]:
        """What tasks have in common that need the same part of a computed operand."""
        symbols = (*(index.symbol for index in self.batch), self._parts[0])
        return tuple(filter(None, symbols))

    @property
    def _parts(self) -> tuple[Symbol, Symbol]:
        """Of a task, but for the batch."""
        if self.run is None:
            return (BLOCK, PANEL) if self.rows_first else (PANEL, BLOCK)
        return (BLOCK if self.run.index is PANEL else PANEL), RUN

    @property
    def extents(self) -> Shape:
        """Of the parts of a task: those that have the first in common follow each other."""
        sizes = {PANEL: self.panels, BLOCK: self.blocks, RUN: Dim.of(RUNS)}
        return (*self.batches, *(sizes[part] for part in self._parts))

    @property
    def batch(self) -> tuple[Dim, ...]:
        """The index along each batch axis."""
        return tuple(Dim.of(Symbol(f"q{axis}")) for axis in range(len(self.batches)))

    @property
    def operand_batch(self) -> tuple[Dim, ...]:
        """The same for those that the operands have."""
        return self.batch[len(self.batches) - len(self.operand_batches) :]

    @property
    def first_of_depth(self) -> Dim:
        """Where the sums of a task begin."""
        return Dim.of(0 if self.form.part is None else FIRST_OF_DEPTH)

    @property
    def depth(self) -> Dim:
        """How many products a task sums."""
        return self.form.depth if self.form.part is None else Dim.of(DEPTH_OF_PART)

    @property
    def most_depth(self) -> Dim:
        return self.form.depth if self.form.part is None else self.form.part.length

    @property
    def _depth(self) -> tuple[Bind, ...]:
        """The part of a task: its begin is an index of its own, so that proofs need no products."""
        if self.form.part is None:
            return ()
        start = self.batch[0] * self.form.part.length
        left = self.form.depth - self.first_of_depth
        size = minimum(self.form.part.length, left)
        return (
            Bind(FIRST_OF_DEPTH, Number(start), self.form.depth + 1),
            Bind(DEPTH_OF_PART, Number(size), size + 1),
        )

    @property
    def first_of_block(self) -> Dim:
        return self._place_of(BLOCK) * self.block

    @property
    def rows_of_block(self) -> Dim:
        return Dim.of(HEIGHT)

    @property
    def tiles(self) -> Tiles:
        """Register tiles of a task."""
        return Tiles.of(self.rows_of_block, self.tiling, self.form.depth)

    @property
    def first_row(self) -> Dim:
        """Of a tile."""
        return self.first_of_block + self.tiles.first

    @property
    def panel(self) -> Dim:
        """Which one it is."""
        return self._place_of(PANEL)

    @property
    def first_column(self) -> Dim:
        return self.panel * self.span

    def _place_of(self, index: Symbol) -> Dim:
        run = self.run
        return run.place if run is not None and run.index is index else Dim.of(index)

    @property
    def columns(self) -> Dim:
        """Of a result, for this panel; the last one may be narrower."""
        return Dim.of(self.span) if self.whole_panels else Dim.of(WIDTH)

    @property
    def multiplied(self) -> Dim:
        """Columns of this panel that are multiplied: all, where those of a result are apart."""
        return Dim.of(self.width) if self.form.halves else self.columns

    @property
    def _height(self) -> tuple[Bind, ...]:
        """Rows of a block, as an index of its own."""
        return (_size(HEIGHT, self.block, self.form.row_count - self.first_of_block),)

    @property
    def _width(self) -> tuple[Bind, ...]:
        """Columns of a panel, unless they are always the same."""
        left = self.form.column_count - self.first_column
        return () if self.whole_panels else (_size(WIDTH, self.span, left),)

    # --- memory -------------------------------------------------------------------------------

    @property
    def sums(self) -> Buffer:
        return scratch(SUMS, self.total, (Dim.of(self.tiling.rows), Dim.of(self.width)))

    @property
    def panel_copy(self) -> Buffer | None:
        """Where a task copies its panel to, or computes it."""
        if self.form.panels not in (Panels.COPIED, Panels.COMPUTED):
            return None
        return scratch("panel", self.total, (self.most_depth, Dim.of(self.width)))

    @property
    def block_copy(self) -> Buffer | None:
        """Where a task computes its rows, or copies them to: if their dtype is converted."""
        if not self.form.rows_computed and not self._converts_rows:
            return None
        rows = minimum(self.block, self.form.row_count)
        return scratch("block", self.multiplied_rows, (rows, self.most_depth))

    def packing(self) -> Packing:
        """How a constant is to be stored."""
        side = self.form.columns
        batch, depth, free = (base_axes(side, axes) for axes in (side.batch, side.depth, side.free))
        return Packing(batch, depth, free, self.width, self.form.columns_for_each, self.group)


READ_ON = 16 << 10
"""Bytes between what is multiplied and what is fetched: what memory gives in a microsecond."""

COPIES_PAY_AFTER = 4
"""Blocks of rows for which one copy of a panel is used: it costs a few percent of their work."""


TILES_OF_ROWS_FIRST = 4
"""Of a block, where blocks come first: few, as blocks are what threads share."""


def total_of(dtype: DType) -> DType:
    if dtype.bits >= f32.bits:
        return dtype
    return f32 if dtype.is_float else i32


def grouped(total: DType, rows: DType, columns: DType, most: int) -> int:
    """How many steps of k lie together in panels of these columns, of what a target can do."""
    if total is not i32 or columns not in (i8, u8):
        return 1
    if most == 4 and (rows, columns) == (u8, i8):
        return 4
    return 2 if rows in (u8, i8, i16) else 1


def dtype_in_groups(group: int, total: DType) -> DType:
    """Of rows, as micro-kernels read them."""
    return {1: total, 2: i16, 4: u8}[group]


def scratch(name: str, dtype: DType, shape: Shape) -> Buffer:
    return Buffer(name, dtype, shape, row_major(shape))


def base_axes(side: Side, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of the stored constant that stand for axes of the operand."""
    found = (side.view.axes[axis] for axis in axes)
    return tuple(axis for axis in found if axis is not None)


def task_parts(symbols: tuple[Symbol, ...], extents: Shape) -> tuple[Bind, ...]:
    """The number of a task, taken apart. It exists, so there is at least one of each part."""
    values = delinear(extents, Dim.of(TASK))
    parts = zip(symbols, values, extents, strict=True)
    return tuple(Bind(symbol, Number(v), maximum(1, extent)) for symbol, v, extent in parts)


def _size(symbol: Symbol, most: int, left: Dim) -> Bind:
    """At most so many of those that are left."""
    size = minimum(most, left)
    return Bind(symbol, Number(size), size + 1)


def flat(buffer: Buffer, size: Dim) -> Buffer:
    """The buffer as one axis of this size."""
    return replace(buffer, shape=(size,), strides=(Dim.of(1),))
