"""Compaction with an upper bound: what kernels compute of `nonzero` and `compress`.

Results have as many rows as there may be. The first `count` of them are written; what lies behind
these is unspecified, and a `prefix` takes it away (`passes/late_sizes.py`).

    part_counts       how many elements of each part are not zero
    compact_places    the index of each element that is not zero, and how many there are
    compact_rows      the rows that a mask selects, and how many there are

All elements are divided into parts as one axis; where there are none, `counts` is empty. Tasks of
the last two begin to write where the parts before them end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import ALL_DTYPES, Array, DType, Shape, bool_, i64
from anyshape.ops.rules import FixedDType, check_allowed
from anyshape.sym import Dim, product

ALONE = frozenset({Trait.ALONE})


@dataclass(frozen=True)
class CompactAttrs(Attrs):
    """How many parts there are, 0 for none, and how many elements each has."""

    parts: Dim
    length: Dim


# --- how many -------------------------------------------------------------------------------------


def part_counts_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: CompactAttrs, /
) -> tuple[Shape, ...]:
    ctx.require_sizes((attrs.parts, attrs.length))
    return ((attrs.parts,),)


def counts_of_parts(x: Array, parts: int, length: int) -> Array:
    flat = x.ravel() != 0
    counts = [np.count_nonzero(flat[part * length :][:length]) for part in range(parts)]
    return np.array(counts, np.int64)


def _part_counts(call: Call[CompactAttrs]) -> Array:
    attrs = call.attrs
    return counts_of_parts(call.args[0], int(attrs.parts), int(attrs.length))


part_counts = register(
    OpDef(
        "part_counts",
        Signature(("x",)),
        CompactAttrs,
        FixedDType(ALL_DTYPES, i64),
        part_counts_shape,
        reference=_part_counts,
        traits=ALONE,
        doc="How many elements of each part are not zero.",
    )
)


# --- which ----------------------------------------------------------------------------------------


def _check_counts(ctx: ShapeContext, counts: Shape, attrs: CompactAttrs) -> None:
    ctx.require_sizes((attrs.parts, attrs.length))
    if len(counts) != 1:
        raise ctx.refuse_operand(f"counts have rank {len(counts)}, expected 1")
    ctx.require_equal(counts[0], attrs.parts, "there is a count for each part")


def _places_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_allowed(op, dtypes[0], ALL_DTYPES)
    check_allowed(f"{op} (counts)", dtypes[1], (i64,))
    return (i64, i64)


def compact_places_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: CompactAttrs, /
) -> tuple[Shape, ...]:
    x, counts = shapes
    _check_counts(ctx, counts, attrs)
    return ((product(x), Dim.of(len(x))), (Dim.of(1),))


def bounded(found: Array, rows: int) -> tuple[Array, Array]:
    """As many rows as there may be, and how many of them there are."""
    result = np.zeros((rows, *found.shape[1:]), found.dtype)
    result[: len(found)] = found
    return result, np.array([len(found)], np.int64)


def _compact_places(call: Call[CompactAttrs]) -> tuple[Array, ...]:
    x = call.args[0]
    return bounded(np.argwhere(x != 0).astype(np.int64), x.size)


compact_places = register(
    OpDef(
        "compact_places",
        Signature(("x", "counts")),
        CompactAttrs,
        _places_dtype,
        compact_places_shape,
        reference=_compact_places,
        traits=ALONE,
        doc="The index of each element that is not zero, in order, and how many there are.",
    )
)


def _rows_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    mask, x, counts = dtypes
    if mask != bool_:
        raise DTypeError(f"{op} (mask)", "bool", str(mask))
    check_allowed(f"{op} (counts)", counts, (i64,))
    return (x, i64)


def compact_rows_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: CompactAttrs, /
) -> tuple[Shape, ...]:
    mask, x, counts = shapes
    _check_counts(ctx, counts, attrs)
    require_mask(ctx, mask, x)
    return ((product(mask), *x[len(mask) :]), (Dim.of(1),))


def require_mask(ctx: ShapeContext, mask: Shape, x: Shape) -> None:
    """A mask has the first axes of what it selects from."""
    if len(mask) > len(x):
        raise ctx.refuse_operand(f"mask has rank {len(mask)}, a value only {len(x)}")
    for axis, (flags, size) in enumerate(zip(mask, x, strict=False)):
        ctx.require_equal(flags, size, f"mask has the size of its value at axis {axis}")


def _compact_rows(call: Call[CompactAttrs]) -> tuple[Array, ...]:
    mask, x, _ = call.args
    return bounded(x[mask], mask.size)


compact_rows = register(
    OpDef(
        "compact_rows",
        Signature(("mask", "x", "counts")),
        CompactAttrs,
        _rows_dtype,
        compact_rows_shape,
        reference=_compact_rows,
        traits=ALONE,
        doc="The rows of `x` that `mask` selects, in order, and how many there are.",
    )
)
