"""The kernel of a matrix product: register tiles, and the epilogue on each of them.

    task t: a block of rows times one panel of columns, or several if it computes an operand
      block = prologue of the rows            if ops come before them; or the panel, likewise
      panel = copy of the columns             if they are apart in memory
      block = copy of the rows                if they are stored in another dtype
      for r < register tiles of the block
        sums = rows of the tile @ panel       in registers, then in the first-level cache
        for i < rows of the tile
          for j < columns of the panel        a vector loop: bias, activation, residual, …
            y[row + i, column + j] = epilogue(sums[i, j])

Tasks of one panel follow each other, so that it stays in the cache. That the sums pass through
memory once costs a load and a store per K multiplications; it leaves the epilogue to the emitter of
ordinary loops, written once instead of for every number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.analysis.matrix_sides import Side
from anyshape.families.dot.epilogue import TilePlace, surroundings
from anyshape.families.dot.match import Panels, param_of
from anyshape.families.dot.plan import TASK, MatrixPlan, flat
from anyshape.families.dot.prologue import OperandPlace
from anyshape.ir.node import Region
from anyshape.loop import Buffer, Copy, Kernel, Matrix, Multiply, Prepare, Span, Statement
from anyshape.loop.merge import flat_buffer
from anyshape.lower.movement import linear
from anyshape.sym import Dim, Facts, Symbol, ceildiv, product

Buffers = Mapping[str, Buffer]


def matrix_kernel(
    region: Region,
    plan: MatrixPlan,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    sizes: tuple[Symbol, ...],
) -> Kernel:
    """The kernel of a region that has the form of the plan."""
    columns = plan.first_column, plan.columns, plan.span
    tile = TilePlace(plan.sums, plan.batch, plan.first_row, plan.tiles.rows, *columns)
    around = surroundings(region, plan.form, tile, inputs, outputs, facts, OperandPlace.of(plan))
    buffers = {b.name: around.views.get(b.name, flat_buffer(b)) for b in (*inputs, *outputs)}
    if plan.form.panels is Panels.STORED:
        name = inputs[param_of(plan.form.columns)].name
        buffers[name] = flat(buffers[name], _stored_size(plan))
    copies, multiply = _product(plan, inputs, buffers)
    prepared = around.before
    if plan.shares_rows and not plan.form.rows_computed:
        prepared, copies = tuple(copies), []
    tiles = (*copies, *plan.tiles.loop((multiply, *around.after)))
    if plan.run is not None:
        tiles = (plan.run.loop((*plan.parts_of_run, *tiles)),)
    before = (Prepare(plan.keys, prepared),) if prepared else ()
    body = (*plan.parts_of_task, *before, *tiles)
    scratch = filter(None, (plan.sums, plan.panel_copy, plan.block_copy))
    tasks = product(plan.extents)
    return Kernel(tuple(buffers.values()), sizes, TASK, tasks, body, facts, tuple(scratch))


def _product(
    plan: MatrixPlan, inputs: Sequence[Buffer], buffers: Buffers
) -> tuple[list[Statement], Multiply]:
    """Copies of operands, and the product of one tile."""
    form, copies = plan.form, list[Statement]()
    if plan.block_copy is None:
        lhs = _rows(plan, _buffer_of(form.rows, inputs, buffers), plan.first_row)
    else:
        lhs = Matrix.whole(plan.block_copy, plan.tiles.first)
        if not form.rows_computed:
            source = _rows(plan, _buffer_of(form.rows, inputs, buffers), plan.first_of_block)
            copies.append(Copy(plan.block_copy, source, plan.rows_of_block, plan.depth))
    if plan.panel_copy is None:
        rhs = _panel(plan, _buffer_of(form.columns, inputs, buffers))
    else:
        rhs = Matrix.whole(plan.panel_copy)
        if form.panels is not Panels.COMPUTED:
            source = _panel(plan, _buffer_of(form.columns, inputs, buffers))
            copies.append(Copy(plan.panel_copy, source, plan.depth, plan.columns))
    padded = form.panels in (Panels.STORED, Panels.COPIED, Panels.COMPUTED)
    sizes = plan.tiles.rows, plan.multiplied, plan.depth
    product = Multiply(plan.sums, lhs, rhs, *sizes, padded, ahead=plan.ahead, group=plan.group)
    return copies, product


def _buffer_of(side: Side, inputs: Sequence[Buffer], buffers: Buffers) -> Buffer:
    return buffers[inputs[param_of(side)].name]


def _rows(plan: MatrixPlan, buffer: Buffer, first: Dim) -> Matrix:
    return _matrix(plan, plan.form.rows, buffer, first)


def _matrix(plan: MatrixPlan, side: Side, buffer: Buffer, first: Dim) -> Matrix:
    """The matrix of this batch, from one of its free places on: free places down, depth right."""
    assert side.free_stride is not None
    assert side.depth_stride is not None
    view, one = side.view, Dim.of(1)
    batch = zip(plan.operand_batch, side.batch, strict=True)
    return Matrix(
        buffer,
        (
            *(Span(view.shape[axis], view.strides[axis], index) for index, axis in batch),
            Span(side.size(side.free), side.free_stride, first, down=one),
            Span(side.size(side.depth), side.depth_stride, plan.first_of_depth, right=one),
        ),
        view.start,
    )


# --- panels ---------------------------------------------------------------------------------------


def _panel(plan: MatrixPlan, buffer: Buffer) -> Matrix:
    """The columns of a task, where the operand has them."""
    if plan.form.panels is not Panels.STORED:
        return _matrix(plan, plan.form.columns, buffer, plan.first_column).turned
    return stored_panel(plan, buffer, _stored_batches(plan), _stored_batch(plan))


def stored_panel(plan: MatrixPlan, buffer: Buffer, batches: Dim, batch: Dim) -> Matrix:
    """The panel of a task among those of a constant: [batches, panels, depth, width], or groups of
    the depth."""
    depth, width = ceildiv(plan.form.depth, plan.group), Dim.of(plan.width * plan.group)
    zero, one = Dim.of(0), Dim.of(1)
    panel = depth * width
    return Matrix(
        buffer,
        (
            Span(batches, plan.panels * panel, batch),
            Span(plan.panels, panel, plan.panel),
            Span(depth, width, plan.first_of_depth, down=one),
            Span(width, one, zero, right=one),
        ),
    )


def _stored_axes(plan: MatrixPlan) -> list[int]:
    """Which of the batch axes a constant has: it may be the same along the others."""
    side = plan.form.columns
    return [n for n, axis in enumerate(side.batch) if side.view.axes[axis] is not None]


def _stored_batch(plan: MatrixPlan) -> Dim:
    axes = _stored_axes(plan)
    return linear(
        tuple(plan.operand_batches[n] for n in axes), [plan.operand_batch[n] for n in axes]
    )


def _stored_batches(plan: MatrixPlan) -> Dim:
    return product(plan.operand_batches[n] for n in _stored_axes(plan))


def _stored_size(plan: MatrixPlan) -> Dim:
    depth = ceildiv(plan.form.depth, plan.group)
    return _stored_batches(plan) * plan.panels * depth * (plan.width * plan.group)
