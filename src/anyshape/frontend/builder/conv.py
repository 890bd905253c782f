"""Convolutions of traced tensors."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.builder.convert import ArrayLike, promoted
from anyshape.frontend.builder.movement import expand_dims, reshape, squeeze, transpose
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

Pairs = Sequence[tuple[int, int]]


def conv(
    x: ArrayLike,
    weights: ArrayLike,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> Tensor:
    """Convolution over the axes of `x` between the first, the batch, and the last, the channels.

    `weights` are [groups, taps…, in, out], `in` and `out` being the channels of a group. For each
    spatial axis there is a stride, a dilation, and a pair of zeros to pad with in front and behind.
    """
    left, right = promoted(x, weights)
    rank = left.ndim - 2
    ones = (1,) * rank
    numbers = [strides or ones, dilations or ones, *zip(*(padding or [(0, 0)] * rank), strict=True)]
    idle = [axis for axis in range(rank) if _is_idle(left, right, numbers, axis)][: rank - 1]
    kept = [axis for axis in range(rank) if axis not in idle]
    attrs = {
        name: tuple(each[axis] for axis in kept)
        for name, each in zip(("strides", "dilations", "low", "high"), numbers, strict=True)
    }
    places = tuple(axis + 1 for axis in idle)
    found = active().emit("conv", squeeze(left, places), squeeze(right, places), **attrs)
    return expand_dims(found, places)


def _is_idle(x: Tensor, weights: Tensor, numbers: Sequence[Sequence[int]], axis: int) -> bool:
    """Whether an axis has one place and one tap: convolutions over a line come as images so."""
    _, _, low, high = numbers
    single = x.shape[axis + 1] == 1 and weights.shape[axis + 1] == 1
    return single and low[axis] == high[axis] == 0


def by_group(weight: Tensor, groups: int) -> Tensor:
    """Weights as torch and ONNX have them, [groups * out, in, taps…], in the order of `conv`."""
    outside, *rest = weight.shape
    apart = reshape(weight, (groups, outside // Dim.of(groups), *rest))
    return transpose(apart, (0, *range(3, apart.ndim), 2, 1))
