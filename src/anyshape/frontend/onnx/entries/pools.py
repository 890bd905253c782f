"""Pools: windows over the axes behind the second one. Their sizes are part of the program."""

from __future__ import annotations

from anyshape.frontend.builder import pool
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.convolutions import Numbers, widths_of
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
    if storage_order:
        problem = "indices of a MaxPool in the order of columns"
        raise active().refuse(problem, "use storage_order 0")
    found, places = pool.greatest_with_places(x, axes)
    return found, places + _begins(x, len(axes))


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
