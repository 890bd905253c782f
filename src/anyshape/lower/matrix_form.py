"""Recognising matrix products: one `dot` in a region, what it reads, and what follows it.

A dot is a matrix product if its axes fall into batch, rows, columns and depth such that rows and
depth of one operand, and columns and depth of the other, are each one stride apart, and if its
results have the columns as their last axes. What follows the dot is elementwise or a transpose.

Either operand may bring the columns: where a transpose puts the axes of lhs last, the product is
computed the other way round.

One operand may be *computed* by ops of the region, instead of being a view of a parameter. A task
then computes the part of it that it needs into scratch.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from anyshape.ir.node import Node, Region
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait
from anyshape.lower.params import uses_of
from anyshape.ops.parts import PartDotAttrs
from anyshape.passes.dot_epilogue import Order, epilogue_orders, has_run_at_end
from anyshape.passes.dot_prologue import is_prologue_op
from anyshape.passes.matrix_sides import Side, side_of
from anyshape.sym import Dim


class Panels(Enum):
    """How a product gets at panels of columns, each row of them in one piece."""

    STORED = "stored"  # a constant, stored so before anything runs
    IN_PLACE = "in place"  # columns are next to each other anyway
    COPIED = "copied"  # each task makes a copy of the panel that it needs
    APART = "apart"  # columns are summed one by one, where they are
    COMPUTED = "computed"  # each task computes the panel that it needs


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
    def part(self) -> PartDotAttrs | None:
        """Which parts of the depth are products of their own, if any: the result's first axis."""
        return self.dot.attrs if isinstance(self.dot.attrs, PartDotAttrs) else None

    @property
    def computed(self) -> Side | None:
        """The operand that tasks compute for themselves."""
        if self.panels is Panels.COMPUTED:
            return self.columns
        return self.rows if is_computed(self.rows) else None

    @property
    def batch_axes(self) -> Order:
        """Axes of the dot's result."""
        return tuple(range(_batch_rank(self.dot, self.rows)))

    @property
    def row_axes(self) -> Order:
        return _free_axes(self.dot, self.rows, second=self.swapped)

    @property
    def column_axes(self) -> Order:
        return _free_axes(self.dot, self.columns, second=not self.swapped)


def is_computed(side: Side) -> bool:
    """Whether an operand is made by ops of the region."""
    return side.view.base.node.op is not PARAM


def param_of(side: Side) -> int:
    """The parameter of the region that an operand is a view of."""
    return cast(ParamAttrs, side.view.base.node.attrs).index


def _free_axes(dot: Node, side: Side, *, second: bool) -> Order:
    """The free axes of one operand among those of the result: batch, then lhs, then rhs."""
    rank = dot.result().tensor.rank
    start = rank - len(side.free) if second else _batch_rank(dot, side)
    return tuple(range(start, start + len(side.free)))


def _batch_rank(dot: Node, side: Side) -> int:
    """How many axes of the result are batch axes; parts of the depth are one too."""
    return len(side.batch) + isinstance(dot.attrs, PartDotAttrs)


def matrix_form(region: Region, constants: Set[int]) -> MatrixForm | str:
    """The matrix product that a region computes, or why it does not."""
    loops = [n for n in region.nodes() if n.op.traits & {Trait.REDUCTION, Trait.CONTRACTION}]
    if len(loops) != 1 or loops[0].op.name not in ("dot", "part_dot"):
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
    objection = _objection_to_computed(form)
    if objection:
        return objection
    if not form.rows.is_matrix:
        return "rows or depth are apart in memory"
    panels = _panels(region, constants, form.columns)
    if panels is Panels.COPIED and not form.columns.is_matrix:
        return "columns or depth are apart in memory"
    found = replace(form, panels=panels)
    return with_columns_apart(found) or found if form.row_count == 1 else found


def _objection_to_computed(form: MatrixForm) -> str:
    rows, columns = (is_computed(side) for side in (form.rows, form.columns))
    if rows and columns:
        return "both operands are computed inside the kernel"
    if (rows and not form.rows.is_run_of_depth) or (columns and not form.columns.is_run_of_free):
        return "an operand is computed inside the kernel, one element here and one there"
    made = (node for side in (form.rows, form.columns) for node in _nodes_behind(side))
    others = [node.op.name for node in made if not is_prologue_op(node)]
    return f"{others[0]} computes an operand inside the kernel" if others else ""


def _nodes_behind(side: Side) -> list[Node]:
    """What an operand is computed by, parameters and numbers aside."""
    found = dict.fromkeys([side.view.base.node])
    queue = list(found)
    while queue:
        new = {value.node for value in queue.pop().operands} - found.keys()
        found |= dict.fromkeys(new)
        queue += new
    return [node for node in found if node.operands]


def with_columns_apart(form: MatrixForm) -> MatrixForm | None:
    """The form that makes no copies of panels, if columns and rows are runs along the depth."""
    strides = form.rows.depth_stride, form.columns.depth_stride
    if form.panels is not Panels.COPIED or strides != (1, 1):
        return None
    return replace(form, panels=Panels.APART)


def _panels(region: Region, constants: Set[int], columns: Side) -> Panels:
    if is_computed(columns):
        return Panels.COMPUTED
    param = param_of(columns)
    if param in constants and columns.view.is_whole and len(uses_of(region, param)) == 1:
        return Panels.STORED
    return Panels.IN_PLACE if columns.is_run_of_free else Panels.COPIED
