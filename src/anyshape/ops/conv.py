"""Convolutions over one to three spatial axes, channels last.

    result[n, p, g * out + o] = sum over taps k and channels i of
        x[n, p * stride + k * dilation - low, g * in + i] * weights[g, k, i, o]

`x` is 0 outside of its spatial axes, as far as `low` and `high` say. Groups are an axis of the
weights: a plain convolution has one, a depthwise one has as many as there are channels. Other
layouts are transposes around the op, which kernels and passes see through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.mixing import Link, Sees
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import NUMERIC, Array, Shape, f32
from anyshape.ops.elementwise import widened
from anyshape.ops.rules import SameDType
from anyshape.sym import Dim

MOST_SPATIAL_AXES = 3

TILES = (2, 4)
"""Places of a tile along an axis, for which there are schemes with fewer multiplications."""


@dataclass(frozen=True)
class ConvAttrs(Attrs):
    """A number for each spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def conv_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: ConvAttrs, /
) -> tuple[Shape, ...]:
    x, weights = shapes
    rank = len(x) - 2
    if not 1 <= rank <= MOST_SPATIAL_AXES or len(weights) != rank + 3:
        ranks = f"x and weights have ranks {len(x)} and {len(weights)}"
        raise ctx.refuse_operand(f"{ranks}, expected n + 2 and n + 3 for n = 1, 2 or 3")
    _check_numbers(ctx, attrs, rank)
    groups, *taps, inside, outside = weights
    ctx.require_equal(x[-1], groups * inside, "x must have the channels of all groups")
    axes = zip(x[1:-1], taps, attrs.strides, attrs.dilations, attrs.low, attrs.high, strict=True)
    return ((x[0], *(_places(ctx, *axis) for axis in axes), groups * outside),)


def _check_numbers(ctx: ShapeContext, attrs: ConvAttrs, rank: int) -> None:
    """Strides and dilations start at 1, padding at 0."""
    lists = (attrs.strides, 1), (attrs.dilations, 1), (attrs.low, 0), (attrs.high, 0)
    for name, (given, least) in zip(("strides", "dilations", "low", "high"), lists, strict=True):
        if len(given) != rank or any(number < least for number in given):
            problem = f"is {list(given)}, expected {rank} numbers of {least} or more"
            raise ctx.refuse_attribute(name, problem)


def _places(
    ctx: ShapeContext, size: Dim, taps: Dim, stride: int, dilation: int, low: int, high: int
) -> Dim:
    """How many places of an axis the kernel fits."""
    reach, padded = dilation * (taps - 1), size + low + high
    ctx.require(Dim.of(1) <= taps, "the kernel must have a tap along each axis")
    ctx.require(
        reach < padded, f"the kernel reaches over {reach + 1} places, and the input has {padded}"
    )
    return (padded - reach - 1) // stride + 1


def _conv(call: Call[ConvAttrs]) -> Array:
    def sums(x: Array, weights: Array) -> Any:
        return _sum_over_taps(x, weights, call.attrs, call.result.shape)

    return widened(sums, call)


def _sum_over_taps(x: Array, weights: Array, attrs: ConvAttrs, shape: Shape) -> Array:
    groups, *taps, inside, outside = weights.shape
    padded = np.pad(x, ((0, 0), *zip(attrs.low, attrs.high, strict=True), (0, 0)))
    sizes = tuple(int(size) for size in shape[1:-1])
    total = np.zeros((x.shape[0], *sizes, groups, outside), x.dtype)
    for tap in product(*map(range, taps)):
        axes = zip(tap, attrs.dilations, attrs.strides, sizes, strict=True)
        places = tuple(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, s, n in axes)
        met = padded[(slice(None), *places)].reshape((x.shape[0], *sizes, groups, inside))
        total += np.einsum("...gi,gio->...go", met, weights[(slice(None), *tap)], dtype=x.dtype)
    return total.reshape((x.shape[0], *sizes, groups * outside))


def _conv_mixing(shapes: Sequence[Shape], attrs: ConvAttrs, /) -> tuple[Link, ...]:
    """`x` is 0 outside of its spatial axes, wherever they end."""
    spatial = range(1, len(shapes[0]) - 1)
    return (Link((0, None), 0), *(Link((axis, None), axis, Sees.FILLED) for axis in spatial))


conv = register(
    OpDef(
        "conv",
        Signature(("x", "weights")),
        ConvAttrs,
        SameDType(NUMERIC),
        conv_shape,
        reference=_conv,
        traits=frozenset({Trait.CONTRACTION}),
        mixing=_conv_mixing,
        doc="`x` is [batch, spatial…, channels], `weights` are [groups, taps…, in, out].",
    )
)


# --- with weights in two forms --------------------------------------------------------------------


@dataclass(frozen=True)
class WinogradAttrs(Attrs):
    """Padding for each of two axes, and the places of a tile along each of them."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    tile: int

    @property
    def conv(self) -> ConvAttrs:
        """Those of the convolution that it is."""
        return ConvAttrs((1, 1), (1, 1), self.low, self.high)


def _winograd_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: WinogradAttrs, /
) -> tuple[Shape, ...]:
    x, weights, points = shapes
    if attrs.tile not in TILES:
        raise ctx.refuse_attribute("tile", f"is {attrs.tile}, expected one of {list(TILES)}")
    if len(x) != 4 or len(weights) != 5 or weights[:3] != (1, 3, 3):
        raise ctx.refuse_operand("x and weights must be images, and one group of 3 x 3 taps")
    expected = Dim.of((attrs.tile + 2) ** 2), *weights[3:]
    if len(points) != len(expected):
        raise ctx.refuse_operand(f"points have rank {len(points)}, expected {len(expected)}")
    for found, size in zip(points, expected, strict=True):
        ctx.require_equal(found, size, "points must be those of a tile, with the weights' channels")
    return conv_shape(ctx, (x, weights), attrs.conv)


def _winograd(call: Call[WinogradAttrs]) -> Array:
    def sums(x: Array, weights: Array, _: Array) -> Any:
        return _sum_over_taps(x, weights, call.attrs.conv, call.result.shape)

    return widened(sums, call)


def _winograd_mixing(shapes: Sequence[Shape], attrs: WinogradAttrs, /) -> tuple[Link, ...]:
    return _conv_mixing(shapes[:2], attrs.conv)


winograd = register(
    OpDef(
        "winograd",
        Signature(("x", "weights", "points")),
        WinogradAttrs,
        SameDType((f32,)),
        _winograd_shape,
        reference=_winograd,
        traits=frozenset({Trait.CONTRACTION}),
        mixing=_winograd_mixing,
        doc="`conv` of x and weights. `points` are the weights [points, in, out] as "
        "`lower/winograd.py` transforms them, for kernels that multiply less.",
    )
)
