"""The kernel of a matrix product: register tiles, and the epilogue on each of them.

    task t: a block of rows times one panel of columns
      for r < register tiles of the block
        sums = lhs rows @ rhs panel           in registers, then in the first-level cache
        for i < rows of the tile
          for j < columns of the panel        a vector loop: bias, activation, residual, …
            y[row + i, column + j] = epilogue(sums[i, j])

Tasks of one panel follow each other, so that it stays in the cache. That the sums pass through
memory once costs a load and a store per K multiplications; it leaves the epilogue to the emitter of
ordinary loops, written once instead of for every number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.ir.node import Region
from anyshape.ir.types import DType, f32
from anyshape.loop import Bind, Buffer, For, Kernel, Matrix, Multiply, Number, Statement, Store
from anyshape.loop.ir import Index
from anyshape.loop.merge import Space, flat_buffer, merged
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import Access, map_statement
from anyshape.lower.context import Level, Lowering
from anyshape.lower.matrix_form import MatrixForm, Side
from anyshape.lower.movement import delinear
from anyshape.lower.packing import Packing
from anyshape.lower.tiling import Tiling
from anyshape.sym import Dim, Facts, FactScope, Symbol, ceildiv, maximum, minimum

TASK, BATCH, PANEL, BLOCK = (Symbol(name) for name in ("t", "q", "p", "b"))
TILE, ROW, COLUMN = (Symbol(name) for name in ("r", "i", "j"))
SUMS = "sums"


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """A product divided into tasks and tiles: all that depends on form and tiling alone."""

    form: MatrixForm
    tiling: Tiling

    @property
    def total(self) -> DType:
        """16-bit floats are summed in f32."""
        dtype = self.form.dot.result().tensor.dtype
        return f32 if dtype.bits < f32.bits else dtype

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return self.tiling.columns(self.total)

    @property
    def batches(self) -> Dim:
        return self.form.lhs.operand.size(self.form.lhs.batch)

    @property
    def panels(self) -> Dim:
        return ceildiv(self.form.columns, self.width)

    @property
    def blocks(self) -> Dim:
        return ceildiv(self.form.rows, self.tiling.block)

    @property
    def tasks(self) -> Dim:
        return self.batches * self.panels * self.blocks

    # --- the place of one tile ----------------------------------------------------------------

    @property
    def parts_of_task(self) -> tuple[Bind, ...]:
        """Batch, panel and block of a task as indices of their own: proofs need no division."""
        parts = ((BATCH, self.batches), (PANEL, self.panels), (BLOCK, self.blocks))
        used = parts if self.form.lhs.batch else parts[1:]
        values = delinear(tuple(extent for _, extent in used), Dim.of(TASK))
        return tuple(_part(s, value, n) for (s, n), value in zip(used, values, strict=True))

    @property
    def batch(self) -> Dim:
        return Dim.of(BATCH) if self.form.lhs.batch else Dim.of(0)

    @property
    def panel(self) -> Dim:
        return Dim.of(PANEL)

    @property
    def first_of_block(self) -> Dim:
        return Dim.of(BLOCK) * self.tiling.block

    @property
    def tiles(self) -> Dim:
        """Register tiles of a task."""
        rows = minimum(self.tiling.block, self.form.rows - self.first_of_block)
        return ceildiv(rows, self.tiling.rows)

    @property
    def first_row(self) -> Dim:
        return self.first_of_block + Dim.of(TILE) * self.tiling.rows

    @property
    def first_column(self) -> Dim:
        return self.panel * self.width

    @property
    def rows(self) -> Dim:
        """Of this tile."""
        return minimum(self.tiling.rows, self.form.rows - self.first_row)

    @property
    def columns(self) -> Dim:
        """Of this panel; the last one may be narrower."""
        if self.form.columns % self.width == 0:
            return Dim.of(self.width)
        return minimum(self.width, self.form.columns - self.first_column)

    @property
    def sums(self) -> Buffer:
        shape = (Dim.of(self.tiling.rows), Dim.of(self.width))
        return Buffer(SUMS, self.total, shape, row_major(shape))

    def packing(self) -> Packing:
        """How a constant rhs is to be stored."""
        rhs = self.form.rhs
        batch, depth, free = (
            tuple(rhs.operand.axes[axis] for axis in axes)
            for axes in (rhs.batch, rhs.depth, rhs.free)
        )
        return Packing(batch, depth, free, self.width)


def _part(symbol: Symbol, value: Dim, extent: Dim) -> Bind:
    """A task exists, so there is at least one of each part: saying so spares tests of it."""
    return Bind(symbol, Number(value), maximum(1, extent))


def matrix_kernel(
    region: Region,
    plan: MatrixPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    flat = list(map(flat_buffer, inputs))
    if plan.form.packed:
        rhs, size = flat[plan.form.rhs.operand.param], plan.batches * plan.panels * plan.form.depth
        flat[plan.form.rhs.operand.param] = replace(rhs, shape=(size * plan.width,))
    body = (_multiply(plan, flat), *_epilogue(region, plan, inputs, outputs, facts))
    buffers = (*flat, *map(flat_buffer, outputs))
    task = (*plan.parts_of_task, For(TILE, plan.tiles, body))
    return Kernel(buffers, sizes, TASK, plan.tasks, task, facts, (plan.sums,))


# --- the product ----------------------------------------------------------------------------------


def _multiply(plan: MatrixPlan, flat: Sequence[Buffer]) -> Multiply:
    form = plan.form
    lhs = _matrix(flat, form.lhs, plan.batch, form.lhs.free_stride, plan.first_row)
    sides = lhs, _packed(plan, flat) if form.packed else _in_place(plan, flat)
    return Multiply(plan.sums, *sides, plan.rows, plan.columns, form.depth)


def _matrix(
    flat: Sequence[Buffer], side: Side, batch: Dim, stride: Dim | None, first: Dim
) -> Matrix:
    """Part of an operand from `first` on along its free axes; free axis first, depth second."""
    assert stride is not None
    assert side.depth_stride is not None
    operand = side.operand
    places = delinear(tuple(operand.shape[axis] for axis in side.batch), batch)
    starts = (i * operand.strides[axis] for i, axis in zip(places, side.batch, strict=True))
    start = sum(starts, first * stride)
    return Matrix(flat[operand.param], start, (stride, side.depth_stride))


def _in_place(plan: MatrixPlan, flat: Sequence[Buffer]) -> Matrix:
    rhs = plan.form.rhs
    found = _matrix(flat, rhs, plan.batch, rhs.free_stride, plan.first_column)
    return replace(found, strides=(found.strides[1], found.strides[0]))


def _packed(plan: MatrixPlan, flat: Sequence[Buffer]) -> Matrix:
    panel = plan.batch * plan.panels + plan.panel
    start = panel * plan.form.depth * plan.width
    return Matrix(flat[plan.form.rhs.operand.param], start, (Dim.of(plan.width), Dim.of(1)))


# --- what follows ---------------------------------------------------------------------------------


def _epilogue(
    region: Region,
    plan: MatrixPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
) -> tuple[Statement, ...]:
    """Loops over one tile that store what the region makes of each sum."""
    dot = plan.form.dot.result()
    indices = tuple(Symbol(f"i{axis}") for axis in range(dot.tensor.rank))
    # Every element of the product is the one at the index where it is asked for: strides of 0 keep
    # that index out of the way until it is known which tile it lies in.
    nowhere = Buffer(SUMS, plan.total, dot.tensor.shape, (Dim.of(0),) * dot.tensor.rank)
    low = Lowering(region, inputs, FactScope.of(facts), {dot: nowhere})
    level = Level(set(indices))
    low.levels.append(level)
    place = tuple(map(Dim.of, indices))
    values = [low.at(result, place) for result in region.results]
    stores = [Store(y, place, value) for y, value in zip(outputs, values, strict=True)]
    extents = zip(indices, dot.tensor.shape, strict=True)
    space = Space(tuple(extents), (*low.levels[0].body, *level.body, *stores))
    body = _placed(plan, space)
    return (For(ROW, plan.rows, (For(COLUMN, plan.columns, body, vector=True),)),)


def _placed(plan: MatrixPlan, space: Space) -> tuple[Statement, ...]:
    """The body in terms of tile, row and column."""
    batch, rows = len(plan.form.lhs.batch), len(plan.form.lhs.free)
    symbols = [symbol for symbol, _ in space.indices]
    groups = symbols[:batch], symbols[batch : batch + rows], symbols[batch + rows :]
    space = merged(space, {batch, batch + rows})
    flat = plan.batch, plan.first_row + Dim.of(ROW), plan.first_column + Dim.of(COLUMN)
    places: dict[Symbol, Dim] = {}
    for group, index in zip(groups, flat, strict=True):
        left = [(symbol, extent) for symbol, extent in space.indices if symbol in group]
        index_of = delinear(tuple(extent for _, extent in left), index)
        places |= {symbol: i for (symbol, _), i in zip(left, index_of, strict=True)}

    def access(buffer: Buffer, index: Index) -> Access:
        if buffer.name == SUMS:
            return plan.sums, (Dim.of(ROW), Dim.of(COLUMN))
        return buffer, tuple(dim.substitute(places) for dim in index)

    return tuple(map_statement(statement, places, access) for statement in space.body)
