"""Elements by their places, and places by their elements."""

from __future__ import annotations

from typing import Literal

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import late, scatter
from anyshape.frontend.builder import movement as mv
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import as_index, cast_to
from anyshape.frontend.builder.index import getitem, put
from anyshape.frontend.builder.nms import nms
from anyshape.frontend.builder.order import argsort
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.value_checks import check_indices
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.numbers import not_negative, sizes_of
from anyshape.ir.types import i64
from anyshape.sym import Dim

Combine = Literal["add", "mul", "max", "min"]


@entry("Gather")
def gather(call: Call, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    place = normal_axis(axis, x.ndim)
    check_indices(call.op, indices, x.shape[place], place, from_end=True)
    return mv.take(x, indices, place)


@entry("GatherElements", since=11)
def gather_elements(call: Call, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    place = normal_axis(axis, x.ndim)
    check_indices(call.op, indices, x.shape[place], place, from_end=True)
    return scatter.take_along(x, indices, place)


def _columns(call: Call, x: Tensor, indices: Tensor, batch: int) -> dict[int, Tensor]:
    """For each axis that rows of `indices` are about, where they go; batches keep to their own."""
    count = indices.shape[-1].constant
    if count is None or batch + count > x.ndim or not indices.ndim:
        raise call.invalid(f"has indices {indices.type} into {x.type}")
    found: dict[int, Tensor] = {}
    shape = indices.shape[:-1]
    for axis in range(batch):
        found[axis] = iota(shape, axis)
    for number in range(count):
        column = getitem(indices, (..., number))
        check_indices(call.op, column, x.shape[batch + number], batch + number, from_end=True)
        found[batch + number] = as_index(column)
    return found


@entry("GatherND", since=11)
def gather_nd(call: Call, x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    return getitem(x, tuple(_columns(call, x, indices, batch_dims).values()))


def _combine(call: Call, reduction: str) -> Combine | None:
    if reduction not in ("none", "add", "mul", "max", "min"):
        raise call.invalid(f"has the reduction {reduction!r}")
    return None if reduction == "none" else reduction


@entry("ScatterElements", "Scatter", since=9)
def scatter_elements(
    call: Call,
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    axis: int = 0,
    reduction: str = "none",
) -> Tensor:
    place = normal_axis(axis, x.ndim)
    check_indices(call.op, indices, x.shape[place], place, from_end=True)
    index = mv.from_front(indices, x.shape[place])
    return scatter.scatter(x, place, index, updates, _combine(call, reduction))


@entry("ScatterND", since=11)
def scatter_nd(
    call: Call, x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none"
) -> Tensor:
    positions = _columns(call, x, indices, 0)
    return put(x, positions, updates, _combine(call, reduction) or "set")


# --- places that data decide ----------------------------------------------------------------------


@entry("NonZero", since=9)
def non_zero(call: Call, x: Tensor) -> Tensor:
    return mv.transpose(late.argwhere(x))


@entry("Compress", since=9)
def compress(call: Call, x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    """A condition may be shorter than the axis, or longer."""
    if axis is None:
        x, axis = mv.ravel(x), 0
    place = normal_axis(axis, x.ndim)
    part = getitem(x, (*(slice(None),) * place, slice(0, condition.shape[0])))
    return late.compress(getitem(condition, slice(0, x.shape[place])), part, place)


@entry("Unique", since=11)
def unique(
    call: Call, x: Tensor, *, axis: int | None = None, sorted: int = 1
) -> tuple[Tensor, ...]:
    """Values, where each is first, which of them each element is, and how often each occurs."""
    if axis is not None and x.ndim != 1:
        raise active().refuse("Unique along an axis", "use Unique of all elements")
    found = late.occurring(x, in_order=False, equal_nan=False)
    values, first, inverse, counts = found.values, found.first, found.inverse(), found.counts()
    inverse = mv.ravel(inverse)
    if not sorted:
        by_place = argsort(first, 0)
        rank = argsort(by_place, 0)
        values, first, counts = (mv.take(each, by_place, 0) for each in (values, first, counts))
        inverse = mv.take(rank, inverse, 0)
    return values, first, inverse, counts


@entry("NonMaxSuppression", since=10)
def non_max_suppression(
    call: Call,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    iou_threshold: Tensor | None = None,
    score_threshold: Tensor | None = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """Without a number of boxes there are none."""
    corners = _corners(boxes) if center_point_box else _ordered(boxes)
    count = Dim.of(0) if most is None else not_negative(sizes_of(most)[0])
    iou = 0.0 if iou_threshold is None else iou_threshold.reshape(())
    score = None if score_threshold is None else score_threshold.reshape(())
    return nms(corners, scores, iou, count, score)


def _corners(boxes: Tensor) -> Tensor:
    """Of boxes by their centers and sizes."""
    center, size = getitem(boxes, (..., slice(0, 2))), getitem(boxes, (..., slice(2, 4)))
    return _joined(center - size / 2.0, center + size / 2.0)


def _ordered(boxes: Tensor) -> Tensor:
    """Any two opposite corners may be given."""
    one, other = getitem(boxes, (..., slice(0, 2))), getitem(boxes, (..., slice(2, 4)))
    return _joined(ew.minimum(one, other), ew.maximum(one, other))


def _joined(low: Tensor, high: Tensor) -> Tensor:
    return active().emit("concat", low, high, axis=low.ndim - 1)


@entry("TensorScatter", since=24)
def tensor_scatter(
    call: Call,
    past: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Tensor:
    """Rows of a cache from a place on, a place for each batch; around its end if `circular`."""
    place = normal_axis(axis, past.ndim)
    size = past.shape[place]
    steps = iota(update.shape, place)
    if write_indices is not None:
        wide = (update.shape[0], *(Dim.of(1),) * (past.ndim - 1))
        steps = steps + cast_to(write_indices, i64).reshape(wide)
    if mode == "circular":
        steps = steps % size
    check_indices(call.op, steps, size, place)
    return scatter.scatter(past, place, steps, update)
