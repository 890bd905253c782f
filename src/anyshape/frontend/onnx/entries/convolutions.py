"""Convolutions. Channels are the second axis; the op of ours has them last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.conv import by_group
from anyshape.frontend.builder.conv import conv as conv_of
from anyshape.frontend.builder.convert import cast_to, widened
from anyshape.frontend.builder.movement import moveaxis
from anyshape.frontend.builder.source import eye
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.builder.transposed_conv import Phases, transposed
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.elementwise import same_dtype
from anyshape.frontend.onnx.numbers import integers_of, sizes_of
from anyshape.sym import Dim

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class ConvAttributes:
    """What all convolutions have."""

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    kernel_shape: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    def steps_and_gaps(self, rank: int) -> tuple[Numbers, Numbers]:
        return self.strides or (1,) * rank, self.dilations or (1,) * rank


@entry("Conv")
def conv(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    given: ConvAttributes,
) -> Tensor:
    same_dtype(call, x, weight)
    rank = x.ndim - 2
    taps = _taps(call, weight, rank, given.kernel_shape)
    steps, gaps = given.steps_and_gaps(rank)
    widths = widths_of(call, x, taps, steps, gaps, given.pads, given.auto_pad)
    apart = by_group(widened(weight), given.group)
    channels_last = moveaxis(widened(x), 1, -1)
    found = conv_of(channels_last, apart, strides=steps, dilations=gaps, padding=widths)
    found = found if bias is None else found + widened(bias)
    return cast_to(moveaxis(found, -1, 1), x.dtype)


def _taps(call: Call, weight: Tensor, rank: int, declared: Numbers | None) -> list[int]:
    """The spatial sizes of the weight, which are part of the program."""
    taps = [size.constant for size in weight.shape[2:]]
    if rank < 1 or len(taps) != rank:
        raise call.invalid(f"has a weight {weight.type} for {rank} spatial axes")
    known = [tap for tap in taps if tap is not None]
    if len(known) < rank:
        problem = f"a convolution whose kernel {weight.type} varies in size"
        raise active().refuse(problem, "give the weight fixed spatial sizes")
    if declared is not None and list(declared) != known:
        raise call.invalid(f"has kernel_shape {list(declared)} for a weight {weight.type}")
    return known


def widths_of(
    call: Call,
    x: Tensor,
    taps: Sequence[int],
    strides: Numbers,
    dilations: Numbers,
    pads: Numbers | None,
    auto_pad: str,
) -> list[tuple[int, int]]:
    """The zeros before and behind each spatial axis."""
    rank = len(taps)
    if len(strides) != rank or len(dilations) != rank or (pads and len(pads) != 2 * rank):
        raise call.invalid(f"has strides, dilations or pads for other than {rank} axes")
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        axes = zip(x.shape[2:], taps, strides, dilations, strict=True)
        return [_same(*axis, lower=auto_pad == "SAME_LOWER") for axis in axes]
    if auto_pad not in ("NOTSET", "VALID"):
        raise call.invalid(f"has auto_pad {auto_pad!r}")
    given = pads if pads is not None and auto_pad == "NOTSET" else (0,) * (2 * rank)
    return [(given[axis], given[axis + rank]) for axis in range(rank)]


def _same(size: Dim, tap: int, stride: int, dilation: int, *, lower: bool) -> tuple[int, int]:
    """As many as give ceil(size / stride) places. With a stride that depends on the size."""
    reach = (tap - 1) * dilation
    if stride != 1 and size.constant is None:
        problem = f"auto_pad with stride {stride}, over a size that varies"
        raise active().refuse(problem, "give explicit pads, or a fixed size")
    total = reach
    if stride != 1 and size.constant is not None:
        total = max((-(-size.constant // stride) - 1) * stride + reach + 1 - size.constant, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


@entry("Col2Im", since=18)
def col2im(
    call: Call,
    x: Tensor,
    image_shape: Tensor,
    block_shape: Tensor,
    *,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Blocks [n, channels * taps, places] added up where each was: a transposed convolution, whose
    kernel puts each tap at its own place."""
    taps, image = integers_of(block_shape, "shape of blocks"), sizes_of(image_shape)
    rank = len(taps)
    ones = (1,) * rank
    steps, gaps, edges = strides or ones, dilations or ones, pads or (0,) * (2 * rank)
    if not len(steps) == len(gaps) == len(edges) // 2 == len(image) == rank:
        raise call.invalid(f"has strides, dilations or pads for other than {rank} axes")
    phases = [
        Phases(tap, step, gap, low, low - high)
        for tap, step, gap, low, high in zip(
            taps, steps, gaps, edges[:rank], edges[rank:], strict=True
        )
    ]
    places = [
        (size + axis.padding * 2 - axis.more - axis.reach) // axis.stride + 1
        for size, axis in zip(image, phases, strict=True)
    ]
    count = math.prod(taps)
    channels = x.shape[1] // Dim.of(count)
    kernel = eye(count, dtype=widened(x).dtype).reshape((count, 1, *taps))
    blocks = widened(x).reshape((x.shape[0] * channels, count, *places))
    found = transposed(moveaxis(blocks, 1, -1), kernel, phases, 1)
    rest = [
        (Dim.of(0), size - have)
        for size, have in zip(image, found.shape[1 : 1 + rank], strict=True)
    ]
    whole = pad(found, [(0, 0), *rest, (0, 0)])
    return cast_to(whole.reshape((x.shape[0], channels, *image)), x.dtype)


