"""Convolutions as plain sums of products: right for every shape, dtype and layout.

It is the fallback and the yardstick; `families/conv` has kernels of register tiles.
"""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.types import wide_of
from anyshape.loop import Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.ops.conv import ConvAttrs, WinogradAttrs
from anyshape.sym import Dim, LessEqual


@rule("conv")
def conv(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    return _sum(low, node, node.attrs_as(ConvAttrs), index, conditions)


@rule("winograd")
def winograd(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """From the plain weights."""
    return _sum(low, node, node.attrs_as(WinogradAttrs).conv, index, conditions)


def _sum(
    low: Lowering, node: Node, attrs: ConvAttrs, index: Index, conditions: Conditions
) -> Scalar:
    x, weights = node.operands[:2]
    _, *taps, inside, outside = weights.tensor.shape
    dtype = node.result().tensor.dtype
    wide = wide_of(dtype)
    group, channel = index[-1] // outside, index[-1] % outside

    def element(chosen: list[Dim]) -> Scalar:
        *tap, i = chosen
        met = places_of(attrs, index[1:-1], tap)
        tests = tests_of(met, x.tensor.shape[1:-1])
        place = (index[0], *met, group * inside + i)
        factors = (
            low.at(x, place, (*conditions, *tests)),
            low.at(weights, (group, *tap, i, channel), conditions),
        )
        return low.apply("mul", [low.cast(factor, wide) for factor in factors], wide)

    return low.cast(low.accumulate("add", wide, [*taps, inside], index, element), dtype)


def places_of(attrs: ConvAttrs, result: Index, tap: Index | list[Dim]) -> Index:
    """What a tap meets along each spatial axis, padding included."""
    axes = zip(result, tap, attrs.strides, attrs.dilations, attrs.low, strict=True)
    return tuple(p * stride + k * dilation - low for p, k, stride, dilation, low in axes)


def tests_of(places: Index, sizes: Index) -> Conditions:
    """That they are no padding."""
    tests = (
        (LessEqual(Dim.of(0), i), LessEqual(i, n - 1)) for i, n in zip(places, sizes, strict=True)
    )
    return tuple(test for pair in tests for test in pair)
