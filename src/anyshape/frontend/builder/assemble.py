"""Functions that put tensors together and take them apart: concat, stack, split, pad, tile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from anyshape.frontend.builder.axes import Size, describe, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, asarray, promoted
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, reshape
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim, Divisible, minimum

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Width = int | Dim | tuple[Size, Size] | Sequence[tuple[Size, Size]]


def concat(tensors: Sequence[ArrayLike], axis: int = 0) -> Tensor:
    """One after the other along `axis`."""
    if not tensors:
        raise active().refuse("concat of no tensors", "pass at least one")
    operands = promoted(*tensors)
    if len(operands) == 1:
        return +operands[0]
    return active().emit("concat", *operands, axis=normal_axis(axis, operands[0].ndim))


def stack(tensors: Sequence[ArrayLike], axis: int = 0) -> Tensor:
    """Along a new axis."""
    operands = promoted(*tensors) if tensors else []
    return concat([expand_dims(operand, axis) for operand in operands], axis)


def split(x: ArrayLike, sections: int | Sequence[Size], axis: int = 0) -> list[Tensor]:
    """Into that many equal parts, or at these positions.

    Equal parts need a size that is divisible by their number: a fact that is required, and checked
    when it runs unless it is known.
    """
    operand = asarray(x)
    normal = normal_axis(axis, operand.ndim)
    size = operand.shape[normal]
    if isinstance(sections, int):
        inner = _equal_parts(operand, size, sections, normal)
    else:
        inner = [active().dim(position) for position in sections]
    return [cut(operand, normal, *bounds) for bounds in pairwise([Dim.of(0), *inner, size])]


def _equal_parts(x: Tensor, size: Dim, sections: int, axis: int) -> list[Dim]:
    """The positions between the parts."""
    if sections < 1:
        raise active().refuse(f"split into {sections} parts", "ask for at least one part")
    why = f"split: axis {axis} of {describe(x)} must divide into {sections} equal parts"
    active().require(Divisible(size, Dim.of(sections)), why)
    return [size // sections * part for part in range(1, sections)]


def cut(x: Tensor, axis: int, start: Dim, stop: Dim) -> Tensor:
    """The elements from `start` to `stop`, both exact, along one axis."""
    starts, stops = [Dim.of(0)] * x.ndim, list(x.shape)
    starts[axis], stops[axis] = start, stop
    return active().emit("slice", x, starts=starts, stops=stops, steps=(1,) * x.ndim)


def pad(x: ArrayLike, pad_width: Width, value: ArrayLike = 0) -> Tensor:
    """Elements added around: `n` everywhere, `(low, high)` everywhere, or one pair per axis."""
    operand = asarray(x)
    pairs = _pairs(pad_width, operand.ndim)
    if len(pairs) != operand.ndim:
        raise active().refuse(
            f"pad got {len(pairs)} pairs for {describe(operand)}",
            "give one (low, high), or one for each axis",
        )
    low, high = (tuple(active().dim(pair[side]) for pair in pairs) for side in (0, 1))
    return active().emit("pad", operand, asarray(value, operand.dtype), low=low, high=high)


def resized(x: Tensor, axis: int, n: Size | None) -> Tensor:
    """The first `n` elements of an axis, with zeros behind them if there are less."""
    if n is None:
        return x
    length, size = active().dim(n), x.shape[axis]
    kept = minimum(size, length)
    part = x if kept == size else cut(x, axis, Dim.of(0), kept)
    if kept == length:
        return part
    return pad(part, [(0, length - kept if each == axis else 0) for each in range(x.ndim)])


def _pairs(width: Width, rank: int) -> list[tuple[Size, Size]]:
    if isinstance(width, (int, Dim)):
        return [(width, width)] * rank
    if len(width) == 2 and all(isinstance(item, (int, str, Dim)) for item in width):
        low, high = (item for item in width if isinstance(item, (int, str, Dim)))
        return [(low, high)] * rank
    return [(item[0], item[1]) for item in width if isinstance(item, (tuple, list))]


def repeat_axis(x: Tensor, axis: int, times: Size) -> Tensor:
    """Every slice along `axis` repeated, as heads are in grouped attention."""
    count = active().dim(times)
    wide = expand_dims(x, axis + 1)
    shape = (*wide.shape[: axis + 1], count, *wide.shape[axis + 2 :])
    repeated = active().emit("broadcast", wide, shape=shape)
    merged = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
    return active().emit("reshape", repeated, shape=merged)


def repeat(x: ArrayLike, repeats: Size, axis: int) -> Tensor:
    """Every slice along `axis` that many times, one after the other."""
    operand = asarray(x)
    return repeat_axis(operand, normal_axis(axis, operand.ndim), repeats)


def tile(x: Tensor, repeats: Sequence[Size]) -> Tensor:
    """The whole tensor repeated along each axis; further repeats are of new axes in front."""
    shape = (*(Dim.of(1),) * (len(repeats) - x.ndim), *x.shape)
    apart = reshape(x, tuple(part for size in shape for part in (Dim.of(1), size)))
    counts = [active().dim(count) for count in repeats]
    pairs = zip(counts, shape, strict=True)
    wide = broadcast_to(apart, tuple(part for pair in pairs for part in pair))
    return reshape(wide, tuple(n * size for n, size in zip(counts, shape, strict=True)))


def split_sizes(x: Tensor, sizes: Sequence[Size], axis: int) -> list[Tensor]:
    """Parts of these sizes, one after the other."""
    start = Dim.of(0)
    parts: list[Tensor] = []
    for size in sizes:
        stop = start + active().dim(size)
        parts.append(cut(x, axis, start, stop))
        start = stop
    return parts
