"""Convolutions of traced tensors."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.builder.convert import ArrayLike, promoted
from anyshape.frontend.builder.movement import reshape, transpose
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
    ones = (1,) * (left.ndim - 2)
    low, high = zip(*(padding or [(0, 0)] * len(ones)), strict=True)
    numbers = {"strides": strides or ones, "dilations": dilations or ones, "low": low, "high": high}
    attrs = {name: tuple(given) for name, given in numbers.items()}
    return active().emit("conv", left, right, **attrs)


def by_group(weight: Tensor, groups: int) -> Tensor:
    """Weights as torch and ONNX have them, [groups * out, in, taps…], in the order of `conv`."""
    outside, *rest = weight.shape
    apart = reshape(weight, (groups, outside // Dim.of(groups), *rest))
    return transpose(apart, (0, *range(3, apart.ndim), 2, 1))
