"""The kernel of a grouped dot: rows in groups, each times a matrix of its own.

    task t: a block of rows times one panel of columns
      for g <= groups
        the rows of group g in this block     offsets say which: none, if the group is elsewhere
        for r < register tiles of these rows
          sums = rows of the tile @ panel of group g
          epilogue

The rows after the last group are a group too, of depth 0: its sums are 0. A group without rows in
a block costs the look at its offsets; where there may be many groups, they are looked at 16 at a
time, and one by one where some of these have rows in the block. Offsets that do not ascend give
arbitrary results, but every row stays within its block, so that tasks never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anyshape.families.dot.epilogue import TilePlace, surroundings
from anyshape.families.dot.kernel import stored_panel
from anyshape.families.dot.match import MatmulMatch, Panels, param_of
from anyshape.families.dot.plan import TASK, MatrixPlan, flat
from anyshape.families.dot.tiles import Tiles
from anyshape.ir.node import Region
from anyshape.ir.types import i64
from anyshape.loop import (
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
    Kernel,
    Load,
    Matrix,
    Multiply,
    Number,
    Scalar,
    Span,
    Statement,
)
from anyshape.loop.merge import flat_buffer
from anyshape.sym import Dim, Facts, Less, LessEqual, Symbol, ceildiv, minimum, product

GROUP, START, END, FIRST, COUNT, DEPTH = (Symbol(name) for name in ("g", "s", "e", "f", "m", "k"))
CHUNK, MEMBER, MEMBERS = (Symbol(name) for name in ("c", "gc", "nc"))

CHUNK_GROUPS: Final = 16
"""Groups that are looked at together."""

FEW_GROUPS: Final = 2 * CHUNK_GROUPS
"""As many are looked at one by one."""


@dataclass(frozen=True, slots=True)
class GroupedPlan:
    """A grouped dot as a matrix product of all rows, but for where each row finds its columns."""

    product: MatrixPlan
    offsets: int  # the parameter

    @property
    def form(self) -> MatmulMatch:
        return self.product.form

    @property
    def groups(self) -> Dim:
        return self.form.columns.view.shape[0]

    @property
    def row_of_block(self) -> Dim:
        """The first one of this tile within its block."""
        return Dim.of(FIRST) + self.tiles.first

    @property
    def first_row(self) -> Dim:
        return self.product.first_of_block + self.row_of_block

    @property
    def tiles(self) -> Tiles:
        """Of a group in a block."""
        return Tiles.of(Dim.of(COUNT), self.product.tiling, self.form.depth)

    @property
    def depth_of_group(self) -> Bind:
        """The rows after the last group have none.

        It is an index of its own for the sake of proofs: no more than the operands have, or than is
        left of all groups together.
        """
        depth, left = self.form.depth, self.groups - Dim.of(GROUP)
        return Bind(DEPTH, Number(depth * minimum(1, left)), minimum(depth, depth * left) + 1)

    @property
    def has_chunks(self) -> bool:
        count = self.groups.constant
        return count is None or count > FEW_GROUPS

    def rows_of_group(self, offsets: Buffer) -> tuple[Bind, ...]:
        """The rows of a group that are in this block: the first one in it, and how many."""
        group = Dim.of(GROUP)
        return self._rows(offsets, group, group, (START, END, FIRST, COUNT))

    def members_of_chunk(self, offsets: Buffer) -> tuple[Bind, ...]:
        """How many groups of a chunk are looked at: all of them, or none."""
        first = Dim.of(CHUNK) * CHUNK_GROUPS
        names = tuple(Symbol(f"{symbol.name}c") for symbol in (START, END, FIRST, COUNT))
        rows = self._rows(offsets, first, first + (CHUNK_GROUPS - 1), names)
        left = minimum(CHUNK_GROUPS, self.groups + 1 - first)
        members = Number(left * minimum(1, Dim.of(names[-1])))
        return (*rows, Bind(MEMBERS, members, Dim.of(CHUNK_GROUPS + 1)))

    def _rows(
        self, offsets: Buffer, first: Dim, last: Dim, names: tuple[Symbol, ...]
    ) -> tuple[Bind, ...]:
        """Of several groups: where they begin and end, the first row in this block, how many."""
        start, end, first_row, count = names
        rows, block = self.form.row_count, self.product.first_of_block
        height = self.product.rows_of_block
        before = Guard((LessEqual(Dim.of(1), first),), _offset(offsets, first - 1), _ZERO)
        after = Guard((Less(last, self.groups),), _offset(offsets, last), Number(rows))
        begin, behind = (Dim.of(row) - block for row in (start, end))
        return (
            Bind(start, before, rows + 1),
            Bind(end, after, rows + 1),
            Bind(first_row, Number(begin), height + 1),
            Bind(count, Number(behind - Dim.of(first_row)), height - Dim.of(first_row) + 1),
        )


_ZERO = Number(Dim.of(0))


def _offset(offsets: Buffer, place: Dim) -> Scalar:
    load = Load(offsets, (place,))
    return load if load.dtype == i64 else Apply("cast", (load,), i64)


def grouped_kernel(
    region: Region,
    plan: GroupedPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region with one grouped dot."""
    whole = plan.product
    columns = whole.first_column, whole.columns, whole.span
    tile = TilePlace(whole.sums, (), plan.first_row, plan.tiles.rows, *columns)
    around = surroundings(region, plan.form, tile, inputs, outputs, facts)
    buffers = {b.name: around.views.get(b.name, flat_buffer(b)) for b in (*inputs, *outputs)}
    x, weights, offsets = (
        inputs[n].name
        for n in (param_of(plan.form.rows), param_of(plan.form.columns), plan.offsets)
    )
    if plan.form.panels is Panels.STORED:
        size = plan.groups * whole.panels * plan.form.depth * whole.width
        buffers[weights] = flat(buffers[weights], size)
    copies, lhs = _rows(plan, buffers[x])
    padded = plan.form.panels is Panels.STORED
    panel = _panel(plan, buffers[weights])
    sizes_of_tile = plan.tiles.rows, whole.multiplied, Dim.of(DEPTH)
    multiply = Multiply(whole.sums, lhs, panel, *sizes_of_tile, padded)
    tiles = plan.tiles.loop((multiply, *around.after))
    group = (*plan.rows_of_group(buffers[offsets]), plan.depth_of_group, *tiles)
    groups = _groups(plan, group, buffers[offsets])
    scratch = tuple(filter(None, (whole.sums, whole.block_copy)))
    body = (*whole.parts_of_task, *copies, groups)
    tasks = product(whole.extents)
    return Kernel(tuple(buffers.values()), sizes, TASK, tasks, body, facts, scratch)


