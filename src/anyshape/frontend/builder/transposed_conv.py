"""Transposed convolutions as plain ones: all phases of the stride are channels of one result.

A place `s * q + r` of the result, with r below the stride s, is reached by the taps r + s * j from
the places q - j of the input: the same window of the input for every phase r. So the weights of all
phases lie beside each other as output channels, a convolution of stride 1 computes every phase of
every q, and the phases are then put between each other. Taps that a phase lacks are zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyshape.frontend.builder import assemble
from anyshape.frontend.builder.conv import conv
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import transpose
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Phases:
    """One spatial axis: its taps, and how they go into phases."""

    taps: int
    stride: int
    dilation: int
    padding: int
    more: int  # places behind those that are left without as much padding there; may be negative

    @property
    def reach(self) -> int:
        """Places that one of the input reaches."""
        return self.dilation * (self.taps - 1) + 1

    @property
    def window(self) -> int:
        """Taps of each phase."""
        return -(-self.reach // self.stride)

    @property
    def missing(self) -> int:
        """Places that are asked for behind those that phases have."""
        return max(0, self.more - self.padding - (self.window * self.stride - self.reach))

    def places(self, size: Dim) -> Dim:
        """Of the result."""
        return (size - 1) * self.stride + self.reach - 2 * self.padding + self.more


def transposed(x: Tensor, weight: Tensor, axes: Sequence[Phases], groups: int) -> Tensor:
    """[n, places…, in] and [in, out / groups, taps…] to [n, places…, out]."""
    weights = _of_phases(weight, axes, groups)
    window = [(axis.window - 1, axis.window - 1) for axis in axes]
    phases = conv(x, weights, padding=window)
    whole = _between(phases, axes, groups)
    rank = len(axes)
    padded = assemble.pad(whole, [(0, 0), *((0, axis.missing) for axis in axes), (0, 0)])
    sizes = [axis.places(size) for axis, size in zip(axes, x.shape[1 : 1 + rank], strict=True)]
    for size in sizes:
        active().require(size >= 1, f"transposed convolution: there must be a place, not {size}")
    cut = (slice(a.padding, size + a.padding) for a, size in zip(axes, sizes, strict=True))
    return getitem(padded, (slice(None), *cut))


def _of_phases(weight: Tensor, axes: Sequence[Phases], groups: int) -> Tensor:
    """To [groups, window…, in, phases… * out], the last tap of a window first."""
    inside, outside = weight.shape[0] // Dim.of(groups), weight.shape[1]
    apart = weight.reshape((groups, inside, *weight.shape[1:]))
    for number, axis in enumerate(axes):
        apart = _spread(apart, 3 + 2 * number, axis)
    rank = len(axes)
    windows, phases = (tuple(range(first, 3 + 2 * rank, 2)) for first in (3, 4))
    ordered = transpose(apart, (0, *windows, 1, *phases, 2))
    ordered = active().emit("reverse", ordered, axes=tuple(range(1, 1 + rank)))
    columns = outside * Dim.of(_count(axes))
    return ordered.reshape((groups, *(axis.window for axis in axes), inside, columns))


def _count(axes: Sequence[Phases]) -> int:
    """Phases of all axes together."""
    return math.prod(axis.stride for axis in axes)


def _spread(weight: Tensor, at: int, axis: Phases) -> Tensor:
    """The taps of one axis as [window, phases], zeros where there are none."""
    before, after = weight.shape[:at], weight.shape[at + 1 :]
    if axis.dilation > 1:
        weight = _padded(weight.reshape((*before, axis.taps, 1, *after)), at + 1, axis.dilation - 1)
        weight = weight.reshape((*before, axis.taps * axis.dilation, *after))
        weight = getitem(weight, (*(slice(None),) * at, slice(0, axis.reach)))
    whole = _padded(weight, at, axis.window * axis.stride - axis.reach)
    return whole.reshape((*before, axis.window, axis.stride, *after))


def _padded(x: Tensor, at: int, count: int) -> Tensor:
    """Zeros at the end of an axis."""
    return assemble.pad(x, [(0, count if axis == at else 0) for axis in range(x.ndim)])


def _between(x: Tensor, axes: Sequence[Phases], groups: int) -> Tensor:
    """[n, q…, groups * phases… * out] to [n, q * phases…, groups * out]."""
    rank, strides = len(axes), [axis.stride for axis in axes]
    outside = x.shape[-1] // Dim.of(groups * _count(axes))
    apart = x.reshape((*x.shape[:-1], groups, *strides, outside))
    pairs = (place for n in range(rank) for place in (1 + n, 2 + rank + n))
    ordered = transpose(apart, (0, *pairs, 1 + rank, 2 + 2 * rank))
    sizes = (q * s for q, s in zip(x.shape[1 : 1 + rank], strides, strict=True))
    return ordered.reshape((x.shape[0], *sizes, outside * groups))
