"""Products of a scan's rows with what is the same for all rows are one product, in front of it.

    scan(s, x): s + x @ w            becomes            z = x @ w;  scan(s, z): s + z

A recurrent cell spends half of its work on such products. Row by row each of them reads the whole
matrix; of all rows they are one product like any other. What is done to rows before and after it
goes along, if it is done to each element, or changes only the shape.

No rows are no work here as there: a product of no rows asks nothing that the loop would not, as a
region that states more than is known outside keeps its nodes. Products are left inside where their
results are much longer than rows, as they would all be in memory at once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait, param_index
from anyshape.ir.types import TensorType, Type
from anyshape.ops.control import ScanAttrs
from anyshape.ops.dot import DotAttrs, free_axes
from anyshape.ops.known import DOT, RESHAPE, TRANSPOSE
from anyshape.ops.movement import ShapeAttrs, TransposeAttrs
from anyshape.passes.infra import PassContext
from anyshape.passes.loop_movers import LoopMover
from anyshape.passes.loop_regions import (
    frontier,
    hold_outside,
    is_plain,
    own_symbols,
    with_stand_ins,
)
from anyshape.sym import Answer, Dim, Facts, FactScope, LessEqual

LONGER: Final = 16
"""So many times the elements of a row are too many."""


@dataclass(frozen=True)
class ScannedProducts:
    """Moves products of rows out of `scan`."""

    name: str = "scanned-products"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return _Mover(self.name, ctx).rebuilt_graph(graph)


class _Mover(LoopMover):
    def moved(self, node: Node, builder: Builder) -> Node:
        return self._scan(node, builder) if isinstance(node.attrs, ScanAttrs) else node

    def _scan(self, loop: Node, builder: Builder) -> Node:
        found = _found(loop, builder.scope)
        for node in found.long:
            self.decide(False, "its results are much longer than the rows", node, builder)
        values = frontier(loop.regions[0], found.same | found.rows, found.costly)
        if not values:
            return loop
        for value in values:
            self.decide(True, "it is one product of all rows of the scan", value.node, builder)
        outside = _outside(loop, values, found, builder)
        return _with_rows(loop, values, outside, builder)


# --- which values are computed from rows alone ----------------------------------------------------


@dataclass
class _Found:
    """Nodes of a body: the same for all rows, of a row alone, those of the latter with a product in
    them, and products that are too long."""

    same: set[Node] = field(default_factory=set[Node])
    rows: set[Node] = field(default_factory=set[Node])
    costly: set[Node] = field(default_factory=set[Node])
    long: list[Node] = field(default_factory=list[Node])


def _found(loop: Node, scope: FactScope) -> _Found:
    found, (body,), attrs = _Found(), loop.regions, loop.attrs_as(ScanAttrs)
    own = own_symbols(body, loop)
    if not hold_outside(body.facts, own, scope):
        return found
    for node in body.nodes():
        if node.op is PARAM:
            number = param_index(node) - attrs.carried
            if number >= 0:
                (found.rows if number < attrs.scanned else found.same).add(node)
        elif is_plain(node, own):
            _sort_in(node, found, scope)
    return found


def _sort_in(node: Node, found: _Found, scope: FactScope) -> None:
    operands = {value.node for value in node.operands}
    if operands <= found.same:
        found.same.add(node)
        return
    if not operands <= found.same | found.rows or not _has_form(node, found.rows):
        return
    if node.op is DOT and _is_long(node, found.rows, scope):
        found.long.append(node)
        return
    found.rows.add(node)
    if node.op is DOT or operands & found.costly:
        found.costly.add(node)


def _has_form(node: Node, rows: Set[Node]) -> bool:
    """Whether it can be done to all rows at once."""
    of_rows = [value.node in rows for value in node.operands]
    if isinstance(node.attrs, DotAttrs):
        return node.op is DOT and not node.attrs.batch[0] and of_rows.count(True) == 1
    if node.op in (RESHAPE, TRANSPOSE):
        return True
    rank = node.types[0].rank if isinstance(node.types[0], TensorType) else 0
    aligned = all(v.tensor.rank == rank for v in node.operands if v.node in rows)
    return node.op.has(Trait.ELEMENTWISE) and aligned


def _is_long(dot: Node, rows: Set[Node], scope: FactScope) -> bool:
    (row,) = (value for value in dot.operands if value.node in rows)
    limit = row.tensor.size * LONGER
    return scope.proves(LessEqual(limit, dot.result().tensor.size)) is Answer.TRUE


# --- all rows at once -----------------------------------------------------------------------------


def _outside(loop: Node, values: Sequence[Value], found: _Found, builder: Builder) -> list[Value]:
    """What stands for the values of all rows, computed around the loop."""
    made: dict[Value, Value] = {}
    length = loop.attrs_as(ScanAttrs).length
    for node in Region((), tuple(values), Facts()).nodes():
        if node.op is PARAM:
            made[node.result()] = loop.operands[param_index(node)]
            continue
        builder.location = builder.locations.of(node)
        operands = [made[value] for value in node.operands]
        of_rows = [value.node in found.rows for value in node.operands]
        made[node.result()] = _of_all_rows(node, operands, of_rows, length, builder)
    return [made[value] for value in values]


def _of_all_rows(
    node: Node, operands: list[Value], of_rows: list[bool], length: Dim, builder: Builder
) -> Value:
    match node.attrs:
        case _ if not any(of_rows):
            return builder.node(node.op, operands, node.attrs).result()
        case DotAttrs() as attrs:
            return _product(node, attrs, operands, of_rows, builder)
        case ShapeAttrs(shape) if node.op is RESHAPE:
            return builder.emit("reshape", *operands, shape=(length, *shape))
        case TransposeAttrs(perm):
            return builder.emit("transpose", *operands, perm=(0, *(axis + 1 for axis in perm)))
        case _:
            return builder.node(node.op, operands, node.attrs).result()


def _product(
    dot: Node, attrs: DotAttrs, operands: list[Value], of_rows: list[bool], builder: Builder
) -> Value:
    """Rows come first; where they were the second operand, their own axes go behind again."""
    left, right = attrs.contract
    if of_rows[0]:
        pairs = tuple(axis + 1 for axis in left), right
        return builder.emit("dot", *operands, contract=pairs)
    pairs = tuple(axis + 1 for axis in right), left
    turned = builder.emit("dot", operands[1], operands[0], contract=pairs)
    own, rank = len(free_axes(dot.operands[1].tensor.rank, attrs, 1)), turned.tensor.rank
    perm = (0, *range(1 + own, rank), *range(1, 1 + own))
    return turned if own == 0 else builder.emit("transpose", turned, perm=perm)


# --- the loop on them -----------------------------------------------------------------------------


def _with_rows(
    loop: Node, values: Sequence[Value], outside: Sequence[Value], builder: Builder
) -> Node:
    """The loop with more sequences, whose rows stand for the values."""
    (body,), attrs = loop.regions, loop.attrs_as(ScanAttrs)
    behind = attrs.carried + attrs.scanned
    types = tuple(value.type for value in values)
    params = (*body.params[:behind], *types, *body.params[behind:])
    stands: dict[Value, Value] = {}
    for node in body.nodes():
        if node.op is PARAM and param_index(node) >= behind:  # captures are further back
            number = param_index(node) + len(values)
            stands[node.result()] = _param(number, node.result().type)
    for i, value in enumerate(values):
        stands[value] = _param(behind + i, value.type)
    region = with_stand_ins(replace(body, params=params), stands)
    operands = (*loop.operands[:behind], *outside, *loop.operands[behind:])
    more = replace(attrs, scanned=attrs.scanned + len(values))
    return builder.node(loop.op, operands, more, [region], loop.late)


def _param(number: int, type_: Type) -> Value:
    return Node.make(PARAM, (), ParamAttrs(number), (type_,)).result()
