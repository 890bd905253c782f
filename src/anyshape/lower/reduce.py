"""Reductions: a loop of their own, in the outermost place that knows their index."""

from __future__ import annotations

from typing import cast

from anyshape.ir.node import Node
from anyshape.ir.types import DType, bool_, f32, i64
from anyshape.loop import Number, Scalar
from anyshape.loop.ir import Index, neutral
from anyshape.lower.context import RULES, Conditions, Lowering, rule
from anyshape.ops.reduce import ArgReduceAttrs, ReduceAttrs
from anyshape.sym import Dim, product

COMBINE = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def reduction(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """16-bit floats accumulate in f32, as the reference does."""
    dtype = node.result().tensor.dtype
    wide = f32 if dtype.is_float and dtype.bits < f32.bits else dtype
    op = COMBINE[node.op.name if node.op.name in COMBINE else "sum"]
    total = combined(low, node, index, conditions, op, wide)
    return total if wide is dtype else low.apply("cast", (total,), dtype)


def combined(
    low: Lowering, node: Node, index: Index, conditions: Conditions, op: str, wide: DType
) -> Scalar:
    attrs = cast(ReduceAttrs, node.attrs)
    (x,) = node.operands
    kept = _kept(attrs, x.tensor.rank, index)

    def element(chosen: list[Dim]) -> Scalar:
        inner, outer = iter(chosen), iter(kept)
        axes = range(x.tensor.rank)
        source = tuple(next(inner) if axis in attrs.axes else next(outer) for axis in axes)
        value = low.at(x, source, conditions)
        return value if value.dtype == wide else low.apply("cast", (value,), wide)

    extents = [x.tensor.shape[axis] for axis in sorted(attrs.axes)]
    return low.accumulate(op, wide, extents, tuple(kept), element)


def _kept(attrs: ReduceAttrs, rank: int, index: Index) -> list[Dim]:
    """The result's index for each axis that is not reduced."""
    axes = [axis for axis in range(rank) if attrs.keepdims or axis not in attrs.axes]
    return [i for i, axis in zip(index, axes, strict=True) if axis not in attrs.axes]


for _name in COMBINE:
    RULES[_name] = reduction


@rule("mean")
def mean(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    dtype = node.result().tensor.dtype
    wide = f32 if dtype.bits < f32.bits else dtype
    total = combined(low, node, index, conditions, "add", wide)
    (x,) = node.operands
    axes = cast(ReduceAttrs, node.attrs).axes
    number = low.let(Number(product(x.tensor.shape[axis] for axis in axes)))
    count = low.apply("cast", (number,), wide)
    result = low.apply("div", (total, count), wide)
    return result if wide is dtype else low.apply("cast", (result,), dtype)


# --- arg-reductions -------------------------------------------------------------------------------


def arg_reduction(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """The extremum first, then the lowest index where it stands. A NaN is the extremum."""
    attrs = cast(ArgReduceAttrs, node.attrs)
    (x,) = node.operands
    axis, dtype = attrs.axis, x.tensor.dtype
    kept = (*index[:axis], *index[axis + (1 if attrs.keepdims else 0) :])
    extent = [x.tensor.shape[axis]]

    def element(chosen: list[Dim]) -> Scalar:
        return low.at(x, (*kept[:axis], *chosen, *kept[axis:]), conditions)

    op = "maximum" if node.op.name == "argmax" else "minimum"
    best = low.accumulate(op, dtype, extent, kept, element)

    def place(chosen: list[Dim]) -> Scalar:
        value = element(chosen)
        found = low.apply("eq", (value, best), bool_)
        if dtype.is_float:
            found = low.apply("logical_or", (found, low.apply("is_nan", (value,), bool_)), bool_)
        here, nowhere = low.let(Number(chosen[0])), neutral("minimum", i64)
        return low.apply("select", (found, here, nowhere), i64)

    return low.accumulate("minimum", i64, extent, kept, place)


RULES["argmax"] = arg_reduction
RULES["argmin"] = arg_reduction
