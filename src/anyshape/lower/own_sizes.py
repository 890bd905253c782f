"""A region in sizes of its own: `n0, n1, …` in the order they are met.

The same work on other axes is then the same region, and the same kernel. Some dims are sizes too:
level 2 computes them, and proofs need not look into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyshape.ir.node import Region
from anyshape.ir.substitute import substitute_region
from anyshape.ir.types import TensorType
from anyshape.lower.base_sizes import with_base_sizes
from anyshape.lower.broadcast_sizes import with_broadcast_sizes
from anyshape.lower.concat_sizes import lengths_of_slices, with_sizes_of_concats
from anyshape.lower.parts import sizes_of_parts, with_sizes_of_parts
from anyshape.lower.quotient_sizes import with_quotient_sizes
from anyshape.lower.slice_bounds import sizes_of_bounds, with_sizes_of_bounds
from anyshape.sym import Axis, Dim, Facts, Symbol


@dataclass(frozen=True, slots=True)
class Renamed:
    """A region and what is known around it, both in `sizes`; `dims` are those of the graph."""

    region: Region
    facts: Facts
    sizes: tuple[Symbol, ...]
    dims: tuple[Dim, ...]


def in_own_sizes(region: Region, facts: Facts) -> Renamed:
    """The region under names of its own. `facts` hold around it."""
    region, facts, broadcasts = with_broadcast_sizes(region, facts)
    region, facts, quotients = with_quotient_sizes(region, facts)
    region, facts, bases = with_base_sizes(region, facts)
    own_sizes = sizes_of_parts(region)
    if own_sizes:
        region = with_sizes_of_parts(region, own_sizes)
    region, parts, of_concats = with_sizes_of_concats(region)
    bounds = sizes_of_bounds(region, few=0) if parts else sizes_of_bounds(region)
    if bounds:
        region, of_bounds = with_sizes_of_bounds(region, bounds)
        facts = replace(facts, facts=(*facts.facts, *of_bounds))
    if parts:
        facts = replace(facts, facts=(*facts.facts, *of_concats, *lengths_of_slices(region)))
    own_sizes |= parts | bounds
    symbols = size_symbols(region)
    sizes = tuple(Symbol(f"n{number}") for number in range(len(symbols)))
    names = {symbol: Dim.of(size) for symbol, size in zip(symbols, sizes, strict=True)}
    known = _renamed(facts, names)
    own_axes = tuple(Axis(str(names[symbol])) for symbol in own_sizes if symbol in names)
    known = replace(known, axes=(*known.axes, *own_axes))
    own_dims = [own_sizes.get(symbol, Dim.of(symbol)) for symbol in symbols]
    for named in (bases, quotients, broadcasts):  # the last first
        own_dims = [dim.substitute(named) for dim in own_dims]
    return Renamed(substitute_region(region, names), known, sizes, tuple(own_dims))


def size_symbols(region: Region) -> list[Symbol]:
    """The symbols of a region in the order they are met, parameters first."""
    found: dict[Symbol, None] = {}
    for type_ in region.params:
        if isinstance(type_, TensorType):
            found.update((s, None) for dim in type_.shape for s in sorted(dim.symbols, key=str))
    for node in region.nodes():
        found.update((s, None) for s in sorted(node.symbols, key=str))
    return list(found)


def _renamed(facts: Facts, names: Mapping[Symbol, Dim]) -> Facts:
    """Facts that concern only the region's symbols, under their new names."""
    inside = facts.within(names.keys())
    axes = tuple(_rename_axis(axis, names[axis.symbol]) for axis in inside.axes)
    return Facts(axes, tuple(fact.substitute(names) for fact in inside.facts))


def _rename_axis(axis: Axis, name: Dim) -> Axis:
    return Axis(str(name), ranges=axis.ranges, multiple_of=axis.multiple_of)
