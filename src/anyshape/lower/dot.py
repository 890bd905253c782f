"""Dots as plain sums of products: right for every shape, dtype and axis choice.

It is the fallback and the yardstick; matrix products with a GEMM-like form get generated
micro-kernels instead.
"""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.types import bool_, i64, wide_of
from anyshape.loop import Literal, Number, Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.lower.movement import delinear
from anyshape.lower.parts import part_range
from anyshape.ops.dot import DotAttrs
from anyshape.ops.parts import PartDotAttrs
from anyshape.sym import Dim, product


@rule("dot")
def dot(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(DotAttrs)
    lhs, rhs = node.operands
    dtype = node.result().tensor.dtype
    wide = wide_of(dtype)

    def element(chosen: list[Dim]) -> Scalar:
        places = operand_indices(attrs, lhs.tensor.rank, rhs.tensor.rank, index, chosen)
        pair = [low.at(x, i, conditions) for x, i in zip((lhs, rhs), places, strict=True)]
        return low.apply("mul", [low.cast(factor, wide) for factor in pair], wide)

    extents = [lhs.tensor.shape[axis] for axis in attrs.contract[0]]
    total = low.accumulate("add", wide, extents, index, element)
    return low.cast(total, dtype)


@rule("part_dot")
def part_dot(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(PartDotAttrs)
    lhs, rhs = node.operands
    part, *kept = index
    depth = tuple(lhs.tensor.shape[axis] for axis in attrs.contract[0])
    start, extent = part_range(low, product(depth), attrs.length, part)

    def element(chosen: list[Dim]) -> Scalar:
        run = list(delinear(depth, start + chosen[0]))
        places = operand_indices(attrs, lhs.tensor.rank, rhs.tensor.rank, tuple(kept), run)
        pair = [low.at(x, i, conditions) for x, i in zip((lhs, rhs), places, strict=True)]
        return low.apply("mul", [low.cast(factor, attrs.dtype) for factor in pair], attrs.dtype)

    return low.accumulate("add", attrs.dtype, [extent], index, element)


@rule("grouped_dot")
def grouped_dot(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    x, weights, offsets = node.operands
    row, column = index
    groups, depth, _ = weights.tensor.shape
    dtype = node.result().tensor.dtype
    wide = wide_of(dtype)

    def is_over(chosen: list[Dim]) -> Scalar:
        """Whether a group ends before this row."""
        end = low.cast(low.at(offsets, tuple(chosen), conditions), i64)
        return low.cast(low.apply("le", (end, Number(row)), bool_), i64)

    over = low.accumulate("add", i64, [groups], (row,), is_over)
    group = low.bind(over, groups)

    def element(chosen: list[Dim]) -> Scalar:
        places = (row, chosen[0]), (group, chosen[0], column)
        pair = [low.at(v, i, conditions) for v, i in zip((x, weights), places, strict=True)]
        return low.apply("mul", [low.cast(factor, wide) for factor in pair], wide)

    total = low.accumulate("add", wide, [depth], (*index, group), element)
    inside = low.apply("lt", (over, Number(groups)), bool_)
    return low.cast(low.apply("select", (inside, total, Literal.of(0, wide)), wide), dtype)


def operand_indices(
    attrs: DotAttrs, lhs_rank: int, rhs_rank: int, index: Index, chosen: list[Dim]
) -> tuple[Index, Index]:
    """Where both operands are read: batch, lhs and rhs axes of the result, then contraction."""
    rest = list(index)
    batch = [rest.pop(0) for _ in attrs.batch[0]]
    places: list[Index] = []
    for side, rank in enumerate((lhs_rank, rhs_rank)):
        fixed = dict(zip(attrs.batch[side], batch, strict=True))
        fixed |= dict(zip(attrs.contract[side], chosen, strict=True))
        places.append(tuple(fixed[axis] if axis in fixed else rest.pop(0) for axis in range(rank)))
    return places[0], places[1]
