"""Places of numbers in sorted rows. What is no number comes after all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import INTEGERS, Array, Shape, f32, f64, i64
from anyshape.ops.rules import FixedDType


@dataclass(frozen=True)
class SearchAttrs(Attrs):
    """Whether elements come before an equal one: `right` of it is its place."""

    right: bool = False


def search_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: SearchAttrs, /
) -> tuple[Shape, ...]:
    ordered, x = shapes
    if not ordered or (len(ordered) > 1 and len(ordered) != len(x)):
        found = f"sorted rows have {len(ordered)} axes, and x has {len(x)}"
        raise ctx.refuse_operand(f"{found}: expected one axis, or as many")
    if len(ordered) > 1:
        for axis, (rows, size) in enumerate(zip(ordered[:-1], x[:-1], strict=True)):
            ctx.require_equal(rows, size, f"sorted rows must have the size of x at axis {axis}")
    return (x,)


def places_in(ordered: Array, x: Array, right: bool) -> Array:
    """Of rows[n or 1, length] and x[n, count]."""
    side: Literal["left", "right"] = "right" if right else "left"
    rows = np.broadcast_to(ordered, (len(x), ordered.shape[-1]))
    found = np.zeros(x.shape, np.int64)
    for row, (own, numbers) in enumerate(zip(rows, x, strict=True)):
        found[row] = np.searchsorted(own, numbers, side)
        found[row][np.isnan(numbers.astype(np.float64))] = len(own)
    return found


def _search(call: Call[SearchAttrs]) -> Array:
    ordered, x = call.args
    count = x.shape[-1] if x.ndim else 1
    is_shared = ordered.ndim == 1
    rows = 1 if is_shared else int(np.prod(x.shape[:-1]))
    own = ordered.reshape(rows, ordered.shape[-1])
    numbers = x.reshape((1, x.size) if is_shared else (rows, count))
    return places_in(own, numbers, call.attrs.right).reshape(x.shape)


search_sorted = register(
    OpDef(
        "search_sorted",
        Signature(("ordered", "x")),
        SearchAttrs,
        FixedDType((f32, f64, *INTEGERS), i64),
        search_shape,
        reference=_search,
        traits=frozenset({Trait.ALONE}),
        doc="How many elements of sorted rows come before each element of `x`.",
    )
)
