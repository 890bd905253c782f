"""Which symbols nodes and regions mention, nested ones included."""

from __future__ import annotations

from anyshape.ir.node import Node, Region
from anyshape.sym import Symbol


def all_symbols(node: Node) -> frozenset[Symbol]:
    """Symbols that a node mentions, inside its regions too."""
    uppers = (late.upper.symbols for late in node.late if late.upper is not None)
    inner = (region_symbols(region) for region in node.regions)
    return node.symbols.union(*uppers, *inner)


def region_symbols(region: Region) -> frozenset[Symbol]:
    params = (type_.symbols for type_ in region.params)
    return frozenset[Symbol]().union(*params, *map(all_symbols, region.nodes()))
