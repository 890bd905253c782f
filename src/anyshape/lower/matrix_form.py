"""Recognising matrix products: one `dot` in a region, what it reads, and what follows it.

A dot is a matrix product if its axes fall into batch, rows, columns and depth such that rows and
depth of one operand, and columns and depth of the other, are each one stride apart, and if its
results have the columns as their last axes. What follows the dot is elementwise or a transpose.

Either operand may bring the columns: where a transpose puts the axes of lhs last, the product is
computed the other way round.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.passes.dot_epilogue import Order, epilogue_orders, has_run_at_end
from anyshape.passes.matrix_sides import Side, side_of
from anyshape.sym import Dim


class Panels(Enum):
    """How a product gets at panels of columns, each row of them in one piece."""

    STORED = "stored"  # a constant, stored so before anything runs
    IN_PLACE = "in place"  # columns are next to each other anyway
    COPIED = "copied"  # each task makes a copy of the panel that it needs
    APART = "apart"  # columns are summed one by one, where they are


@dataclass(frozen=True, slots=True)
class MatrixForm:
    """A dot as a matrix product: `rows` is the operand with the rows, `columns` the other."""

    dot: Node
    rows: Side
    columns: Side
    panels: Panels
    orders: tuple[Order, ...]  # of the region's results
    swapped: bool = False  # rhs of the dot has the rows

    @property
    def row_count(self) -> Dim:
        return self.rows.size(self.rows.free)

    @property
    def column_count(self) -> Dim:
        return self.columns.size(self.columns.free)

    @property
    def depth(self) -> Dim:
        return self.rows.size(self.rows.depth)

    @property
    def batch_axes(self) -> Order:
        """Axes of the dot's result."""
        return tuple(range(len(self.rows.batch)))

    @property
    def row_axes(self) -> Order:
        return _free_axes(self.dot, self.rows, second=self.swapped)

    @property
    def column_axes(self) -> Order:
        return _free_axes(self.dot, self.columns, second=not self.swapped)


def param_of(side: Side) -> int:
    """The parameter of the region that an operand is a view of."""
    return cast(ParamAttrs, side.view.base.node.attrs).index


def _free_axes(dot: Node, side: Side, *, second: bool) -> Order:
    """The free axes of one operand among those of the result: batch, then lhs, then rhs."""
    rank = dot.result().tensor.rank
    start = rank - len(side.free) if second else len(side.batch)
    return tuple(range(start, start + len(side.free)))


def matrix_form(region: Region, constants: Set[int]) -> MatrixForm | str:
    """The matrix product that a region computes, or why it does not."""
    loops = [n for n in region.nodes() if n.op.traits & {Trait.REDUCTION, Trait.CONTRACTION}]
    if len(loops) != 1 or loops[0].op.name != "dot":
        return "it is not a single dot"
    (dot,) = loops
    orders = epilogue_orders(dot, region.nodes())
    if isinstance(orders, str):
        return orders
    if any(result.node not in orders for result in region.results):
        return "a result does not depend on it"
    return _form(region, constants, dot, tuple(orders[v.node] for v in region.results))


def _form(
    region: Region, constants: Set[int], dot: Node, orders: tuple[Order, ...]
) -> MatrixForm | str:
    lhs, rhs = (side_of(dot, side, lambda _: True) for side in range(2))
    straight = MatrixForm(dot, lhs, rhs, Panels.IN_PLACE, orders)
    turned = MatrixForm(dot, rhs, lhs, Panels.IN_PLACE, orders, swapped=True)
    if not lhs.depth:
        return "it sums nothing"
    for form in (straight, turned):
        if all(has_run_at_end(order, form.column_axes) for order in orders):
            return _with_panels(region, constants, form)
    return "columns are apart in a result, or there are none"


def _with_panels(region: Region, constants: Set[int], form: MatrixForm) -> MatrixForm | str:
    if any(side.view.base.node.op is not PARAM for side in (form.rows, form.columns)):
        return "an operand is computed inside the kernel"
    if not form.rows.is_matrix:
        return "rows or depth are apart in memory"
    panels = _panels(region, constants, form.columns)
    if panels is Panels.COPIED and not form.columns.is_matrix:
        return "columns or depth are apart in memory"
    found = replace(form, panels=panels)
    return with_columns_apart(found) or found if form.row_count == 1 else found


def with_columns_apart(form: MatrixForm) -> MatrixForm | None:
    """The form that makes no copies of panels, if columns and rows are runs along the depth."""
    strides = form.rows.depth_stride, form.columns.depth_stride
    if form.panels is not Panels.COPIED or strides != (1, 1):
        return None
    return replace(form, panels=Panels.APART)


def _panels(region: Region, constants: Set[int], columns: Side) -> Panels:
    param = param_of(columns)
    if param in constants and columns.view.is_whole and uses_of(region, param) == 1:
        return Panels.STORED
    in_place = columns.free_stride == 1 and columns.depth_stride is not None
    return Panels.IN_PLACE if in_place else Panels.COPIED


def uses_of(region: Region, param: int) -> int:
    """How often a parameter is read in the region."""
    return sum(
        value.node.op is PARAM and cast(ParamAttrs, value.node.attrs).index == param
        for node in region.nodes()
        for value in node.operands
    )
