"""The kernel of a grouped dot: rows in groups, each times a matrix of its own.

    task t: a block of rows times one panel of columns
      for g <= groups
        the rows of group g in this block     offsets say which: none, if the group is elsewhere
        for r < register tiles of these rows
          sums = rows of the tile @ panel of group g
          epilogue

The rows after the last group are a group too, of depth 0: its sums are 0. A group without rows in
a block costs the look at its offsets. Offsets that do not ascend give arbitrary results, but every
row stays within its block, so that tasks never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.families.dot.epilogue import TilePlace, surroundings
from anyshape.families.dot.kernel import stored_panel
from anyshape.families.dot.match import MatmulMatch, Panels, param_of
from anyshape.families.dot.plan import TASK, TILE, MatrixPlan, flat
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
        return Dim.of(FIRST) + Dim.of(TILE) * self.product.tiling.rows

    @property
    def first_row(self) -> Dim:
        return self.product.first_of_block + self.row_of_block

    @property
    def rows(self) -> Dim:
        left = Dim.of(COUNT) - Dim.of(TILE) * self.product.tiling.rows
        return minimum(self.product.tiling.rows, left)

    @property
    def tiles(self) -> Dim:
        """Of a group in a block."""
        return ceildiv(Dim.of(COUNT), self.product.tiling.rows)

    @property
    def depth_of_group(self) -> Bind:
        """The rows after the last group have none.

        It is an index of its own for the sake of proofs: no more than the operands have, or than is
        left of all groups together.
        """
        depth, left = self.form.depth, self.groups - Dim.of(GROUP)
        return Bind(DEPTH, Number(depth * minimum(1, left)), minimum(depth, depth * left) + 1)

    def rows_of_group(self, offsets: Buffer) -> tuple[Bind, ...]:
        """The rows of a group that are in this block: the first one in it, and how many."""
        rows, group = self.form.row_count, Dim.of(GROUP)
        before = Guard((LessEqual(Dim.of(1), group),), _offset(offsets, group - 1), _ZERO)
        after = Guard((Less(group, self.groups),), _offset(offsets, group), Number(rows))
        block = self.product.first_of_block
        first, last = (Dim.of(row) - block for row in (START, END))
        height = self.product.rows_of_block
        return (
            Bind(START, before, rows + 1),
            Bind(END, after, rows + 1),
            Bind(FIRST, Number(first), height + 1),
            Bind(COUNT, Number(last - Dim.of(FIRST)), height - Dim.of(FIRST) + 1),
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
    tile = TilePlace(whole.sums, (), plan.first_row, plan.rows, *columns)
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
    multiply = Multiply(whole.sums, lhs, panel, plan.rows, whole.multiplied, Dim.of(DEPTH), padded)
    tiles = For(TILE, plan.tiles, (multiply, *around.after))
    group = (*plan.rows_of_group(buffers[offsets]), plan.depth_of_group, tiles)
    groups = For(GROUP, plan.groups + 1, group)
    scratch = tuple(filter(None, (whole.sums, whole.block_copy)))
    body = (*whole.parts_of_task, *copies, groups)
    tasks = product(whole.extents)
    return Kernel(tuple(buffers.values()), sizes, TASK, tasks, body, facts, scratch)


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
