"""Non-maximum suppression: the boxes that overlap no better one.

Boxes are corners, x1 <= x2 and y1 <= y2 (in any order of the two axes). The best come first; of
equal scores, the one that was given first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anyshape.frontend.builder.assemble import stack
from anyshape.frontend.builder.axes import Size, describe
from anyshape.frontend.builder.convert import ArrayLike, as_float, asarray, widened
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.late import selected
from anyshape.frontend.builder.reduce import sum
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tracer import active
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.types import f64

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def nms(
    boxes: ArrayLike,
    scores: ArrayLike,
    iou_threshold: ArrayLike,
    max_output: Size | None = None,
    score_threshold: ArrayLike | None = None,
) -> Tensor:
    """The boxes that no better one overlaps by more than a threshold, at most `max_output`, and
    only with scores above a threshold, if there is one.

    Of boxes[n, 4] and scores[n], their indices: i64[k]. Of boxes[batch, n, 4] and scores[batch,
    classes, n], a row (batch, class, box) for each: i64[k, 3]. Classes do not suppress each other.
    """
    given, values = widened(as_float(boxes)), as_float(scores)
    if (given.ndim, values.ndim) not in ((2, 1), (3, 3)):
        raise active().refuse(
            f"nms of boxes {describe(given)} and scores {describe(values)}",
            "use boxes[n, 4] and scores[n], or boxes[batch, n, 4] and scores[batch, classes, n]",
        )
    if given.ndim == 3:
        return _rows(*_suppressed(given, values, iou_threshold, max_output, score_threshold))
    wide = given.reshape(1, *given.shape), values.reshape(1, 1, *values.shape)
    kept, counts = _suppressed(*wide, iou_threshold, max_output, score_threshold)
    tracer = active()
    operands = counts.reshape(1), kept.reshape(values.shape)
    return tracer.node("prefix", [tracer.value(each) for each in operands], NO_ATTRS)[0]


def _suppressed(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: ArrayLike,
    most: Size | None,
    score_threshold: ArrayLike | None,
) -> tuple[Tensor, Tensor]:
    """kept[batch, classes, n], and how many of them there are: [batch, classes]."""
    tracer = active()
    candidates = _candidates(scores, score_threshold)
    if score_threshold is not None:  # NaN is above none, but first among those in order
        scores = where(scores > score_threshold, scores, -math.inf)
    _, order = tracer.emit_all("sort", scores, axis=2, descending=True)
    threshold = asarray(iou_threshold, f64).reshape(())
    limit = scores.shape[2] if most is None else tracer.dim(most)
    operands = boxes, order, candidates, threshold
    kept, counts = tracer.emit_all("suppress", *operands, most=limit)
    return kept, counts


def _candidates(scores: Tensor, threshold: ArrayLike | None) -> Tensor:
    """How many boxes are looked at: all, or those whose scores are above a threshold."""
    if threshold is None:
        return active().emit("broadcast", asarray(scores.shape[2]), shape=scores.shape[:2])
    return sum(scores > threshold, axis=2)


def _rows(kept: Tensor, counts: Tensor) -> Tensor:
    """One row for each box that is kept, in the order of batches and classes."""
    shape = kept.shape
    there = iota(shape, 2) < counts.reshape(*counts.shape, 1)
    columns = selected(there, iota(shape, 0), iota(shape, 1), kept)
    return stack(columns, axis=1)
