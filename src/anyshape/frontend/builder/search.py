"""Places in sorted rows, and what is counted by them, under NumPy's and torch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import (
    ArrayLike,
    as_float,
    asarray,
    cast_to,
    promoted,
    widened,
)
from anyshape.frontend.builder.elementwise import clip, floor, logical_and, where
from anyshape.frontend.builder.movement import gather, ravel
from anyshape.frontend.builder.order import sort
from anyshape.frontend.builder.source import zeros
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def searchsorted(ordered: ArrayLike, x: ArrayLike, *, right: bool = False) -> Tensor:
    """How many elements of a sorted axis are less than each of `x`, or with `right` no greater: of
    one row for all elements, or a row for each row of `x`."""
    rows, numbers = (widened(each) for each in promoted(ordered, x))
    return active().emit("search_sorted", rows, numbers, right=right)


def bucketize(x: ArrayLike, boundaries: ArrayLike, *, right: bool = False) -> Tensor:
    """torch's: between which boundaries each element is."""
    return searchsorted(boundaries, x, right=right)


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Tensor:
    """NumPy's, of bins that ascend: `right` says that bins have their right ends."""
    return searchsorted(bins, x, right=not right)


def isin(elements: ArrayLike, tests: ArrayLike) -> Tensor:
    """Whether each element is one of others."""
    found, others = promoted(elements, tests)
    ordered = sort(ravel(others))
    first = searchsorted(ordered, found)
    nearest = gather(pad(ordered, (0, 1)), first)  # there may be none
    return logical_and(nearest == found, first < ordered.shape[0])


def histc(x: ArrayLike, bins: Size, low: ArrayLike, high: ArrayLike) -> Tensor:
    """How many elements there are in each of `bins` equal parts of a range; others count nothing,
    and the last part has its end. In which part an element is, is computed in its type, as in
    torch: 0.996 of bf16 is in the part that begins with 1."""
    numbers = ravel(as_float(x))
    count = active().dim(bins)
    begin, end = (cast_to(asarray(bound), numbers.dtype) for bound in (low, high))
    known = logical_and(numbers >= begin, numbers <= end)
    place = floor((numbers - begin) / (end - begin) * count)
    index = clip(cast_to(where(known, place, 0), i64), 0, count - 1)
    ones = cast_to(known, numbers.dtype)
    parts = zeros((count,), numbers.dtype)
    return active().emit("scatter_along", parts, index, ones, axis=0, combine="add")
