"""Convolutions as sums over the places of the kernel: text models have short ones.

out[n, :, s] = sum over j of weight[:, :, j] @ x[n, :, s * stride + j * dilation]

Where kernels lie beside each other (the stride is the kernel), as in patches of images, `x` is cut
into them: one product, and nothing is read twice. Of kernels with many places, those along the last
axis are joined to the channels, some at a time: the terms of the sum grow with the root of their
number, and so do the copies of `x`.

Sums of 16-bit floats are made in f32 and rounded once, as torch does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError, entry, in_wide
from anyshape.frontend.builder import assemble
from anyshape.frontend.builder.conv import by_group, conv
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import expand_dims, moveaxis, transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.builder.transposed_conv import Phases
from anyshape.frontend.builder.transposed_conv import transposed as transposed_convolution
from anyshape.sym import Dim, minimum
from anyshape.sym import product as product_of


@entry("aten.convolution.default")
def convolution(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Channels are the second axis of `x`, and the first two of `weight`."""
    if any(size.constant is None for size in weight.shape[2:]):
        raise NoEntryError
    _require_places(x)
    stride, padding, dilation = (_each(x.ndim - 2, given) for given in (stride, padding, dilation))
    if transposed:
        more = _each(x.ndim - 2, output_padding)
        axes = zip(map(int, weight.shape[2:]), stride, dilation, padding, more, strict=True)
        phases = [Phases(*axis) for axis in axes]
        wide = moveaxis(in_wide(x), 1, -1), in_wide(weight)
        return _with_bias(call, transposed_convolution(*wide, phases, groups), bias)
    if not _has_many_depthwise_taps(weight, groups):
        pairs = [(width, width) for width in padding]
        return _by_op(call, x, weight, bias, stride, pairs, dilation, groups)
    padded = assemble.pad(x, [(0, 0), (0, 0), *((width, width) for width in padding)])
    found = _sum(in_wide(padded), in_wide(weight), stride, dilation, groups)
    if bias is not None:
        found = found + in_wide(bias).reshape((-1, *(1,) * (x.ndim - 2)))
    return cast_to(found, call.dtype)


def _require_places(x: Tensor) -> None:
    """Of images that are there, torch takes none without a place, also if padding adds some."""
    for size in x.shape[2:]:
        if not active().proves(size >= 1):
            why = "convolution: an image has at least one place along each axis"
            active().require(minimum(x.shape[0], Dim.of(1)) <= size, why)


def _has_many_depthwise_taps(weight: Tensor, groups: int) -> bool:
    """Kernels for one channel at a time name each of their taps."""
    taps = math.prod(int(size) for size in weight.shape[2:])
    return weight.shape[0] == groups and weight.shape[1] == 1 and taps > _MANY_PLACES


def _by_op(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """As `conv`, which has channels last."""
    wide = moveaxis(in_wide(x), 1, -1), by_group(in_wide(weight), groups)
    return _with_bias(call, conv(*wide, strides=stride, dilations=dilation, padding=padding), bias)


def _with_bias(call: Call, x: Tensor, bias: Tensor | None) -> Tensor:
    """In torch's order of axes; channels of `x` are last."""
    found = x if bias is None else x + in_wide(bias)
    return _to_second(cast_to(found, call.dtype))


_MANY_PLACES = 64


def _sum(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int], groups: int
) -> Tensor:
    taps = [int(size) for size in weight.shape[2:]]
    if math.prod(taps) > 1 and all(
        step == tap and (tap == 1 or apart == 1)
        for step, tap, apart in zip(stride, taps, dilation, strict=True)
    ):
        flat = weight.reshape((weight.shape[0], product_of(weight.shape[1:])))
        return _to_second(_product(_patches(x, taps), flat, groups))
    terms = _moved(x, weight, stride, dilation)
    if math.prod(taps) > _MANY_PLACES:
        terms = _joined(x, weight, stride, dilation)
    return reduce(add, (_channels(part, matrix, groups) for part, matrix in terms))


