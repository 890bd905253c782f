"""Reductions along `axes`: sums, extrema, means, logic, and the arg-reductions.

The reduced axes are kept as size 1 with `keepdims`, else dropped. Sums and means of 16-bit floats
accumulate in f32. A maximum over no elements is minus infinity (the smallest integer): the neutral
element, so that sizes of 0 are ordinary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.opdef import AnyOp, Call, MixingRule, OpDef, Signature, Trait, register
from anyshape.ir.types import ALL_DTYPES, FLOATS, NUMERIC, Array, DType, Shape, bool_, i64
from anyshape.ops.elementwise import add, maximum, minimum, mul, ufunc_of, widened
from anyshape.ops.rules import FixedDType, SameDType
from anyshape.sym import Dim


@dataclass(frozen=True)
class ReduceAttrs(Attrs):
    """Which axes are combined, and whether they stay as size 1."""

    axes: tuple[int, ...]
    keepdims: bool = False


@dataclass(frozen=True)
class ArgReduceAttrs(Attrs):
    """The axis searched, and whether it stays as size 1. Ties go to the lowest index."""

    axis: int
    keepdims: bool = False


def _drop(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    one = Dim.of(1)
    kept = ((one if axis in axes else dim, axis) for axis, dim in enumerate(shape))
    return tuple(dim for dim, axis in kept if keepdims or axis not in axes)


def reduce_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ReduceAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axes", attrs.axes, len(shapes[0]))
    return (_drop(shapes[0], attrs.axes, attrs.keepdims),)


def arg_reduce_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ArgReduceAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axis", (attrs.axis,), len(shapes[0]))
    size = shapes[0][attrs.axis]
    ctx.require(size >= 1, f"axis {attrs.axis} must not be empty")
    return (_drop(shapes[0], (attrs.axis,), attrs.keepdims),)


def _reduced_links(
    shape: Shape, axes: Sequence[int], keepdims: bool, combine: AnyOp
) -> tuple[Link, ...]:
    """Axes that are combined take the neutral element; the others are kept."""
    neutral = combine.neutral
    assert neutral is not None, f"{combine.name} has no neutral element"
    kept = [axis for axis in range(len(shape)) if keepdims or axis not in axes]
    return tuple(
        Link((axis,), None, Sees.FILLED, neutral)
        if axis in axes
        else Link((axis,), kept.index(axis))
        for axis in range(len(shape))
    )


def reduction_mixing(combine: AnyOp) -> MixingRule[ReduceAttrs]:
    return lambda shapes, attrs: _reduced_links(shapes[0], attrs.axes, attrs.keepdims, combine)


def reduction(name: str, combine: AnyOp, allowed: tuple[DType, ...]) -> OpDef[ReduceAttrs]:
    """Combines the elements along `axes`, starting from the neutral element."""

    def reference(call: Call[ReduceAttrs]) -> Array:
        axes, keepdims = call.attrs.axes, call.attrs.keepdims
        start, function = combine.neutral_in(call.result.dtype), ufunc_of(combine)

        def combined(x: Array) -> Any:
            return function.reduce(x, axis=axes, dtype=x.dtype, keepdims=keepdims, initial=start)

        return widened(combined, call)

    return register(
        OpDef(
            name,
            Signature(("x",)),
            ReduceAttrs,
            SameDType(allowed),
            reduce_shape,
            reference=reference,
            traits=frozenset({Trait.REDUCTION}),
            mixing=reduction_mixing(combine),
            combine=combine,
        )
    )


def arg_reduction(name: str, combine: AnyOp, function: Callable[..., Any]) -> OpDef[ArgReduceAttrs]:
    """The index of an extremum along one axis."""

    def reference(call: Call[ArgReduceAttrs]) -> Array:
        found = function(call.args[0], axis=call.attrs.axis, keepdims=call.attrs.keepdims)
        return np.asarray(found, np.int64)

    def mixing(shapes: Sequence[Shape], attrs: ArgReduceAttrs, /) -> tuple[Link, ...]:
        """Of equal elements the first is found, which is never one that was filled."""
        return _reduced_links(shapes[0], (attrs.axis,), attrs.keepdims, combine)

    return register(
        OpDef(
            name,
            Signature(("x",)),
            ArgReduceAttrs,
            FixedDType(ALL_DTYPES, i64),
            arg_reduce_shape,
            reference=reference,
            traits=frozenset({Trait.REDUCTION}),
            mixing=mixing,
            combine=combine,
        )
    )


sum_ = reduction("sum", add, NUMERIC)
prod = reduction("prod", mul, NUMERIC)
max_ = reduction("max", maximum, (*NUMERIC, bool_))
min_ = reduction("min", minimum, (*NUMERIC, bool_))
argmax = arg_reduction("argmax", maximum, np.argmax)
argmin = arg_reduction("argmin", minimum, np.argmin)

REDUCTIONS: Final = {cast(AnyOp, op.combine).name: op for op in (sum_, prod, max_, min_)}
"""By the name of the op of two that each of them combines with."""


def _mean(call: Call[ReduceAttrs]) -> Array:
    axes, keepdims = call.attrs.axes, call.attrs.keepdims
    count = math.prod(call.args[0].shape[axis] for axis in axes)

    def average(x: Array) -> Any:
        return np.sum(x, axis=axes, keepdims=keepdims) / x.dtype.type(count)

    return widened(average, call)


mean = register(
    OpDef(
        "mean",
        Signature(("x",)),
        ReduceAttrs,
        SameDType(FLOATS),
        reduce_shape,
        reference=_mean,
        traits=frozenset({Trait.REDUCTION}),
        combine=add,
        doc="A sum divided by the count; NaN over no elements.",
    )
)
