"""Sorting. Equal elements keep their order; NaN is greater than any number.

Rows that may be long are sorted in parts, which are then merged: see `parts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees, each
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import Array, DType, Shape, i64
from anyshape.sym import Dim, minimum, product


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


def _sort_links(rank: int, axis: int, descending: bool, result: int | None) -> tuple[Link, ...]:
    """What is filled comes last, behind its equals: sorting keeps their order."""
    last = -math.inf if descending else math.nan
    return (*each(rank, [axis]), Link((axis,), result, Sees.FILLED, last))


def _sort_mixing(shapes: Sequence[Shape], attrs: SortAttrs, /) -> tuple[Link, ...]:
    return _sort_links(len(shapes[0]), attrs.axis, attrs.descending, attrs.axis)


def _topk_mixing(shapes: Sequence[Shape], attrs: TopKAttrs, /) -> tuple[Link, ...]:
    return _sort_links(len(shapes[0]), attrs.axis, attrs.largest, None)


ALONE = frozenset({Trait.ALONE})

sort = register(
    OpDef(
        "sort",
        Signature(("x",)),
        SortAttrs,
        _with_places,
        sort_shape,
        reference=_sort,
        mixing=_sort_mixing,
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
        mixing=_topk_mixing,
        traits=ALONE,
        doc="The greatest or least elements along `axis` in order, and where each of them was.",
    )
)


# --- in parts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartSortAttrs(Attrs):
    """The first `kept` elements of an axis that is sorted in parts; 0 parts if it is not."""

    axis: int
    kept: Dim
    descending: bool
    parts: Dim
    length: Dim


def _rows(shape: Shape, axis: int) -> Dim:
    return product((*shape[:axis], *shape[axis + 1 :]))


def sort_parts_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartSortAttrs, /
) -> tuple[Shape, ...]:
    (x,) = shapes
    ctx.check_axes("axis", (attrs.axis,), len(x))
    found = (attrs.parts, _rows(x, attrs.axis), minimum(attrs.kept, attrs.length))
    ctx.require_sizes(found)
    return (found, found)


def merge_parts_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: PartSortAttrs, /
) -> tuple[Shape, ...]:
    x = shapes[0]
    ctx.check_axes("axis", (attrs.axis,), len(x))
    found = (*x[: attrs.axis], attrs.kept, *x[attrs.axis + 1 :])
    ctx.require_sizes(found)
    return (found, found)


def sorted_parts(
    rows: Array, kept: int, descending: bool, parts: int, length: int
) -> tuple[Array, Array]:
    """Of rows [n, size]: the elements of each part that come first, and where they were."""
    shape = (parts, len(rows), min(kept, length))
    values, places = np.zeros(shape, rows.dtype), np.zeros(shape, np.int64)
    for part in range(parts):
        inside = rows[:, part * length : (part + 1) * length]
        found = sorted_places(inside, 1, descending)[:, : shape[2]]
        values[part, :, : found.shape[1]] = np.take_along_axis(inside, found, 1)
        places[part, :, : found.shape[1]] = found + part * length
    return values, places


def _sort_parts(call: Call[PartSortAttrs]) -> tuple[Array, ...]:
    (x,), attrs = call.args, call.attrs
    rows = np.moveaxis(x, attrs.axis, -1)
    rows = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    sizes = (dim.evaluate({}) for dim in (attrs.kept, attrs.parts, attrs.length))
    kept, parts, length = sizes
    return sorted_parts(rows, kept, attrs.descending, parts, length)


def _merge_parts(call: Call[PartSortAttrs]) -> tuple[Array, ...]:
    """What the parts say is what the rows say."""
    x, attrs = call.args[0], call.attrs
    places = sorted_places(x, attrs.axis, attrs.descending)
    first = np.take(places, range(attrs.kept.evaluate({})), attrs.axis)
    return np.take_along_axis(x, first, attrs.axis), first


sort_parts = register(
    OpDef(
        "sort_parts",
        Signature(("x",)),
        PartSortAttrs,
        _with_places,
        sort_parts_shape,
        reference=_sort_parts,
        traits=ALONE,
        doc="The elements of each part of `axis` in order, and where each of them was.",
    )
)
merge_parts = register(
    OpDef(
        "merge_parts",
        Signature(("x", "values", "places")),
        PartSortAttrs,
        _with_places,
        merge_parts_shape,
        reference=_merge_parts,
        traits=ALONE,
        doc="The elements along `axis` in order, from sorted parts if there are any.",
    )
)
