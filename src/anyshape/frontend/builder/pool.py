"""Pools: a reduction over windows of the last axes, `[…, height, width]`.

A window may hang over the edge by its padding, which no element of a maximum is and which an
average may or may not count. With `ceil_mode` there is a place more where the last window ends
behind everything, if it begins before the padding at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.axes import Size, describe
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to, size_value, widened
from anyshape.frontend.builder.elementwise import isnan, maximum, minimum, where
from anyshape.frontend.builder.movement import reshape, squeeze
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import DType
from anyshape.ops.elementwise import maximum as MAXIMUM  # noqa: N812  the op
from anyshape.sym import Dim, ceildiv, product
from anyshape.sym import maximum as dim_maximum
from anyshape.sym import minimum as dim_minimum

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

NONE = Dim.of(0)
Each = Size | Sequence[Size]
"""A number for all axes, or one for each."""


# --- windows --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Along:
    """How windows go along one axis of `extent` elements, with padding on both sides."""

    extent: Dim
    size: Dim
    step: int
    gap: int = 1
    low: Dim = NONE
    ceil: bool = False
    end: Dim | None = None  # the padding behind the end, if it is not `low`

    @property
    def after(self) -> Dim:
        return self.low if self.end is None else self.end

    @property
    def reach(self) -> Dim:
        """From a window's first element to its last."""
        return (self.size - 1) * self.gap

    @property
    def room(self) -> Dim:
        """Where the last window may begin."""
        return self.extent + self.low + self.after - self.reach - 1

    @property
    def count(self) -> Dim:
        room = self.room
        if not self.ceil or self.step == 1:
            return room // self.step + 1
        begins_inside = (self.extent + self.low - 1) // self.step
        return dim_minimum(ceildiv(room, Dim.of(self.step)), begins_inside) + 1

    @property
    def high(self) -> Dim:
        """How much must be there behind the end, for windows that hang over it."""
        if not self.ceil or self.step == 1:
            return self.after
        behind = (self.count - 1) * self.step + self.reach + 1 - self.extent - self.low
        return dim_maximum(behind, 0)


def windows(x: ArrayLike, size: Each, step: Each = 1, gap: Each = 1) -> Tensor:
    """What boxes of this size see of the last axes, at each place: `[…, places…, inside…]`.

    One number stands for one axis; a sequence has one for each of the last axes.
    """
    operand = asarray(x)
    rank = len(size) if isinstance(size, Sequence) else 1
    return windows_along(operand, alongs(operand, rank, size, step, gap), 0)


def alongs(
    x: Tensor,
    rank: int,
    size: Each,
    step: Each,
    gap: Each = 1,
    low: Each = 0,
    ceil: bool = False,
    end: Each | None = None,
) -> list[Along]:
    """For each of the last axes. The padding at its end is `low` too, if it is not given."""
    if not 0 < rank <= x.ndim:
        fix = f"give windows for at most {x.ndim} axes"
        raise active().refuse(f"windows over {rank} axes of {describe(x)}", fix)
    numbers = size, step, gap, low, low if end is None else end
    given = zip(*(_each(rank, number) for number in numbers), strict=True)
    found = [
        Along(extent, size, _number(step), _number(gap), low, ceil, end)
        for extent, (size, step, gap, low, end) in zip(x.shape[-rank:], given, strict=True)
    ]
    for axis, each in enumerate(found, x.ndim - rank):
        _require_place(x, axis, each)
    return found


def _require_place(x: Tensor, axis: int, along: Along) -> None:
    """There is a window, and a place for it."""
    active().require(along.size >= 1, f"a window of {along.size} has no element")
    why = f"a window of {along.reach + 1} does not fit into axis {axis} of {describe(x)}"
    # One that hangs over the end begins inside: the nearest place that a step reaches from there.
    hanging = along.step - 1 if along.ceil else 0
    active().require(along.room + hanging >= 0, why)


def _each(rank: int, given: Each) -> list[Dim]:
    numbers = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if len(numbers) != rank:
        fix = f"give one number, or {rank}"
        raise active().refuse(f"{len(numbers)} numbers for windows over {rank} axes", fix)
    return [active().dim(number) for number in numbers]


def _number(size: Dim) -> int:
    if size.constant is None or size.constant < 1:
        fix = "give a positive number, which is the same for all shapes"
        raise active().refuse(f"windows that are {size} apart", fix)
    return size.constant


