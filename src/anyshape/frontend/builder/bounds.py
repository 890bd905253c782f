"""Slice bounds as Python has them, made exact as the IR wants them.

Python counts negative bounds from the end and clamps what lies outside. Where facts decide, the
result is a plain bound; where they do not, `min` and `max` stay in the dim, so that a slice means
the same at every size. A negative step is a positive one on the reversed axis.

A dim as a bound of a slice is whatever Python makes of its value: a position where it is 0 or more,
else a number of places from the end. Where its sign depends on sizes, so does the position, by
`min` and `max`: `x[-k:]` is the last k, and all of `x` where k is 0. So is an integer that the
graph computes, `x[:n]` with a scalar tensor. The same holds for a dim as the index of one element
(`x[-k]` is the first where k is 0); that it lies inside is checked.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import SupportsIndex, cast

from anyshape.frontend.builder.tracer import active, is_tensor
from anyshape.sym import Dim, maximum, minimum

Bound = int | Dim


@dataclass(frozen=True, slots=True)
class Span:
    """What an index takes of one axis: exact bounds, on the axis or on its reverse."""

    start: Dim
    stop: Dim
    step: int = 1
    reverse: bool = False

    def is_whole(self, size: Dim) -> bool:
        return self.start == 0 and self.stop is size and self.step == 1


def whole(size: Dim) -> Span:
    return Span(Dim.of(0), size)


def single(position: Bound, size: Dim) -> Span:
    """One element; the slice op requires it to lie inside."""
    start = signed_position(position, size)
    return Span(start, start + 1)


def span_of(index: slice, size: Dim) -> Span:
    """The exact bounds of a slice."""
    step = _step(index)
    if step > 0 and _is_trimmed(index):
        return _trimmed(index.start, -index.stop, step, size)
    place = signed_position if step > 0 else _backward
    start = Dim.of(0) if index.start is None else _clamped(place(_bound(index.start), size), size)
    stop = size if index.stop is None else _clamped(place(_bound(index.stop), size), size)
    return Span(start, _at_least(stop, start), abs(step), reverse=step < 0)


def _is_trimmed(index: slice) -> bool:
    """Whether some are left out at either end, as `x[1:-1]` does."""
    ends = index.start, index.stop
    return all(type(end) is int for end in ends) and index.start >= 0 > index.stop


def _trimmed(front: int, back: int, step: int, size: Dim) -> Span:
    """What is left has a plain size whatever clamps its start, also after many such slices."""
    start = _at_most(Dim.of(front), size)
    return Span(start, start + _at_least(size - front - back, Dim.of(0)), step)


def _step(index: slice) -> int:
    step: object = 1 if index.step is None else index.step
    step = step.constant if isinstance(step, Dim) else step
    if not isinstance(step, int) or step == 0:
        raise active().refuse(
            f"the step of a slice is {index.step!r}", "use a constant integer other than 0"
        )
    return step


def _bound(bound: object) -> Bound:
    if isinstance(bound, Dim):
        return bound if bound.constant is None else bound.constant
    if is_tensor(bound):
        return bound.item()
    if isinstance(bound, int) or hasattr(bound, "__index__"):
        return operator.index(cast(SupportsIndex, bound))
    raise active().refuse(
        f"the bound of a slice is a {type(bound).__name__}", "use an integer or a dim"
    )


def signed_position(bound: Bound, size: Dim) -> Dim:
    """The position on the axis, which may lie outside: bounds less than 0 count from the end."""
    position = Dim.of(bound)
    if position == size - 1 or active().proves(position >= 0):
        return position  # of an axis of size 0, the last place is as empty from either end
    if active().proves(position < 0):
        return size + position
    is_negative = maximum(Dim.of(0), minimum(Dim.of(1), -position))
    return position + size * is_negative


def _backward(bound: Bound, size: Dim) -> Dim:
    """The position on the reversed axis."""
    return size - 1 - signed_position(bound, size)


def _clamped(position: Dim, size: Dim) -> Dim:
    return _at_least(_at_most(position, size), Dim.of(0))


def _at_least(dim: Dim, low: Dim) -> Dim:
    return dim if active().proves(dim >= low) else maximum(dim, low)


def _at_most(dim: Dim, high: Dim) -> Dim:
    return dim if active().proves(dim <= high) else minimum(dim, high)
