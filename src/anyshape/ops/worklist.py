"""Worklists: which rows go to which group, as data decide. Rows are routed tokens, groups experts.

    order, ends, position = worklist(keys)       keys[r] is the group of row r

`order` are the rows sorted by group, `ends` where each group ends in it, and `position` where each
row went: the inverse of `order`. Rows of one group keep their order. A group takes `capacity` rows,
the first ones; the others are left out, as are rows whose key is no group. What is left out comes
behind the last group, so that `grouped_dot` gives it zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import Array, DType, Shape, i32, i64
from anyshape.ops.rules import check_allowed
from anyshape.sym import Dim


@dataclass(frozen=True)
class WorklistAttrs(Attrs):
    """How many groups there are, and how many rows each of them takes at most."""

    groups: Dim
    capacity: Dim


def _worklist_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (keys)", dtypes[0], (i32, i64))
    return (i64, i64, i64)


def worklist_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: WorklistAttrs, /
) -> tuple[Shape, ...]:
    (keys,) = shapes
    if len(keys) != 1:
        raise ctx.refuse_operand(f"keys have rank {len(keys)}, expected 1")
    ctx.require(attrs.groups >= 0, f"groups = {attrs.groups} must not be negative")
    ctx.require(attrs.capacity >= 0, f"capacity = {attrs.capacity} must not be negative")
    return (keys, (attrs.groups,), keys)


def rows_by_group(keys: Array, groups: int, capacity: int) -> tuple[Array, Array, Array]:
    """The three results, on concrete values."""
    taken = [np.flatnonzero(keys == group)[:capacity] for group in range(groups)]
    kept = np.concatenate([*taken, np.zeros(0, np.int64)]).astype(np.int64)
    left_out = np.setdiff1d(np.arange(len(keys)), kept)
    order = np.concatenate([kept, left_out]).astype(np.int64)
    ends = np.cumsum([len(rows) for rows in taken], dtype=np.int64)
    return order, ends, np.argsort(order).astype(np.int64)


def _worklist(call: Call[WorklistAttrs]) -> tuple[Array, ...]:
    groups, capacity = (dim.evaluate({}) for dim in (call.attrs.groups, call.attrs.capacity))
    return rows_by_group(call.args[0], groups, capacity)


worklist = register(
    OpDef(
        "worklist",
        Signature(("keys",)),
        WorklistAttrs,
        _worklist_dtype,
        worklist_shape,
        reference=_worklist,
        traits=frozenset({Trait.ALONE}),
        doc="Rows in the order of their groups, where each group ends, and where each row went.",
    )
)
