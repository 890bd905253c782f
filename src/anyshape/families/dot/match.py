"""Recognising matrix products: one `dot` in a region, what it reads, and what follows it.

A dot is a matrix product if its axes fall into batch, rows, columns and depth such that rows and
depth of one operand, and columns and depth of the other, are each one stride apart, and if its
results have the columns as their last axes. What follows the dot is elementwise or a transpose.

Either operand may bring the columns: where a transpose puts the axes of lhs last, the product is
computed the other way round.

The columns may be taken apart into *halves*: slices that the rest of the kernel is a function of,
such as a gate and what it lets through. A panel then has columns of both, and the result has half
as many columns as the dot. Only constants can be stored that way.

One operand may be *computed* by ops of the region, instead of being a view of a parameter. A task
then computes the part of it that it needs into scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from anyshape.analysis.cuts import are_halves
from anyshape.analysis.epilogue import Order, has_run_at_end
from anyshape.analysis.matrix_sides import Side, side_of
from anyshape.analysis.strided_view import is_view
from anyshape.families.body import Body
from anyshape.families.followers import only_loop
from anyshape.ir.node import Node
from anyshape.ir.opdef import AnyOp, Trait, param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape
from anyshape.ops.known import BROADCAST, DOT
from anyshape.ops.movement import SliceAttrs, TransposeAttrs
from anyshape.ops.parts import PartDotAttrs, part_dot
from anyshape.sym import Dim


class Panels(Enum):
    """How a product gets at panels of columns, each row of them in one piece."""

    STORED = "stored"  # a constant, stored so before anything runs
    IN_PLACE = "in place"  # columns are next to each other anyway
    COPIED = "copied"  # each task makes a copy of the panel that it needs
    APART = "apart"  # columns are summed one by one, where they are
    COMPUTED = "computed"  # each task computes the panel that it needs


@dataclass(frozen=True, slots=True)
class MatmulMatch:
    """A dot as a matrix product: `rows` is the operand with the rows, `columns` the other."""

    dot: Node
    rows: Side
    columns: Side
    panels: Panels
    orders: tuple[Order, ...]  # of the region's results
    swapped: bool = False  # rhs of the dot has the rows
    rows_computed: bool = False  # by ops of the kernel
    halves: tuple[Node, ...] = ()  # slices of the dot that all else is made of

    @property
    def row_count(self) -> Dim:
        return self.rows.size(self.rows.free)

    @property
    def column_count(self) -> Dim:
        """Of a result."""
        count = self.columns.size(self.columns.free)
        return count // len(self.halves) if self.halves else count

    @property
    def columns_for_each(self) -> int:
        """Columns of the dot that one of a result is made of."""
        return max(1, len(self.halves))

    @property
    def result_shape(self) -> Shape:
        """Of what the epilogue begins with."""
        return (self.halves[0] if self.halves else self.dot).result().tensor.shape

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
        return self.rows if self.rows_computed else None

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


def param_of(side: Side) -> int:
    """The parameter of the region that an operand is a view of."""
    return param_index(side.view.base.node)


def _free_axes(dot: Node, side: Side, *, second: bool) -> Order:
    """The free axes of one operand among those of the result: batch, then lhs, then rhs."""
    rank = dot.result().tensor.rank
    start = rank - len(side.free) if second else _batch_rank(dot, side)
    return tuple(range(start, start + len(side.free)))


def _batch_rank(dot: Node, side: Side) -> int:
    """How many axes of the result are batch axes; parts of the depth are one too."""
    return len(side.batch) + isinstance(dot.attrs, PartDotAttrs)


DOTS = frozenset({DOT, part_dot})


def matmul_match(body: Body) -> MatmulMatch | Refusal:
    """The matrix product that a body computes, or why it does not."""
    halves = halves_of(body, DOT)
    found = only_loop(body, DOTS, "dot", halves)
    return found if isinstance(found, Refusal) else _match(body, *found, halves)


def halves_of(body: Body, op: AnyOp) -> tuple[Node, ...]:
    """The two slices that share the columns of the only loop, a product of this kind, if nothing
    else reads it: the first columns first, whichever is used first."""
    loops = body.loops
    if len(loops) != 1 or loops[0].op is not op or loops[0].result() in body.results:
        return ()
    whole = loops[0].result()
    readers = tuple(node for node in body.nodes if whole in node.operands)
    return tuple(sorted(readers, key=_first_column)) if are_halves(readers) else ()


def _first_column(half: Node) -> int:
    return int(half.attrs_as(SliceAttrs).starts[-1])


def _match(
    body: Body, dot: Node, orders: tuple[Order, ...], halves: tuple[Node, ...]
) -> MatmulMatch | Refusal:
    lhs, rhs = (side_of(dot, side, body.inside.__contains__) for side in range(2))
    straight = MatmulMatch(dot, lhs, rhs, Panels.IN_PLACE, orders, halves=halves)
    turned = MatmulMatch(dot, rhs, lhs, Panels.IN_PLACE, orders, swapped=True)
    if not lhs.depth:
        return Refusal("it sums nothing")
    for match in (straight, turned)[: 1 if halves else 2]:
        if all(has_run_at_end(order, match.column_axes) for order in orders):
            return _with_panels(body, match)
    return Refusal("columns are apart in a result, or there are none")


def _with_panels(body: Body, match: MatmulMatch) -> MatmulMatch | Refusal:
    objection = _objection_to_computed(body, match)
    if objection is not None:
        return objection
    if not match.rows.is_matrix:
        return Refusal("rows or depth are apart in memory")
    panels = _panels(body, match.columns)
    if panels is Panels.COPIED and not match.columns.is_matrix:
        return Refusal("columns or depth are apart in memory")
    if match.halves and (panels is not Panels.STORED or len(match.columns.free) != 1):
        return Refusal("halves of columns that are not constant")
    found = replace(match, panels=panels, rows_computed=body.computes(match.rows.view.base))
    return with_columns_apart(found) or found if match.row_count == 1 else found


def _objection_to_computed(body: Body, match: MatmulMatch) -> Refusal | None:
    sides = match.rows, match.columns
    rows, columns = (body.computes(side.view.base) for side in sides)
    if rows and columns:
        return Refusal("both operands are computed inside the kernel")
    if (rows and not match.rows.is_run_of_depth) or (columns and not match.columns.is_run_of_free):
        return Refusal("an operand is computed inside the kernel, one element here and one there")
    made = (node for side in sides for node in _nodes_behind(body, side))
    others = [node.op.name for node in made if not is_prologue_op(node)]
    return Refusal(f"{others[0]} computes an operand inside the kernel") if others else None


def _nodes_behind(body: Body, side: Side) -> list[Node]:
    """What an operand is computed by inside of the kernel, numbers aside."""
    found = dict.fromkeys({side.view.base.node} & body.inside)
    queue = list(found)
    while queue:
        new = ({value.node for value in queue.pop().operands} & body.inside) - found.keys()
        found |= dict.fromkeys(new)
        queue += new
    return [node for node in found if node.operands]


def is_prologue_op(node: Node) -> bool:
    """Whether neighbours in the last axis of its result are made from neighbours in memory."""
    match node.attrs:
        case TransposeAttrs(perm):
            return perm[-1:] == (len(perm) - 1,)
        case SliceAttrs() as attrs:
            return attrs.steps[-1:] == (1,)
        case _:
            return node.op.has(Trait.ELEMENTWISE) or (node.op is BROADCAST and is_view(node))


def with_columns_apart(match: MatmulMatch) -> MatmulMatch | None:
    """The form that makes no copies of panels, if columns and rows are runs along the depth."""
    strides = match.rows.depth_stride, match.columns.depth_stride
    if match.panels is not Panels.COPIED or strides != (1, 1):
        return None
    return replace(match, panels=Panels.APART)


def _panels(body: Body, columns: Side) -> Panels:
    base = columns.view.base
    if body.computes(base):
        return Panels.COMPUTED
    if body.is_constant(base) and columns.is_stored_whole and body.uses(base) == 1:
        return Panels.STORED
    return Panels.IN_PLACE if columns.is_run_of_free else Panels.COPIED
