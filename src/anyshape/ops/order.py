"""Sorting. Equal elements keep their order; NaN is greater than any number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import Array, DType, Shape, i64
from anyshape.sym import Dim


@dataclass(frozen=True)
class SortAttrs(Attrs):
    """One axis, and whether the greatest element comes first."""

    axis: int
    descending: bool = False


@dataclass(frozen=True)
class TopKAttrs(Attrs):
    """The first `k` elements of the sorted axis: of the greatest, or of the least."""

    axis: int
    k: Dim
    largest: bool = True


def _with_places(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    return (dtypes[0], i64)


def sort_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: SortAttrs, /
) -> tuple[Shape, ...]:
    ctx.check_axes("axis", (attrs.axis,), len(shapes[0]))
    return (shapes[0], shapes[0])


def topk_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: TopKAttrs, /
) -> tuple[Shape, ...]:
    (x,) = shapes
    ctx.check_axes("axis", (attrs.axis,), len(x))
    ctx.require(attrs.k >= 0, f"k = {attrs.k} must not be negative")
    ctx.require(attrs.k <= x[attrs.axis], f"k = {attrs.k} must not exceed the axis")
    found = (*x[: attrs.axis], attrs.k, *x[attrs.axis + 1 :])
    return (found, found)


def sorted_places(x: Array, axis: int, descending: bool) -> Array:
    """The index of each element of the sorted axis."""
    keys = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    if not descending:
        return np.argsort(keys, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _sort(call: Call[SortAttrs]) -> tuple[Array, ...]:
    (x,) = call.args
    places = sorted_places(x, call.attrs.axis, call.attrs.descending)
    return np.take_along_axis(x, places, call.attrs.axis), places


def _topk(call: Call[TopKAttrs]) -> tuple[Array, ...]:
    (x,) = call.args
    axis, k = call.attrs.axis, call.attrs.k.evaluate({})
    places = sorted_places(x, axis, call.attrs.largest)
    first = np.take(places, range(k), axis)
    return np.take_along_axis(x, first, axis), first


ALONE = frozenset({Trait.ALONE})

sort = register(
    OpDef(
        "sort",
        Signature(("x",)),
        SortAttrs,
        _with_places,
        sort_shape,
        reference=_sort,
        traits=ALONE,
        doc="The elements along `axis` in order, and where each of them was.",
    )
)
topk = register(
    OpDef(
        "topk",
        Signature(("x",)),
        TopKAttrs,
        _with_places,
        topk_shape,
        reference=_topk,
        traits=ALONE,
        doc="The greatest or least elements along `axis` in order, and where each of them was.",
    )
)
