"""Bodies of loops: what only they know, and values that stand for others in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.types import TensorType, Type
from anyshape.sym import Answer, Facts, FactScope, Symbol


def hold_outside(facts: Facts, own: frozenset[Symbol], scope: FactScope) -> bool:
    """Whether what a region states of sizes that are known outside is known there, too: moved nodes
    would state it of calls that never enter the loop."""
    stated = (fact.predicate for fact in facts.facts if fact.predicate.symbols.isdisjoint(own))
    return all(scope.proves(predicate) is Answer.TRUE for predicate in stated)


def own_symbols(region: Region, loop: Node) -> frozenset[Symbol]:
    """Sizes that only the region knows: of values that differ from one iteration to the next."""
    outside = frozenset[Symbol]().union(*_symbols(value.type for value in loop.operands))
    return region.born | frozenset[Symbol]().union(*_symbols(region.params)) - outside


def _symbols(types: Iterable[Type]) -> Iterator[frozenset[Symbol]]:
    return (type_.symbols for type_ in types if isinstance(type_, TensorType))


def is_plain(node: Node, own: frozenset[Symbol]) -> bool:
    """Whether it computes tensors of sizes that are known outside, without regions of its own."""
    types = (*node.types, *(value.type for value in node.operands))
    is_pure = all(isinstance(type_, TensorType) for type_ in types)
    return is_pure and not node.regions and not node.late and not node.all_symbols & own


def frontier(region: Region, moved: set[Node], costly: set[Node]) -> list[Value]:
    """Those of costly nodes' values that the rest of a region uses."""
    used = (v for node in region.nodes() if node not in moved for v in node.operands)
    return [value for value in dict.fromkeys((*used, *region.results)) if value.node in costly]


def with_stand_ins(region: Region, stands: Mapping[Value, Value]) -> Region:
    """The region with other values for some of its own."""
    values = dict(stands)
    for node in region.nodes():
        operands = [values.get(value, value) for value in node.operands]
        new = node
        if tuple(operands) != node.operands:
            new = Node.make(node.op, operands, node.attrs, node.types, node.regions, node.late)
        for old, result in zip(node.results, new.results, strict=True):
            values.setdefault(old, result)
    results = tuple(values[value] for value in region.results)
    bearers = tuple(values[node.result()].node for node in region.size_bearers)
    return replace(region, results=results, size_bearers=bearers)
