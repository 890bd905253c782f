"""Convolutions as sums over the places of the kernel: text models have short ones.

out[n, :, s] = sum over j of weight[:, :, j] @ x[n, :, s * stride + j * dilation]

Sums of 16-bit floats are made in f32 and rounded once, as torch does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from operator import add

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError, entry, in_wide
from anyshape.frontend.builder import assemble
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import expand_dims, moveaxis
from anyshape.frontend.builder.tensor import Tensor
from anyshape.sym import Dim


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
    if transposed:
        raise NoEntryError
    stride, padding, dilation = (_each(x.ndim - 2, given) for given in (stride, padding, dilation))
    padded = assemble.pad(x, [(0, 0), (0, 0), *((width, width) for width in padding)])
    moved = _moved(padded, weight, stride, dilation)
    found = reduce(add, (_channels(in_wide(part), in_wide(w), groups) for part, w in moved))
    if bias is not None:
        found = found + in_wide(bias).reshape((-1, *(1,) * (x.ndim - 2)))
    return cast_to(found, call.dtype)


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


for _name in ("conv1d", "conv2d", "conv3d"):
    TABLE[f"aten.{_name}.default"] = TABLE[f"aten.{_name}.padding"] = _convolution


def _moved(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """For each place of the kernel, what it meets of `x`, and its matrix of weights."""
    taps = [int(size) for size in weight.shape[2:]]
    reach = [step * (count - 1) for step, count in zip(dilation, taps, strict=True)]
    ends = [size - far for size, far in zip(x.shape[2:], reach, strict=True)]
    for place in product(*map(range, taps)):
        starts = [step * tap for step, tap in zip(dilation, place, strict=True)]
        spans = zip(starts, ends, stride, strict=True)
        part = getitem(x, (..., *(slice(start, end + start, step) for start, end, step in spans)))
        yield part, getitem(weight, (slice(None), slice(None), *place))


def _channels(x: Tensor, weight: Tensor, groups: int) -> Tensor:
    """[n, in, …] and [out, in / groups] to [n, out, …]: each group of channels by itself."""
    outside, inside = weight.shape
    if inside == 1 and outside == groups:
        return x * weight.reshape((groups, *(1,) * (x.ndim - 2)))
    last = moveaxis(x, 1, -1)
    apart = last.reshape((*last.shape[:-1], groups, 1, inside))
    per_group = weight.reshape((groups, outside // Dim.of(groups), inside))
    found = matmul(apart, moveaxis(per_group, 1, 2)) if groups > 1 else matmul(last, weight.T)
    return moveaxis(found.reshape((*last.shape[:-1], outside)), -1, 1)
