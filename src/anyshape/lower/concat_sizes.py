"""Sizes of the parts of a concatenation as sizes of a kernel's own.

Part k begins after all parts before it. If their sizes are sums and quotients themselves, each
proof about it looks into all of them; with a name for each size it sees a sum of names, and kernels
that concatenate other slices are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyshape.ir.node import Node, Region
from anyshape.ir.substitute import map_region
from anyshape.ops.movement import AxisAttrs, SliceAttrs, concat
from anyshape.sym import Dim, Equal, Fact, LessEqual, Origin, Predicate, Symbol, ceildiv, total

FEW = 3
"""Sizes of so few parts stay dims, if they are short: proofs may use what they are."""

SHORT = 8
"""Terms of such a size."""


def with_sizes_of_concats(region: Region) -> tuple[Region, dict[Symbol, Dim], tuple[Fact, ...]]:
    """The region with a symbol for each size of a part, what these stand for, and what is known.

    Few parts stay as they are, and so do regions with compounds: their types are inferred again.
    """
    nodes = region.nodes()
    concats = [node for node in nodes if node.op is concat]
    if not _has_many(concats) or any(node.op.is_compound or node.regions for node in nodes):
        return region, {}, ()
    names: dict[Dim, Dim] = {}
    sizes: dict[Symbol, Dim] = {}
    known: list[Predicate] = []
    for node in concats:
        parts = _sizes(node)
        for size in dict.fromkeys(parts):
            if _is_compound(size) and size not in names:
                symbol = Symbol(f"?part{len(sizes):04}")
                sizes[symbol], names[size] = size, Dim.of(symbol)
        whole = total(names.get(size, size) for size in parts)
        result = node.result().tensor.shape[_axis(node)]
        if _is_compound(result):
            names.setdefault(result, whole)
        elif not result.is_constant:
            known.append(Equal(whole, result))
    named = map_region(region, lambda dim: names.get(dim, dim))
    return named, sizes, tuple(Fact(predicate, Origin.OP) for predicate in known)


def _has_many(concats: Sequence[Node]) -> bool:
    """Whether there are many parts, or such whose sizes are long."""
    is_long = any(len(size.terms) > SHORT for node in concats for size in _sizes(node))
    return is_long or sum(len(node.operands) for node in concats) > FEW


def lengths_of_slices(region: Region) -> Iterator[Fact]:
    """What is known of the results of slices whose size has a name, or whose bounds have."""
    for node in region.nodes():
        if isinstance(node.attrs, SliceAttrs):
            shape, attrs = node.result().tensor.shape, node.attrs
            bounds = zip(shape, attrs.starts, attrs.stops, attrs.steps, strict=True)
            for size, start, stop, step in bounds:
                if size is not ceildiv(stop - start, step):
                    yield Fact(LessEqual(start + size * step, stop + (step - 1)), Origin.OP)


def _axis(node: Node) -> int:
    assert isinstance(node.attrs, AxisAttrs)
    return node.attrs.axis


def _sizes(node: Node) -> list[Dim]:
    """Of the parts, along the axis on which they follow each other."""
    return [value.tensor.shape[_axis(node)] for value in node.operands]


def _is_compound(size: Dim) -> bool:
    return not size.is_constant and size.symbol is None
