"""Pools: windows over the axes behind the second one. Their sizes are part of the program."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.builder import pool
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.convert import as_index, asarray, size_value
from anyshape.frontend.builder.scatter import scatter
from anyshape.frontend.builder.source import arange, zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.value_checks import check_indices
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.convolutions import Numbers, widths_of
from anyshape.frontend.onnx.entries.layers import lp_norm
from anyshape.frontend.onnx.numbers import sizes_of
from anyshape.ir.types import i64
from anyshape.sym import Dim, product


@entry("MaxPool")
def max_pool(
    call: Call,
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    storage_order: int = 0,
    strides: tuple[int, ...] | None = None,
) -> tuple[Tensor, ...]:
    axes = _axes(call, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if not call.wants(1):
        return (pool.max_along(x, axes),)
    found, places = pool.greatest_with_places(x, axes)
    if storage_order:
        places = _by_columns(places, x.shape[2:])
    return found, places + _begins(x, len(axes))


def _by_columns(places: Tensor, sizes: Sequence[Dim]) -> Tensor:
    """The same places, counted with the first axis as the one whose elements are next to each
    other."""
    found, rest = asarray(0, i64), places
    strides = [product(sizes[:axis]) for axis in range(len(sizes))]
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        here = size_value(size, i64)
        found = found + rest % here * size_value(stride, i64)
        rest = rest // here
    return found


@entry("MaxUnpool", since=9)
def max_unpool(
    call: Call,
    x: Tensor,
    places: Tensor,
    output_shape: Tensor | None = None,
    *,
    kernel_shape: tuple[int, ...],
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Each element where MaxPool has found it, zeros elsewhere. Places are those in a tensor of the
    size that the pool had, if no larger one is asked for."""
    rank = x.ndim - 2
    steps, cuts = strides or (1,) * rank, pads or (0,) * (2 * rank)
    if rank < 1 or not len(kernel_shape) == len(steps) == len(cuts) // 2 == rank:
        raise call.invalid(f"has windows {list(kernel_shape)} for {rank} spatial axes")
    own = tuple(
        (size - 1) * step + tap - cuts[n] - cuts[n + rank]
        for n, (size, step, tap) in enumerate(zip(x.shape[2:], steps, kernel_shape, strict=True))
    )
    sizes = own if output_shape is None else sizes_of(output_shape)[2:]
    whole = (*x.shape[:2], *own)
    index = as_index(places).reshape(-1)
    check_indices(call.op, index, product(whole), 0, from_end=False)
    found = scatter(zeros((product(whole),), x.dtype), 0, index, x.reshape(-1)).reshape(whole)
    widths = [(Dim.of(0), size - mine) for size, mine in zip(sizes, own, strict=True)]
    return pad(found, [(0, 0), (0, 0), *widths])


@entry("LpPool")
def lp_pool(
    call: Call,
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: tuple[int, ...] | None = None,
    p: int = 2,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    axes = _axes(call, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)

    def total(powers: Tensor) -> Tensor:
        return red.sum(pool.windows_along(powers, axes, 0), pool.inner_axes(axes))

    return lp_norm(x, p, total)


def _begins(x: Tensor, rank: int) -> Tensor:
    """Where the elements of each channel begin, in the whole tensor."""
    inside = asarray(product(x.shape[2:]), i64)
    channel = arange(x.shape[0] * x.shape[1]) * inside
    return channel.reshape((*x.shape[:2], *(Dim.of(1),) * rank))


@entry("AveragePool")
def average_pool(
    call: Call,
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    axes = _axes(call, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return pool.avg_along(x, axes, bool(count_include_pad))


def _axes(
    call: Call,
    x: Tensor,
    sizes: Numbers,
    strides: Numbers | None,
    dilations: Numbers | None,
    pads: Numbers | None,
    auto_pad: str,
    ceil_mode: int,
) -> list[pool.Along]:
    rank = x.ndim - 2
    if rank < 1 or len(sizes) != rank:
        raise call.invalid(f"has windows {list(sizes)} for {rank} spatial axes")
    steps, gaps = strides or (1,) * rank, dilations or (1,) * rank
    if auto_pad.startswith("SAME") and any(gap != 1 for gap in gaps):
        problem = f"auto_pad {auto_pad} of a {call.op} with dilations, of which engines differ"
        raise active().refuse(problem, "give explicit pads")
    widths = widths_of(call, x, sizes, steps, gaps, pads, auto_pad)
    for size, gap, pair in zip(sizes, gaps, widths, strict=True):
        if not all(0 <= width <= (size - 1) * gap for width in pair):
            raise call.invalid(f"has padding {pair} for a window of {size}")
    low, end = zip(*widths, strict=True)
    return pool.alongs(x, rank, sizes, steps, gaps, low, bool(ceil_mode), end)
