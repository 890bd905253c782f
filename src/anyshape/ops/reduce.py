"""Reductions along `axes`: sums, extrema, means, logic, and the arg-reductions.

The reduced axes are kept as size 1 with `keepdims`, else dropped. Sums and means of 16-bit floats
accumulate in f32. A maximum over no elements is minus infinity (the smallest integer): the neutral
element, so that sizes of 0 are ordinary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import ALL_DTYPES, FLOATS, NUMERIC, Array, DType, Shape, bool_, i64
from anyshape.ops.elementwise import widened
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


def lowest(dtype: DType) -> float | int | bool:
    """Neutral element of maximum."""
    if dtype is bool_:
        return False
    return -np.inf if dtype.is_float else int(np.iinfo(dtype.numpy).min)


def highest(dtype: DType) -> float | int | bool:
    """Neutral element of minimum."""
    if dtype is bool_:
        return True
    return np.inf if dtype.is_float else int(np.iinfo(dtype.numpy).max)


def _zero(_: DType) -> float | int | bool:
    return 0


def _one(_: DType) -> float | int | bool:
    return 1


def reduction(
    name: str,
    function: Callable[..., Any],
    allowed: tuple[DType, ...],
    initial: Callable[[DType], float | int | bool],
) -> OpDef[ReduceAttrs]:
    """Combines the elements along `axes` starting from a neutral element."""

    def reference(call: Call[ReduceAttrs]) -> Array:
        axes, keepdims = call.attrs.axes, call.attrs.keepdims
        start = initial(call.result.dtype)

        def combined(x: Array) -> Any:
            return function(x, axis=axes, keepdims=keepdims, initial=start)

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
        )
    )


def arg_reduction(name: str, function: Callable[..., Any]) -> OpDef[ArgReduceAttrs]:
    """The index of an extremum along one axis."""

    def reference(call: Call[ArgReduceAttrs]) -> Array:
        found = function(call.args[0], axis=call.attrs.axis, keepdims=call.attrs.keepdims)
        return np.asarray(found, np.int64)

    return register(
        OpDef(
            name,
            Signature(("x",)),
            ArgReduceAttrs,
            FixedDType(ALL_DTYPES, i64),
            arg_reduce_shape,
            reference=reference,
            traits=frozenset({Trait.REDUCTION}),
        )
    )


def _wrapping_sum(x: Array, **options: Any) -> Any:
    return np.sum(x, dtype=x.dtype, **options)


def _wrapping_prod(x: Array, **options: Any) -> Any:
    return np.prod(x, dtype=x.dtype, **options)


sum_ = reduction("sum", _wrapping_sum, NUMERIC, _zero)
prod = reduction("prod", _wrapping_prod, NUMERIC, _one)
max_ = reduction("max", np.max, (*NUMERIC, bool_), lowest)
min_ = reduction("min", np.min, (*NUMERIC, bool_), highest)
argmax = arg_reduction("argmax", np.argmax)
argmin = arg_reduction("argmin", np.argmin)


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
        doc="A sum divided by the count; NaN over no elements.",
    )
)
