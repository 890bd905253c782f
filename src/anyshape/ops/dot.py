"""Dot products.

dot            batch axes, contracting axes, and everything else kept
grouped_dot    rows in groups, each multiplied with a matrix of its own; data say where they end
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import NUMERIC, Array, DType, Shape, i32, i64
from anyshape.ops.elementwise import add, widened
from anyshape.ops.rules import SameDType, check_allowed, check_same
from anyshape.sym import Dim

AxisPairs = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class DotAttrs(Attrs):
    """Axes of lhs and of rhs, pairwise. The result has batch, lhs and rhs axes in that order."""

    contract: AxisPairs
    batch: AxisPairs = ((), ())


def dot_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: DotAttrs, /) -> tuple[Shape, ...]:
    lhs, rhs = shapes
    for name, (left, right) in (("contract", attrs.contract), ("batch", attrs.batch)):
        if len(left) != len(right):
            raise ctx.refuse_attribute(name, f"pairs {list(left)} with {list(right)}")
    for side, shape in enumerate(shapes):
        ctx.check_axes("contract", attrs.contract[side] + attrs.batch[side], len(shape))
    _paired(ctx, "contracting", lhs, rhs, attrs.contract)
    batch = _paired(ctx, "batch", lhs, rhs, attrs.batch)
    return ((*batch, *_free(lhs, attrs, 0), *_free(rhs, attrs, 1)),)


def _paired(ctx: ShapeContext, what: str, lhs: Shape, rhs: Shape, pairs: AxisPairs) -> list[Dim]:
    return [
        ctx.require_equal(
            lhs[left], rhs[right],
            f"{what} axis {left} of lhs and axis {right} of rhs must be equal",
        )
        for left, right in zip(*pairs, strict=True)
    ]  # fmt: skip


def _free(shape: Shape, attrs: DotAttrs, side: int) -> Shape:
    return tuple(shape[axis] for axis in free_axes(len(shape), attrs, side))


def free_axes(rank: int, attrs: DotAttrs, side: int) -> tuple[int, ...]:
    """Those of an operand that are neither contracted nor batch."""
    used = attrs.contract[side] + attrs.batch[side]
    return tuple(axis for axis in range(rank) if axis not in used)


def _dot(call: Call[DotAttrs]) -> Array:
    def product(lhs: Array, rhs: Array) -> Any:
        if not lhs.size or not rhs.size:  # 0 by definition, not by what NumPy makes of such views
            return np.zeros(tuple(int(dim) for dim in call.result.shape), lhs.dtype)
        return np.einsum(*_einsum(lhs, rhs, call.attrs))

    return widened(product, call)


def _einsum(
    lhs: Array, rhs: Array, attrs: DotAttrs
) -> tuple[Array, list[int], Array, list[int], list[int]]:
    """Operands with a letter per axis, and the letters of the result."""
    left = list(range(lhs.ndim))
    right = list(range(lhs.ndim, lhs.ndim + rhs.ndim))
    for l_axis, r_axis in zip(
        attrs.contract[0] + attrs.batch[0], attrs.contract[1] + attrs.batch[1], strict=True
    ):
        right[r_axis] = left[l_axis]
    free_left = [a for a in range(lhs.ndim) if a not in attrs.contract[0] + attrs.batch[0]]
    free_right = [right[a] for a in range(rhs.ndim) if a not in attrs.contract[1] + attrs.batch[1]]
    return lhs, left, rhs, right, [*attrs.batch[0], *free_left, *free_right]


def _dot_mixing(shapes: Sequence[Shape], attrs: DotAttrs, /) -> tuple[Link, ...]:
    """Both sides of a product are filled: 0 times what is no number is none either."""
    lhs, rhs = (free_axes(len(shape), attrs, side) for side, shape in enumerate(shapes))
    kept = (
        *zip(*attrs.batch, strict=True),
        *((axis, None) for axis in lhs),
        *((None, axis) for axis in rhs),
    )
    contracted = zip(*attrs.contract, strict=True)
    return (
        *(Link(axes, result) for result, axes in enumerate(kept)),
        *(Link(axes, None, Sees.FILLED) for axes in contracted),
    )


dot = register(
    OpDef(
        "dot",
        Signature(("lhs", "rhs")),
        DotAttrs,
        SameDType(NUMERIC),
        dot_shape,
        reference=_dot,
        traits=frozenset({Trait.CONTRACTION}),
        mixing=_dot_mixing,
        combine=add,
    )
)


# --- grouped --------------------------------------------------------------------------------------


def _grouped_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_same(op, dtypes[:2])
    check_allowed(op, dtypes[0], NUMERIC)
    check_allowed(f"{op} (offsets)", dtypes[2], (i32, i64))
    return (dtypes[0],)


def grouped_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    x, weights, offsets = shapes
    ranks = len(x), len(weights), len(offsets)
    if ranks != (2, 3, 1):
        raise ctx.refuse_operand(f"x, weights and offsets have ranks {ranks}, expected (2, 3, 1)")
    ctx.require_equal(x[1], weights[1], "axis 1 of x and of weights must be equal")
    ctx.require_equal(offsets[0], weights[0], "there must be as many offsets as matrices")
    return ((x[0], weights[2]),)


def _grouped_dot(call: Call[Attrs]) -> Array:
    def product(x: Array, weights: Array, offsets: Array) -> Any:
        result = np.zeros((len(x), weights.shape[2]), x.dtype)
        start = 0
        for matrix, end in zip(weights, offsets.astype(np.int64), strict=True):
            result[start:end] = np.einsum("tk,kn->tn", x[start:end], matrix)
            start = end
        return result

    return widened(product, call)


grouped_dot = register(
    OpDef(
        "grouped_dot",
        Signature(("x", "weights", "offsets")),
        Attrs,
        _grouped_dtype,
        grouped_shape,
        reference=_grouped_dot,
        traits=frozenset({Trait.CONTRACTION}),
        doc="Rows of `x` from `offsets[g - 1]` to `offsets[g]` times `weights[g]`; offsets ascend, "
        "and rows after the last one give 0.",
    )
)