def _patches(x: Tensor, taps: Sequence[int]) -> Tensor:
    """[n, channels, size * tap, …] to [n, size, …, channels * taps]; what is left over is cut."""
    rank, counts = len(taps), [size // tap for size, tap in zip(x.shape[2:], taps, strict=True)]
    pairs = list(zip(counts, taps, strict=True))
    whole = getitem(x, (..., *(slice(0, count * tap) for count, tap in pairs)))
    sizes = tuple(part for pair in pairs for part in pair)
    apart = whole.reshape((*x.shape[:2], *sizes))
    order = (0, *range(2, 2 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2))
    return transpose(apart, order).reshape((x.shape[0], *counts, x.shape[1] * math.prod(taps)))


def _joined(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """As `_moved`, with several places of the last axis as one that has more channels."""
    taps = [int(size) for size in weight.shape[2:]]
    count = min(taps[-1], math.isqrt(math.prod(taps)))
    steps = _steps(x, taps, stride, dilation)[-1:]
    for first in range(0, taps[-1], count):
        places = range(first, min(first + count, taps[-1]))
        parts = [_met(x, steps, (place,)) for place in places]
        joined = assemble.stack(parts, 2)
        joined = joined.reshape((x.shape[0], x.shape[1] * len(parts), *joined.shape[3:]))
        some = getitem(weight, (..., slice(places[0], places[-1] + 1)))
        last = moveaxis(some, -1, 2)  # beside the channels
        matrices = last.reshape((weight.shape[0], weight.shape[1] * len(parts), *taps[:-1], 1))
        yield from _moved(joined, matrices, (*stride[:-1], 1), (*dilation[:-1], 1))


def _each(rank: int, given: Sequence[int]) -> Sequence[int]:
    """One number stands for all axes."""
    return list(given) * rank if len(given) == 1 else given


def _convolution(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] | str = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    """Without a batch too."""
    rank = weight.ndim - 2
    if any(size.constant is None for size in weight.shape[2:]):
        raise NoEntryError
    batched = x if x.ndim == weight.ndim else expand_dims(x, 0)
    if isinstance(padding, str):
        batched, padding = _padded(batched, weight, padding, _each(rank, dilation)), (0,)
    result = convolution(
        call, batched, weight, bias, stride, padding, dilation, False, (0,), groups
    )
    return result if x.ndim == weight.ndim else getitem(result, 0)


def _padded(x: Tensor, weight: Tensor, padding: str, dilation: Sequence[int]) -> Tensor:
    """`same` leaves as many places as there are; what is uneven goes to the end."""
    if padding == "valid":
        return x
    taps = [int(size) for size in weight.shape[2:]]
    widths = [step * (count - 1) for step, count in zip(dilation, taps, strict=True)]
    pairs = [(width // 2, width - width // 2) for width in widths]
    return assemble.pad(x, [(0, 0), (0, 0), *pairs])


def _transposed(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Tensor:
    """Without a batch too."""
    batched = x if x.ndim == weight.ndim else expand_dims(x, 0)
    numbers = stride, padding, dilation, True, output_padding, groups
    result = convolution(call, batched, weight, bias, *numbers)
    return result if x.ndim == weight.ndim else getitem(result, 0)


for _name in ("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input"):
    TABLE[f"aten.{_name}"] = _transposed

for _name in ("conv1d", "conv2d", "conv3d"):
    TABLE[f"aten.{_name}.default"] = TABLE[f"aten.{_name}.padding"] = _convolution


@dataclass(frozen=True, slots=True)
class _Steps:
    """How a kernel goes along one axis. All its places meet `count` elements: the same dim for
    each, so that nothing has to be proven about the terms of a sum."""

    count: Dim
    stride: int
    dilation: int

    @staticmethod
    def along(size: Dim, taps: int, stride: int, dilation: int) -> _Steps:
        reach = dilation * (taps - 1)
        why = f"convolution: the kernel reaches over {reach + 1} places, and the input has {size}"
        active().require(Dim.of(reach) < size, why)
        return _Steps((size - reach - 1) // stride + 1, stride, dilation)

    def start(self, place: int) -> Dim:
        return Dim.of(self.dilation * place)

    def stop(self, place: int) -> Dim:
        return self.start(place) + (self.count - 1) * self.stride + 1


def _steps(
    x: Tensor, taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[_Steps]:
    axes = zip(x.shape[2:], taps, stride, dilation, strict=True)
    return [_Steps.along(*axis) for axis in axes]


def _met(x: Tensor, steps: Sequence[_Steps], place: Sequence[int]) -> Tensor:
    """What a place of the kernel meets of the last axes of `x`."""
    whole = x.ndim - len(steps)
    pairs = list(zip(steps, place, strict=True))
    starts = (*(Dim.of(0),) * whole, *(each.start(tap) for each, tap in pairs))
    stops = (*x.shape[:whole], *(each.stop(tap) for each, tap in pairs))
    strides = (*(1,) * whole, *(each.stride for each in steps))
    return active().emit("slice", x, starts=starts, stops=stops, steps=strides)


def _moved(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """For each place of the kernel, what it meets of `x`, and its matrix of weights."""
    taps = [int(size) for size in weight.shape[2:]]
    steps = _steps(x, taps, stride, dilation)
    for place in product(*map(range, taps)):
        yield _met(x, steps, place), getitem(weight, (slice(None), slice(None), *place))


def _channels(x: Tensor, weight: Tensor, groups: int) -> Tensor:
    """[n, in, …] and [out, in / groups] to [n, out, …]: each group of channels by itself."""
    outside, inside = weight.shape
    if inside == 1 and outside == groups:
        return x * weight.reshape((groups, *(1,) * (x.ndim - 2)))
    return _to_second(_product(moveaxis(x, 1, -1), weight, groups))


def _product(x: Tensor, weight: Tensor, groups: int) -> Tensor:
    """[…, in] and [out, in / groups] to […, out]."""
    if groups == 1:
        return matmul(x, weight.T)
    outside, inside = weight.shape
    apart = x.reshape((*x.shape[:-1], groups, 1, inside))
    per_group = weight.reshape((groups, outside // Dim.of(groups), inside))
    return matmul(apart, moveaxis(per_group, 1, 2)).reshape((*x.shape[:-1], outside))


def _to_second(x: Tensor) -> Tensor:
    """Channels where torch has them."""
    return moveaxis(x, -1, 1)
