"""Ring buffers: caches of a sliding window, which keep the last positions and overwrite the oldest.

    position p lies at slot p % window

A ring is a tensor with an axis of `window` slots. Donated, it is written in place: a step costs
what is new, whatever the window is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import Size, describe, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray, size_value
from anyshape.frontend.builder.elementwise import mod
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Position = ArrayLike
"""A number, a size, or an integer tensor without axes."""


def ring_write(ring: ArrayLike, new: ArrayLike, position: Position, axis: int = 0) -> Tensor:
    """`ring` with `new` in the slots from `position` on, around the end.

    `new` has the shape of the ring but for the axis of slots. If it is longer than the window, its
    last positions stay.
    """
    slots, updates = asarray(ring), asarray(new)
    place = normal_axis(axis, slots.ndim)
    if updates.ndim != slots.ndim:
        raise active().refuse(
            f"{describe(updates)} is written into {describe(slots)}",
            "give both the same axes: that of positions may have another size",
        )
    window = _window(slots.shape[place])
    indices = mod(arange(updates.shape[place]) + _number(position), size_value(window, i64))
    return active().emit("scatter", slots, indices, updates, axis=place, combine="set")


def ring_positions(window: Size, end: Position) -> Tensor:
    """The position that each slot holds, when those before `end` were written: i64[window].

    Slots that nothing was written to have negative ones: `ring_positions(w, end) >= 0` is the mask
    of what there is.
    """
    size = _window(active().dim(window))
    last = _number(end) - 1
    return last - mod(last - arange(size), size_value(size, i64))


def ring_read(ring: ArrayLike, end: Position, axis: int = 0) -> Tensor:
    """The slots in the order of their positions, the oldest first; before them those without."""
    slots = asarray(ring)
    place = normal_axis(axis, slots.ndim)
    window = _window(slots.shape[place])
    indices = mod(arange(window) + _number(end), size_value(window, i64))
    return active().emit("gather", slots, indices, axis=place)


def _window(size: Dim) -> Dim:
    active().require(size >= 1, f"a ring has at least one slot, not {size}")
    return size


def _number(position: Position) -> Tensor:
    number = as_index(position)
    if number.ndim:
        problem = f"a position is {describe(number)}"
        raise active().refuse(problem, "give one number: where the first of the new positions is")
    return number
