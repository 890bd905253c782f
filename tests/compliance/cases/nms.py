"""Non-maximum suppression. What lies behind the boxes that are kept is unspecified: cases put zeros
there."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng

from anyshape.ir import Builder, DType, Value
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup
from anyshape.ir.types import i64
from anyshape.sym import Dim

CASES = Collection()


def _boxes(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    batch, count, _ = shapes[0]
    low = rng.integers(0, 6, (batch, count, 2))
    boxes = np.concatenate([low, low + rng.integers(0, 6, low.shape)], 2).astype(dtypes[0].numpy)
    order = np.argsort(rng.random(shapes[1]), axis=2)
    candidates = rng.integers(0, count + 1, shapes[2])
    return [boxes, order, candidates, np.array(rng.choice([0.0, 0.1, 0.3, 0.5]))]


def _suppress(most: Any) -> Any:
    def make(b: Builder, *operands: Value) -> list[Value]:
        entry = lookup("suppress")
        attrs = make_attrs("suppress", entry.attrs, {"most": most})
        kept, counts = b.node(entry, operands, attrs).results
        shape = kept.tensor.shape
        number = b.emit("iota", shape=shape, axis=2, dtype=i64)
        known = b.emit("reshape", counts, shape=(*shape[:2], 1))
        zero = b.constant(np.zeros((), np.int64))
        return [b.emit("select", b.emit("lt", number, known), kept, zero), counts]

    return make


def _expected(most: int | None) -> Any:
    """Marks all that each box suppresses, which is another way to say it."""

    def expected(boxes: Any, order: Any, candidates: Any, threshold: Any) -> tuple[Any, Any]:
        kept, counts = np.zeros_like(order), np.zeros(order.shape[:2], np.int64)
        for batch, label in np.ndindex(*order.shape[:2]):
            left = list(order[batch, label, : candidates[batch, label]])
            found: list[int] = []
            while left and (most is None or len(found) < most):
                best = left.pop(0)
                found.append(best)
                left = [
                    other for other in left
                    if not _overlap(boxes[batch, best], boxes[batch, other]) > threshold
                ]  # fmt: skip
            kept[batch, label, : len(found)] = found
            counts[batch, label] = len(found)
        return kept, counts

    return expected


def _overlap(one: Any, other: Any) -> float:
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    width, height = np.maximum(high - low, 0)
    shared = width * height
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    union = sum(areas) - shared
    return float(shared / union) if union else float("nan")


for _dtype in ("f32", "f64"):
    CASES.add(
        "suppress", _dtype,
        (f"{_dtype}[batch, seq, 4]", "i64[batch, heads, seq]", "i64[batch, heads]", "f64[]"),
        _suppress("seq"), ("i64[batch, heads, seq]", "i64[batch, heads]"), _expected(None),
        fill=_boxes, sizes=({"batch": 1, "heads": 1, "seq": 300},),
    )  # fmt: skip
CASES.add(
    "suppress", "few", ("f32[1, seq, 4]", "i64[1, 2, seq]", "i64[1, 2]", "f64[]"),
    _suppress(Dim.of(3)), ("i64[1, 2, seq]", "i64[1, 2]"), _expected(3), fill=_boxes,
)  # fmt: skip