# --- transposed -----------------------------------------------------------------------------------


@entry("ConvTranspose")
def conv_transpose(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    given: ConvAttributes,
    output_padding: tuple[int, ...] | None = None,
    output_shape: tuple[int, ...] | None = None,
) -> Tensor:
    """The weight is [in, out / groups, taps…]."""
    same_dtype(call, x, weight)
    rank = x.ndim - 2
    taps = _taps(call, weight, rank, given.kernel_shape)
    (steps, gaps), more = given.steps_and_gaps(rank), output_padding or (0,) * rank
    if any(len(each) != rank for each in (steps, gaps, more)):
        raise call.invalid(f"has strides, dilations or output_padding for other than {rank} axes")
    axes = [Phases(*axis, 0, 0) for axis in zip(taps, steps, gaps, strict=True)]
    if output_shape is not None:
        cuts = _cuts_for(call, x, axes, more, output_shape[-rank:], given.auto_pad)
    else:
        cuts = _cuts(call, axes, more, given.pads, given.auto_pad)
    phases = [
        replace(axis, padding=low, more=low - high + extra)
        for axis, (low, high), extra in zip(axes, cuts, more, strict=True)
    ]
    found = transposed(moveaxis(widened(x), 1, -1), widened(weight), phases, given.group)
    found = found if bias is None else found + widened(bias)
    return cast_to(moveaxis(found, -1, 1), x.dtype)


def _cuts(
    call: Call, axes: Sequence[Phases], more: Numbers, pads: Numbers | None, auto_pad: str
) -> list[tuple[int, int]]:
    """The places that are left out before and behind."""
    rank = len(axes)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        # As many places as the input has, times the stride; onnxruntime never adds any for that.
        totals = [axis.reach + extra - axis.stride for axis, extra in zip(axes, more, strict=True)]
        return [_halves(max(total, 0), auto_pad) for total in totals]
    if auto_pad not in ("NOTSET", "VALID") or (pads and len(pads) != 2 * rank):
        raise call.invalid(f"has auto_pad {auto_pad!r} and pads {pads}")
    given = pads if pads is not None and auto_pad == "NOTSET" else (0,) * (2 * rank)
    return [(given[axis], given[axis + rank]) for axis in range(rank)]


def _cuts_for(
    call: Call,
    x: Tensor,
    axes: Sequence[Phases],
    more: Numbers,
    wanted: Numbers,
    auto_pad: str,
) -> list[tuple[int, int]]:
    """What leaves as many places as are asked for."""
    sizes = [size.constant for size in x.shape[2:]]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        problem = "ConvTranspose to a fixed shape, of sizes that vary"
        raise active().refuse(problem, "give pads, or auto_pad")
    if len(wanted) != len(axes):
        raise call.invalid(f"has an output_shape for other than {len(axes)} axes")
    parts = zip(axes, known, more, wanted, strict=True)
    totals = [
        (size - 1) * axis.stride + axis.reach + extra - want for axis, size, extra, want in parts
    ]
    return [_halves(total, auto_pad) for total in totals]


def _halves(total: int, auto_pad: str) -> tuple[int, int]:
    """The larger one behind, for SAME_UPPER. Where places are lacking, they are all behind."""
    if total < 0:
        return 0, total
    small = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
    return small, total - small
