"""What every iteration of a loop would compute alike is computed once, in front of it.

    while(y, x): y + x @ w          becomes          z = x @ w;  while(y, z): y + z

A value is invariant if it depends on captures alone. Those with a loop of their own are worth
memory (products, reductions, sorts); elementwise work on captures stays where it is, and joins the
kernel that uses it. A loop that is not entered has computed them for nothing, but asks nothing of
its sizes: a region that states more than is known outside keeps its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, param_index
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.passes.infra import PassContext
from anyshape.passes.loop_movers import LoopMover
from anyshape.passes.loop_regions import (
    frontier,
    hold_outside,
    is_plain,
    own_symbols,
    with_stand_ins,
)
from anyshape.passes.native_forms import is_alone, is_loop
from anyshape.sym import Facts, FactScope, Symbol


@dataclass(frozen=True)
class LoopInvariants:
    """Moves work on captures out of `while` and `scan`."""

    name: str = "loop-invariants"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return _Mover(self.name, ctx).rebuilt_graph(graph)


class _Mover(LoopMover):
    def moved(self, node: Node, builder: Builder) -> Node:
        first = _first_capture(node)
        return node if first is None else self._loop(node, first, builder)

    def _loop(self, loop: Node, first: int, builder: Builder) -> Node:
        operands, regions = list(loop.operands), list(loop.regions)
        why = f"it is the same in each iteration of the {loop.op.name}"
        for number in range(len(regions)):
            values = _worth_moving(regions[number], first, loop, builder.scope)
            outside = [_outside(value, loop.operands, builder) for value in values]
            regions = [
                _with_captures(region, values if i == number else (), outside)
                for i, region in enumerate(regions)
            ]
            operands += outside
            for value in values:
                self.decide(True, why, value.node, builder)
        if len(operands) == len(loop.operands):
            return loop
        return builder.node(loop.op, operands, loop.attrs, regions, loop.late)


def _first_capture(node: Node) -> int | None:
    match node.attrs:
        case WhileAttrs(carried):
            return carried
        case ScanAttrs(carried, scanned):
            return carried + scanned
        case _:
            return None


def _worth_moving(region: Region, first: int, loop: Node, scope: FactScope) -> list[Value]:
    """Invariant values that the rest of a region uses, and that took a loop to compute."""
    own = own_symbols(region, loop)
    if not hold_outside(region.facts, own, scope):
        return []
    invariant, costly = set[Node](), set[Node]()
    for node in region.nodes():
        if not _is_invariant(node, first, invariant, own):
            continue
        invariant.add(node)
        if is_loop(node) or is_alone(node) or any(v.node in costly for v in node.operands):
            costly.add(node)
    return frontier(region, invariant, costly)


def _is_invariant(node: Node, first: int, known: set[Node], own: frozenset[Symbol]) -> bool:
    if node.op is PARAM:
        return param_index(node) >= first
    return is_plain(node, own) and all(value.node in known for value in node.operands)


def _outside(value: Value, captured: Sequence[Value], builder: Builder) -> Value:
    """The same value, computed around the region from what it captures."""
    nodes = Region((), (value,), Facts()).nodes()
    made: dict[Value, Value] = {}
    for node in nodes:
        if node.op is PARAM:
            made[node.result()] = captured[param_index(node)]
            continue
        builder.location = builder.locations.of(node)
        new = builder.node(node.op, [made[v] for v in node.operands], node.attrs)
        made.update(zip(node.results, new.results, strict=True))
    return made[value]


def _with_captures(region: Region, values: Sequence[Value], outside: Sequence[Value]) -> Region:
    """A region with one more parameter for each value outside, which stand for `values`, if any.
    All at once: one of them may be computed from another."""
    types, first = tuple(value.type for value in outside), len(region.params)
    made = (Node.make(PARAM, (), ParamAttrs(first + i), (t,)) for i, t in enumerate(types))
    stands = dict(zip(values, (node.result() for node in made), strict=False))
    return with_stand_ins(replace(region, params=(*region.params, *types)), stands)
