"""Worklists: which rows go to which group, as data decide. Rows are routed tokens, groups experts.

    order, ends, position, source = worklist(keys)

`keys` have one group for each token, or [tokens, choices] several; every key is a row of work.
`order` are the rows sorted by group, `ends` where each group ends in it, `position` where each row
went: the inverse of `order`, in the shape of the keys; and `source` the token of each row, in the
order of groups. Rows of one group keep their order: tokens one after the other, each with its
choices in order. A group takes `capacity` rows, the first ones; the others are left out, as are
rows whose key is no group. What is left out comes behind the last group, so that `grouped_dot`
gives it zeros.
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
from anyshape.sym import Dim, product


@dataclass(frozen=True)
class WorklistAttrs(Attrs):
    """How many groups there are, and how many rows each of them takes at most."""

    groups: Dim
    capacity: Dim


def _worklist_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (keys)", dtypes[0], (i32, i64))
    return (i64, i64, i64, i64)


def worklist_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: WorklistAttrs, /
) -> tuple[Shape, ...]:
    (keys,) = shapes
    if len(keys) not in (1, 2):
        raise ctx.refuse_operand(f"keys have rank {len(keys)}, expected 1 or 2")
    ctx.require(attrs.groups >= 0, f"groups = {attrs.groups} must not be negative")
    ctx.require(attrs.capacity >= 0, f"capacity = {attrs.capacity} must not be negative")
    rows = product(keys)
    return ((rows,), (attrs.groups,), keys, (rows,))


def rows_by_group(keys: Array, groups: int, capacity: int) -> tuple[Array, Array, Array, Array]:
    """The four results, on concrete values."""
    flat = keys.ravel()
    taken = [np.flatnonzero(flat == group)[:capacity] for group in range(groups)]
    kept = np.concatenate([*taken, np.zeros(0, np.int64)]).astype(np.int64)
    left_out = np.setdiff1d(np.arange(len(flat)), kept)
    order = np.concatenate([kept, left_out]).astype(np.int64)
    ends = np.cumsum([len(rows) for rows in taken], dtype=np.int64)
    position = np.argsort(order).astype(np.int64).reshape(keys.shape)
    choices = keys.shape[1] if keys.ndim == 2 else 1
    return order, ends, position, order // max(choices, 1)


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
        doc="Rows in the order of their groups, where each group ends, where each row went, and "
        "which token it is of.",
    )
)
