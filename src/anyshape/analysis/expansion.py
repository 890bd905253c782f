"""Compounds replaced by their decompositions; kernels and segments opened.

A compound with a trait in `keep` stays: whoever asks takes it whole.
"""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite.inline import inline_region
from anyshape.ir.rewrite.rebuild import Rebuilder
from anyshape.ops.known import KERNEL, SEGMENT
from anyshape.sym import FactScope

NONE: frozenset[Trait] = frozenset()


class Expander(Rebuilder):
    """Expands once; what a compound expands to may be compounds."""

    def __init__(self, keep: frozenset[Trait]) -> None:
        self.keep = keep

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op in (KERNEL, SEGMENT):  # how ops are grouped is decided anew
            return tuple(inline_region(node.regions[0], node.operands, builder))
        if node.op.decompose is None or node.op.traits & self.keep:
            return node.results
        return (node.op.decompose(builder, node.operands, node.attrs),)


def expanded_region(region: Region, outer: FactScope, keep: frozenset[Trait] = NONE) -> Region:
    """A region with compounds expanded, but for some; `outer` holds the facts around it."""
    while any(node.op.is_compound and not node.op.traits & keep for node in region.nodes()):
        inside = Builder(FactScope.of(region.facts, parent=outer))
        region = Expander(keep).region(region, inside)
    return region
