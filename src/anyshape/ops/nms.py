"""Non-maximum suppression with an upper bound: the kernel that `ash.nms` is made of.

Boxes are looked at in a given order. One is kept unless it overlaps one that is kept already by
more than a threshold: intersection over union, in the dtype of the boxes. What lies behind the
first `counts` of `kept` is unspecified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import Array, DType, Shape, f32, f64, i64
from anyshape.ops.rules import check_allowed
from anyshape.sym import Dim


@dataclass(frozen=True)
class SuppressAttrs(Attrs):
    """How many boxes of each class are kept at most."""

    most: Dim


def _suppress_dtype(op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
    boxes, *indices, threshold = dtypes
    check_allowed(f"{op} (boxes)", boxes, (f32, f64))
    for name, dtype in zip(("order", "candidates"), indices, strict=True):
        check_allowed(f"{op} ({name})", dtype, (i64,))
    if threshold != f64:
        raise DTypeError(f"{op} (threshold)", "f64", str(threshold))
    return (i64, i64)


def suppress_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: SuppressAttrs, /
) -> tuple[Shape, ...]:
    boxes, order, candidates, _ = shapes
    ranks = tuple(map(len, shapes))
    if ranks != (3, 3, 2, 0):
        raise ctx.refuse_operand(f"operands have ranks {list(ranks)}, expected [3, 3, 2, 0]")
    ctx.require(attrs.most >= 0, f"most = {attrs.most} must not be negative")
    ctx.require_equal(boxes[2], Dim.of(4), "a box has four numbers")
    for axis, (one, other) in enumerate(((boxes[0], order[0]), (boxes[1], order[2]))):
        ctx.require_equal(one, other, f"order has the {('batch', 'boxes')[axis]} of boxes")
    for axis in range(2):
        ctx.require_equal(candidates[axis], order[axis], f"candidates have axis {axis} of order")
    return (order, order[:2])


def suppressed(
    boxes: Array, order: Array, candidates: Array, threshold: float, most: int
) -> tuple[Array, Array]:
    """The kernel on concrete values; zeros behind what is kept."""
    kept, counts = np.zeros_like(order), np.zeros(order.shape[:2], np.int64)
    for batch, label in np.ndindex(*order.shape[:2]):
        found: list[int] = []
        for index in order[batch, label, : candidates[batch, label]].tolist():
            if len(found) == most:
                break
            overlaps = _overlaps(boxes[batch, index], boxes[batch, found])
            if not (overlaps.astype(np.float64) > threshold).any():
                found.append(index)
        kept[batch, label, : len(found)] = found
        counts[batch, label] = len(found)
    return kept, counts


def _overlaps(box: Array, others: Array) -> Array:
    """Intersection over union of a box with each of others[n, 4]."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=1, dtype=box.dtype)
    area = np.prod(box[2:] - box[:2], dtype=box.dtype)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1, dtype=box.dtype)
    with np.errstate(all="ignore"):
        return shared / (areas + area - shared)


def _suppress(call: Call[SuppressAttrs]) -> tuple[Array, ...]:
    boxes, order, candidates, threshold = call.args
    return suppressed(boxes, order, candidates, float(threshold), int(call.attrs.most))


suppress = register(
    OpDef(
        "suppress",
        Signature(("boxes", "order", "candidates", "threshold")),
        SuppressAttrs,
        _suppress_dtype,
        suppress_shape,
        reference=_suppress,
        traits=frozenset({Trait.ALONE}),
        doc="The boxes of each class that overlap no better one, and how many there are.",
    )
)
