"""Putting the body of a region in place of the op that would run it."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.location import Location
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, param_index


def inline_region(region: Region, args: Sequence[Value], builder: Builder) -> list[Value]:
    """The results of `region` on `args`, built in the region that `builder` makes.

    What the body requires is required there: now it must hold whenever the graph runs. That
    includes facts of nodes that were rewritten away, which no node would require again.
    """
    values: dict[Value, Value] = {}
    for node in region.nodes():
        values.update(zip(node.results, _inlined(node, args, values, builder), strict=True))
    for fact in region.facts.facts:
        where = Location(fact.where) if fact.where else None
        builder.scope.require(fact.predicate, fact.words, where)
    return [values[value] for value in region.results]


def _inlined(
    node: Node, args: Sequence[Value], values: dict[Value, Value], builder: Builder
) -> tuple[Value, ...]:
    if node.op is PARAM:
        return (args[param_index(node)],)
    operands = [values[value] for value in node.operands]
    return builder.node(node.op, operands, node.attrs, node.regions, node.late).results