def _groups(plan: GroupedPlan, group: tuple[Statement, ...], offsets: Buffer) -> For:
    """What is done for one group, for all of them, and for the rows after the last."""
    count = plan.groups + 1
    if not plan.has_chunks:
        return For(GROUP, count, group)
    number = Number(Dim.of(CHUNK) * CHUNK_GROUPS + Dim.of(MEMBER))
    members = For(MEMBER, Dim.of(MEMBERS), (Bind(GROUP, number, count), *group))
    body = (*plan.members_of_chunk(offsets), members)
    return For(CHUNK, ceildiv(count, CHUNK_GROUPS), body)


def _rows(plan: GroupedPlan, x: Buffer) -> tuple[tuple[Statement, ...], Matrix]:
    """Copies that a task makes of its rows, and the rows of a tile."""
    whole, depth = plan.product, plan.form.depth
    rows = _of_shape(x, plan.form.row_count, depth)
    if whole.block_copy is None:
        return (), rows.moved(plan.first_row)
    copy = Copy(whole.block_copy, rows.moved(whole.first_of_block), whole.rows_of_block, depth)
    return (copy,), Matrix.whole(whole.block_copy, plan.row_of_block)


def _panel(plan: GroupedPlan, weights: Buffer) -> Matrix:
    whole, group, depth = plan.product, Dim.of(GROUP), plan.form.depth
    if plan.form.panels is Panels.STORED:
        return stored_panel(whole, weights, plan.groups, group)
    rows = _of_shape(weights, plan.groups * depth, plan.form.column_count)
    return rows.moved(group * depth, whole.first_column)


def _of_shape(buffer: Buffer, rows: Dim, columns: Dim) -> Matrix:
    """A dense buffer as one matrix."""
    zero, one = Dim.of(0), Dim.of(1)
    return Matrix(
        buffer, (Span(rows, columns, zero, down=one), Span(columns, one, zero, right=one))
    )
