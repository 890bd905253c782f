"""What comes before a product: loops that compute the part of an operand that a task needs.

    rows:                                     columns:
      for i < rows of the block                 for k < depth
        for k < depth           vector            for j < columns of the panel     vector
          block[i, k] = …                           panel[k, j] = …

The ops in front of the product are computed where it reads them, each in its own dtype, as they
would be in a kernel of their own; only their result is not in memory but in scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.families.dot.axes import Body, ProductAxes
from anyshape.families.dot.match import MatmulMatch, Panels
from anyshape.families.dot.plan import COLUMN, DEPTH, ROW, MatrixPlan
from anyshape.ir.node import Region
from anyshape.loop import Buffer, For, Store
from anyshape.loop.rewrite import substitute
from anyshape.lower.context import Level, Lowering
from anyshape.sym import Dim, Facts, FactScope, Symbol


@dataclass(frozen=True, slots=True)
class OperandPlace:
    """Which part of a computed operand a task needs, and the scratch that holds it."""

    target: Buffer
    first: Dim  # row or column
    count: Dim
    first_depth: Dim
    depth: Dim
    is_rows: bool

    @staticmethod
    def of(plan: MatrixPlan) -> OperandPlace | None:
        """None if the product computes no operand."""
        if plan.form.computed is None:
            return None
        depth = plan.first_of_depth, plan.depth
        if plan.form.panels is Panels.COMPUTED:
            assert plan.panel_copy is not None
            return OperandPlace(plan.panel_copy, plan.first_column, plan.columns, *depth, False)
        assert plan.block_copy is not None
        return OperandPlace(plan.block_copy, plan.first_of_block, plan.rows_of_block, *depth, True)


def operand_element(
    region: Region,
    form: MatmulMatch,
    axes: ProductAxes,
    inputs: Sequence[Buffer],
    facts: Facts,
    place: OperandPlace,
) -> Body:
    """Straight-line code for one element of the operand."""
    is_lhs = place.is_rows is not form.swapped
    operand = form.dot.operands[0 if is_lhs else 1]
    index = _index(form, axes, place)
    low = Lowering(region, inputs, FactScope.of(facts))
    level = Level({symbol for dim in index for symbol in dim.symbols})
    low.levels.append(level)
    value = low.cast(low.at(operand, index), place.target.dtype)
    at = (Dim.of(ROW), Dim.of(DEPTH)) if place.is_rows else (Dim.of(DEPTH), Dim.of(COLUMN))
    return (*low.levels[0].body, *level.body, Store(place.target, at, value))


def _index(form: MatmulMatch, axes: ProductAxes, place: OperandPlace) -> tuple[Dim, ...]:
    """The index of each axis of the operand."""
    side, free = (form.rows, axes.rows) if place.is_rows else (form.columns, axes.columns)
    batch = list(axes.batch)[len(axes.batch) - len(side.batch) :]  # operands know no parts
    roles = (side.batch, batch), (side.depth, axes.depth), (side.free, free)
    of_axis: dict[int, Symbol] = {}
    for positions, symbols in roles:
        of_axis |= dict(zip(positions, symbols, strict=True))
    return tuple(Dim.of(of_axis[axis]) for axis in sorted(of_axis))


def prologue_loops(
    body: Body, axes: ProductAxes, place: OperandPlace, batch: Sequence[Dim]
) -> Body:
    """The body in terms of row or column and depth."""
    inner, nowhere = Dim.of(ROW if place.is_rows else COLUMN), Dim.of(0)
    position = place.first + inner
    row, column = (position, nowhere) if place.is_rows else (nowhere, position)
    depth = place.first_depth + Dim.of(DEPTH)
    inside = substitute(body, axes.places(batch, row, column, depth))
    if place.is_rows:
        return (For(ROW, place.count, (For(DEPTH, place.depth, inside, vector=True),)),)
    return (For(DEPTH, place.depth, (For(COLUMN, place.count, inside, vector=True),)),)
