"""Pools that give so many results, whatever the size: window `i` of `count` over `n` elements goes
from `i * n // count` to the next integer above `(i + 1) * n / count`.

Windows overlap and differ in size where `count` does not divide `n`; then they are read by index,
as many elements as the largest has, and what is behind the end of a smaller one does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.convert import asarray, cast_to, widened
from anyshape.frontend.builder.elementwise import minimum, where
from anyshape.frontend.builder.movement import gather, moveaxis, reshape
from anyshape.frontend.builder.pool import NOWHERE, least, with_places
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, Divisible

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


@dataclass(frozen=True)
class _Windows:
    """Of one axis: a tensor with the places and, behind all other axes, what lies inside; where
    this is no part of a window; and how many elements each has."""

    x: Tensor
    outside: Tensor | None
    count: Tensor


def _windows(x: Tensor, axis: int, count: Dim) -> _Windows:
    extent = x.shape[axis]
    if count == 1 or active().proves(Divisible(extent, count)):
        width = extent // count
        apart = reshape(x, (*x.shape[:axis], count, width, *x.shape[axis + 1 :]))
        return _Windows(moveaxis(apart, axis + 1, -1), None, asarray(width))
    index = arange(count)
    begin, end = index * extent // count, ((index + 1) * extent + (count - 1)) // count
    inside = begin.reshape(-1, 1) + arange((extent - 1) // count + 2)
    read = gather(x, minimum(inside, extent - 1), axis)
    outside = inside >= end.reshape(-1, 1)
    return _Windows(moveaxis(read, axis + 1, -1), outside, end - begin)


def _aligned(x: Tensor, axis: int, rank: int) -> Tensor:
    """[places] or [places, inside], beside `rank` axes in front of the last."""
    ones = (1,) * (rank - 1 - axis)
    return reshape(x, (x.shape[0], *ones, *x.shape[1:]))


def _of_whole_axes(
    x: Tensor, counts: Sequence[Dim], reduced: Callable[..., Tensor]
) -> tuple[Tensor, Mapping[int, Dim]]:
    """With the axes reduced of which the only window is all of it, and how many windows the others
    have. Reduced together they are one kernel, which works in any order of axes."""
    axes = dict(enumerate(counts, x.ndim - len(counts)))
    whole = tuple(axis for axis, count in axes.items() if count == 1)
    others = {axis: count for axis, count in axes.items() if axis not in whole}
    return reduced(x, whole, keepdims=True) if whole else x, others


def adaptive_avg_pool(x: Tensor, counts: Sequence[Dim]) -> Tensor:
    """The mean of each window over the last axes: of whole axes at once, then along one after the
    other."""
    found, others = _of_whole_axes(widened(x), counts, red.mean)
    for axis, count in others.items():
        windows = _windows(found, axis, count)
        inside = windows.x
        if windows.outside is not None:
            inside = where(_aligned(windows.outside, axis, x.ndim), 0, inside)
        number = cast_to(windows.count, found.dtype)
        number = _aligned(number, axis, x.ndim) if number.ndim else number
        found = red.sum(inside, -1) / number
    return cast_to(found, x.dtype)


def adaptive_max_pool(x: Tensor, counts: Sequence[Dim]) -> Tensor:
    """The greatest element of each window over the last axes."""
    x, others = _of_whole_axes(x, counts, red.max)
    for axis, count in others.items():
        windows = _windows(x, axis, count)
        inside = windows.x
        if windows.outside is not None:
            inside = where(_aligned(windows.outside, axis, x.ndim), least(x.dtype), inside)
        x = red.max(inside, -1)
    return x


def adaptive_max_with_places(x: Tensor, counts: Sequence[Dim]) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and where in the last axes, flattened, it is."""
    rank, first = len(counts), x.ndim - len(counts)
    places = asarray(0)
    outside: Tensor | None = None
    inside = x
    for number, count in enumerate(counts):
        axis, extent = first + number, x.shape[first + number]
        windows = _windows(inside, axis, count)
        inside = windows.x
        behind = (1,) * (rank - 1 - number)
        numbers = _windows(arange(extent), 0, count)
        along = _between(numbers.x, number, behind)
        places = places * extent + along
        if numbers.outside is not None:
            hidden = _between(numbers.outside, number, behind)
            outside = hidden if outside is None else outside | hidden
    over = tuple(range(-rank, 0))
    if outside is not None:
        inside = where(outside, least(x.dtype), inside)
        places = where(outside, NOWHERE, places)
    return with_places(inside, places, over)


def _between(x: Tensor, number: int, behind: tuple[int, ...]) -> Tensor:
    """[places, inside] of axis `number` among [places…, inside…]."""
    places, inside = x.shape
    return reshape(x, (places, *behind, *(1,) * number, inside, *behind))
