"""Cumulative ops along one axis: each element combines those before it and, unless `exclusive`,
itself. `reverse` starts from the end.

Results have the operand's dtype. Sums and products of f32 accumulate in f64, those of 16-bit floats
in f32: a total that grows would lose what is added to it. An exclusive sum starts with the
neutral element: 0, 1, or the lowest or highest number for extrema. A NaN stays from where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees, each
from anyshape.ir.opdef import AnyOp, Call, OpDef, Signature, Trait, register
from anyshape.ir.types import NUMERIC, Array, DType, Shape, f32, f64, wide_of
from anyshape.ops.elementwise import add, maximum, minimum, mul, ufunc_of, widened
from anyshape.ops.rules import SameDType


@dataclass(frozen=True)
class CumulativeAttrs(Attrs):
    """The axis walked along, whether an element leaves itself out, and from which end."""

    axis: int
    exclusive: bool = False
    reverse: bool = False


def cumulative_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: CumulativeAttrs, /
) -> tuple[Shape, ...]:
    """Same shape; `axis` is one of the operand's."""
    ctx.check_axes("axis", (attrs.axis,), len(shapes[0]))
    return (shapes[0],)


def running_dtype(combine: AnyOp, dtype: DType) -> DType:
    """What running totals are kept in: extrema are elements themselves, and never rounded."""
    if not dtype.is_float or combine.has(Trait.IDEMPOTENT):
        return dtype
    return f64 if dtype is f32 else wide_of(dtype)


def cumulative(name: str, combine: AnyOp) -> OpDef[CumulativeAttrs]:
    """Combines what comes before with an op of two."""

    def reference(call: Call[CumulativeAttrs]) -> Array:
        attrs, narrow = call.attrs, call.result.dtype
        neutral, function = combine.neutral_in(narrow), ufunc_of(combine)

        def combined(x: Array) -> Any:
            walked = np.flip(x, attrs.axis) if attrs.reverse else x
            wide = x.dtype if x.dtype != np.float32 else running_dtype(combine, narrow).numpy
            totals = function.accumulate(walked, axis=attrs.axis, dtype=wide)
            if attrs.exclusive:
                totals = moved_on(totals, attrs.axis, neutral)
            return np.flip(totals, attrs.axis) if attrs.reverse else totals

        return widened(combined, call)

    def mixing(shapes: Sequence[Shape], attrs: CumulativeAttrs, /) -> tuple[Link, ...]:
        """Whoever starts from the end starts with neutral elements."""
        axis, neutral = attrs.axis, combine.neutral
        assert neutral is not None, f"{combine.name} has no neutral element"
        sees = Sees.FILLED if attrs.reverse else Sees.BEFORE
        return (*each(len(shapes[0]), [axis]), Link((axis,), axis, sees, neutral))

    return register(
        OpDef(
            name,
            Signature(("x",)),
            CumulativeAttrs,
            SameDType(NUMERIC),
            cumulative_shape,
            reference=reference,
            traits=frozenset({Trait.ROWWISE}),
            mixing=mixing,
            combine=combine,
        )
    )


def moved_on(totals: Array, axis: int, first: float | int | bool) -> Array:
    """Each element in the place of the next; the last is dropped."""
    size = totals.shape[axis]
    head = np.full_like(np.take(totals, range(min(size, 1)), axis), first)
    return np.concatenate([head, np.take(totals, range(size - 1), axis)], axis)


cumsum = cumulative("cumsum", add)
cumprod = cumulative("cumprod", mul)
cummax = cumulative("cummax", maximum)
cummin = cumulative("cummin", minimum)
