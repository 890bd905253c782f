"""Frames put back where windows took them from: what overlaps is added up.

Along one axis, frames that are a stride apart fall into as many pieces of a stride as they overlap:
pieces of one number never overlap each other, so that each number is the frames side by side,
shifted, and their sum is one kernel. A dilated frame is one of single elements, a gap apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from anyshape.frontend.builder.assemble import cut, pad, resized
from anyshape.frontend.builder.elementwise import add
from anyshape.frontend.builder.movement import moveaxis, reshape
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, Equal

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def overlap_add(frames: Tensor, step: int, gap: int = 1) -> Tensor:
    """[…, count, size] to […, (count - 1) * step + (size - 1) * gap + 1]. Sizes of frames are
    numbers."""
    *rest, count, size = frames.shape
    length = (count - 1) * step + (_number(size) - 1) * gap + 1
    pieces = _pieces(frames, step) if gap == 1 else _elements(frames, step, gap)
    total = reduce(add, pieces)
    whole = reshape(total, (*rest, total.shape[-2] * total.shape[-1]))
    return cut(whole, len(rest), Dim.of(0), length)


def _pieces(frames: Tensor, step: int) -> list[Tensor]:
    """[…, count + number - 1, step] each."""
    *rest, count, size = frames.shape
    number = -(-_number(size) // step)
    apart = _padded(frames, -1, 0, number * step - _number(size))
    apart = reshape(apart, (*rest, count, number, step))
    return [_padded(apart[..., i, :], -2, i, number - 1 - i) for i in range(number)]


def _elements(frames: Tensor, step: int, gap: int) -> list[Tensor]:
    """[…, strides, step] each: an element of all frames, where it falls."""
    size = _number(frames.shape[-1])
    strides = -(-((size - 1) * gap + 1) // step)
    made: list[Tensor] = []
    for i in range(size):
        whole, inside = divmod(i * gap, step)
        element = _padded(frames[..., i : i + 1], -1, inside, step - 1 - inside)
        made.append(_padded(element, -2, whole, strides - 1 - whole))
    return made


def _padded(x: Tensor, axis: int, low: int, high: int) -> Tensor:
    widths = [(0, 0)] * x.ndim
    widths[axis] = (low, high)
    return pad(x, widths) if low or high else x


def _number(size: Dim) -> int:
    if size.constant is None:
        raise active().refuse(f"frames of {size} elements", "give frames a size that is a number")
    return size.constant


def fold(
    x: Tensor,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    steps: Sequence[int],
    gaps: Sequence[int],
    pads: Sequence[int],
) -> Tensor:
    """[…, channels * kernel…, places] to […, channels, sizes…]: the sum of all windows."""
    rank, inside = len(kernel), 1
    for size in kernel:
        inside *= size
    counts = [
        (size + 2 * pad_ - gap * (k - 1) - 1) // step + 1
        for size, k, step, gap, pad_ in zip(sizes, kernel, steps, gaps, pads, strict=True)
    ]
    *rest, rows, places = x.shape
    why = "the places of windows must be those of the size that they are put into"
    product = reduce(lambda a, b: a * b, counts, Dim.of(1))
    active().require(Equal(places, product), why)
    whole = reshape(x, (*rest, rows // inside, *kernel, *counts))
    for number in range(rank):  # the first axis of either kind goes to the end, merged
        first = len(rest) + 1
        frames = moveaxis(whole, (first + rank - number, first), (-2, -1))
        merged = overlap_add(frames, steps[number], gaps[number])
        low, size = pads[number], sizes[number]
        merged = resized(merged, merged.ndim - 1, size + low)  # no window may reach the end
        whole = cut(merged, merged.ndim - 1, Dim.of(low), size + low)
    return whole
