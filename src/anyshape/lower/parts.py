"""Parts of long axes: a loop over one part, and the two ways to compute what is staged.

Which of the two runs is decided by sizes alone, not by costs: only where there are parts are their
totals there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.substitute import map_region
from anyshape.ir.types import i64
from anyshape.loop import Number, Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.lower.movement import delinear
from anyshape.lower.reduce import index_if_best
from anyshape.ops.attention import PartAttentionAttrs
from anyshape.ops.known import STAGED
from anyshape.ops.parts import (
    PartCumulativeAttrs,
    PartDotAttrs,
    PartIndexAttrs,
    PartReduceAttrs,
    StagedAttrs,
    divided_size,
)
from anyshape.sym import Dim, Symbol, minimum

PARTS, LENGTH = Symbol("?parts"), Symbol("?length")
_DIVIDED = (PartReduceAttrs, PartCumulativeAttrs, PartDotAttrs, PartAttentionAttrs)


def part_range(low: Lowering, size: Dim, length: Dim, part: Dim) -> tuple[Dim, Dim]:
    """Where a part begins, and how many elements it has. The beginning is an index with a range of
    its own: proofs then need no products."""
    start = low.bind(Number(part * length), size + 1)
    return start, minimum(length, size - start)


def sizes_of_parts(region: Region) -> dict[Symbol, Dim]:
    """The number and the length of parts, as sizes of the kernel's own: level 2 computes them, and
    proofs need not look into them."""
    sizes: dict[Symbol, Dim] = {}
    for node in region.nodes():
        if isinstance(node.attrs, _DIVIDED):
            sizes = {PARTS: node.attrs.parts, LENGTH: node.attrs.length}
            break
        if isinstance(node.attrs, StagedAttrs):
            sizes = {PARTS: node.attrs.parts}
            break
    return {symbol: dim for symbol, dim in sizes.items() if dim.constant is None}


def with_sizes_of_parts(region: Region, sizes: Mapping[Symbol, Dim]) -> Region:
    """The region with these symbols in place of the dims that they stand for."""
    names = {dim: Dim.of(symbol) for symbol, dim in sizes.items()}
    return map_region(region, lambda dim: names.get(dim, dim))


@rule("part_reduce")
def part_reduce(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(PartReduceAttrs)
    (x,) = node.operands
    shape, (part, *kept) = x.tensor.shape, index
    divided = attrs.axes if attrs.flat else attrs.axes[:1]
    start, extent = part_range(low, divided_size(shape, attrs), attrs.length, part)
    others = [axis for axis in attrs.axes if axis not in divided]

    def element(chosen: list[Dim]) -> Scalar:
        first, *rest = chosen
        places = dict(zip(others, rest, strict=True))
        run = delinear(tuple(shape[axis] for axis in divided), start + first)
        places.update(zip(divided, run, strict=True))
        outer = iter(kept)
        source = tuple(places[a] if a in places else next(outer) for a in range(len(shape)))
        return low.cast(low.at(x, source, conditions), attrs.dtype)

    extents = [extent, *(shape[axis] for axis in others)]
    sides = (dim for test in conditions for dim in test.sides)
    return low.accumulate(attrs.combine, attrs.dtype, extents, (*index, *sides), element)


@rule("part_index")
def part_index(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(PartIndexAttrs)
    x, extrema = node.operands
    (part, *kept), axis = index, attrs.axis
    start, extent = part_range(low, x.tensor.shape[axis], attrs.length, part)
    best = low.at(extrema, index, conditions)

    def candidate(chosen: list[Dim]) -> Scalar:
        here = start + chosen[0]
        value = low.at(x, (*kept[:axis], here, *kept[axis:]), conditions)
        return index_if_best(low, value, best, here)

    sides = (dim for test in conditions for dim in test.sides)
    return low.accumulate("minimum", i64, [extent], (*index, *sides), candidate)


# --- two ways -------------------------------------------------------------------------------------


def staged_node(region: Region) -> Node | None:
    return next((node for node in region.nodes() if node.op is STAGED), None)


def without_stages(region: Region, way: int) -> Region:
    """The region with one of the two ways in place of what is staged."""
    made: dict[Value, Value] = {}
    for node in region.nodes():
        if node.op is STAGED:
            made[node.result()] = made[node.operands[way]]
            continue
        operands = tuple(made[value] for value in node.operands)
        new = node
        if operands != node.operands:
            new = Node.make(node.op, operands, node.attrs, node.types, node.regions, node.late)
        made.update(zip(node.results, new.results, strict=True))
    return replace(region, results=tuple(made[value] for value in region.results))


def is_divided(staged: Node) -> Dim:
    """1 where it is computed from parts, 0 where it is as a whole."""
    return minimum(1, staged.attrs_as(StagedAttrs).parts)