def windows_along(x: Tensor, axes: Sequence[Along], fill: ArrayLike) -> Tensor:
    """Windows over the last axes, with `fill` where they hang over the edge."""
    widths = [(Dim.of(0), Dim.of(0))] * (x.ndim - len(axes)) + [(a.low, a.high) for a in axes]
    if any(width != 0 for pair in widths for width in pair):
        x = pad(x, widths, fill)
    return active().emit(
        "windows", x,
        counts=tuple(axis.count for axis in axes), sizes=tuple(axis.size for axis in axes),
        steps=tuple(axis.step for axis in axes), gaps=tuple(axis.gap for axis in axes),
    )  # fmt: skip


def inner_axes(axes: Sequence[Along]) -> tuple[int, ...]:
    return tuple(range(-len(axes), 0))


# --- pools ----------------------------------------------------------------------------------------


def max_pool(
    x: ArrayLike,
    size: Sequence[Size],
    step: Each | None = None,
    padding: Each = 0,
    gap: Each = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The greatest element of each window over the last axes; windows lie beside each other unless
    a step is given."""
    operand = asarray(x)
    axes = alongs(operand, len(size), size, size if step is None else step, gap, padding, ceil_mode)
    return max_along(operand, axes)


def max_along(x: Tensor, axes: Sequence[Along]) -> Tensor:
    return red.max(windows_along(x, axes, least(x.dtype)), inner_axes(axes))


def least(dtype: DType) -> float | int | bool:
    """What no element is below."""
    return MAXIMUM.neutral_in(dtype)


def greatest_with_places(x: Tensor, axes: Sequence[Along]) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and where in the last axes, flattened, it is: the first
    of them, or the last NaN, which is how torch goes through a window. Padding is no place."""
    inside = windows_along(x, axes, least(x.dtype))
    numbers = arange(product(axis.extent for axis in axes))
    places = reshape(numbers, tuple(axis.extent for axis in axes))
    over = inner_axes(axes)
    return with_places(inside, windows_along(places, axes, NOWHERE), over)


def with_places(inside: Tensor, places: Tensor, over: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The greatest elements along some axes, and the place of each; `NOWHERE` is none."""
    best = red.max(inside, over, keepdims=True)
    found = squeeze(best, over)
    first = red.min(where(inside == best, places, NOWHERE), over)
    if not inside.dtype.is_float:
        return found, first
    last = red.max(where(isnan(inside), places, -1), over)
    return found, where(last >= 0, last, first)


NOWHERE = 2**62
"""A place behind all others."""


def avg_pool(
    x: ArrayLike,
    size: Sequence[Size],
    step: Each | None = None,
    padding: Each = 0,
    ceil_mode: bool = False,
    count_padding: bool = True,
    divisor: float | None = None,
) -> Tensor:
    """The mean of each window over the last axes: padding counts as zeros, or not at all."""
    operand = asarray(x)
    axes = alongs(operand, len(size), size, size if step is None else step, 1, padding, ceil_mode)
    return avg_along(operand, axes, count_padding, divisor)


def avg_along(
    x: Tensor, axes: Sequence[Along], count_padding: bool = True, divisor: float | None = None
) -> Tensor:
    wide = widened(x)
    total = red.sum(windows_along(wide, axes, 0), inner_axes(axes))
    by = _counted(axes, wide, count_padding) if divisor is None else asarray(divisor, wide.dtype)
    return cast_to(total / by, x.dtype)


def _counted(axes: Sequence[Along], x: Tensor, count_padding: bool) -> Tensor:
    """How many elements each window has; the same number for all of them where none hangs over. One
    with gaps may have nothing but padding: then it is 1, so that the mean is 0, as the sum is."""
    count = asarray(1, x.dtype)
    for number, axis in enumerate(axes):
        edge, end = (axis.low, axis.after) if count_padding else (NONE, NONE)
        if axis.high == end and axis.low == edge:
            count = count * size_value(axis.size, x.dtype)
            continue
        begin = arange(axis.count) * axis.step - axis.low
        first = maximum(-((begin + edge) // axis.gap), 0)  # of its elements that count
        behind = minimum(-((begin - axis.extent - end) // axis.gap), axis.size)
        counted = behind - first if axis.gap == 1 else maximum(behind - first, 1)
        along = cast_to(counted, x.dtype)
        count = count * along.reshape((axis.count, *(1,) * (len(axes) - 1 - number)))
    return count
