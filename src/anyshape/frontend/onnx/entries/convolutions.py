"""Convolutions. Channels are the second axis; the op of ours has them last."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.builder.conv import by_group
from anyshape.frontend.builder.conv import conv as conv_of
from anyshape.frontend.builder.convert import cast_to, widened
from anyshape.frontend.builder.movement import moveaxis
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.elementwise import same_dtype
from anyshape.sym import Dim

Numbers = tuple[int, ...]


@entry("Conv")
def conv(
    call: Call,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    same_dtype(call, x, weight)
    rank = x.ndim - 2
    taps = _taps(call, weight, rank, kernel_shape)
    steps, gaps = strides or (1,) * rank, dilations or (1,) * rank
    widths = widths_of(call, x, taps, steps, gaps, pads, auto_pad)
    apart = by_group(widened(weight), group)
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
