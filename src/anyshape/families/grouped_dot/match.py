"""Recognising grouped dots: a product of all rows, but for where each row finds its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from anyshape.analysis.matrix_sides import Side
from anyshape.analysis.strided_view import StridedView, view_of
from anyshape.families.body import Body
from anyshape.families.dot.match import MatmulMatch, Panels, halves_of
from anyshape.families.followers import only_loop
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ops.known import GROUPED_DOT, TRANSPOSE


class GroupedMatch(NamedTuple):
    """The product, and where the groups of its rows end."""

    product: MatmulMatch
    offsets: Value

    @property
    def offsets_param(self) -> int:
        return param_index(self.offsets.node)


def grouped_match(body: Body) -> GroupedMatch | Refusal:
    """The grouped dot of a body, or why it has no kernel of tiles."""
    halves = halves_of(body, GROUPED_DOT)
    found = only_loop(body, {GROUPED_DOT}, "grouped dot", halves)
    if isinstance(found, Refusal):
        return found
    dot, orders = found
    if any(order != (0, 1) for order in orders):
        return Refusal("a result is transposed")
    x, given, offsets = dot.operands
    weights = view_of(given, lambda node: node.op is TRANSPOSE and node in body.inside)
    if any(map(body.computes, (x, weights.base, offsets))):
        return Refusal("an operand is computed inside the kernel")
    stored = body.is_constant(weights.base) and body.uses(weights.base) == 1
    if not stored and weights.base != given:
        return Refusal("weights that are not constant are transposed")
    if not stored and halves:
        return Refusal("halves of columns that are not constant")
    panels = Panels.STORED if stored else Panels.IN_PLACE
    product = replace(_product(dot, weights, panels, len(body.results)), halves=halves)
    return GroupedMatch(product, offsets)


def _product(dot: Node, weights: StridedView, panels: Panels, results: int) -> MatmulMatch:
    x = view_of(dot.operands[0], lambda _: False)
    rows, columns = Side(x, (), (1,), (0,)), Side(weights, (0,), (1,), (2,))
    return MatmulMatch(dot, rows, columns, panels, ((0, 1),) * results)
