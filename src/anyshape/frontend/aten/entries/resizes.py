"""Interpolation of one, two or three axes, by sizes or by factors; `vec` has both in lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError
from anyshape.frontend.builder import resize
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

Factors = Sequence[float | None] | None


def resized_axes(
    x: Tensor, sizes: Sequence[Size] | None, factors: Factors, corners: bool, rank: int
) -> list[resize.Along]:
    """Either sizes or factors are given; torch passes on factors beside sizes that came of them."""
    extents = x.shape[-rank:]
    given = list(factors) if factors is not None else [None] * rank
    counts = (
        [Dim.of(size) for size in sizes]
        if sizes is not None
        else [_grown(extent, factor) for extent, factor in zip(extents, given, strict=True)]
    )
    _require_elements(x, counts)
    parts = zip(extents, counts, given, strict=True)
    return [resize.Along(*part, corners=corners) for part in parts]


def _require_elements(x: Tensor, counts: Sequence[Dim]) -> None:
    for size in (*x.shape[1:], *counts):
        active().require(size >= 1, "interpolation needs an element along each axis but the first")


_EXACT = 1 << 20
"""A factor that is a fraction over this: its product with a size is a float without rounding."""


def _grown(extent: Dim, factor: float | None) -> Dim:
    """The size that torch computes with floats, rounded down."""
    if factor is None or not (factor * _EXACT).is_integer() or factor * _EXACT > 1 << 31:
        raise NoEntryError
    return extent * int(factor * _EXACT) // _EXACT


def _by_sizes(along: resize.Interpolate, rank: int) -> Callable[..., Tensor]:
    """`(x, sizes, *factors)`."""

    def apply(call: Call, x: Tensor, sizes: Sequence[Size], *factors: float | None) -> Tensor:
        _check(x)
        return resize.resize(x, resized_axes(x, sizes, factors or None, False, rank), along)

    return apply


def _by_sizes_and_corners(along: resize.Interpolate, rank: int) -> Callable[..., Tensor]:
    """`(x, sizes, align_corners, *factors)`."""

    def apply(
        call: Call, x: Tensor, sizes: Sequence[Size], corners: bool, *factors: float | None
    ) -> Tensor:
        _check(x)
        return resize.resize(x, resized_axes(x, sizes, factors or None, corners, rank), along)

    return apply


def _by_lists(along: resize.Interpolate, rank: int) -> Callable[..., Tensor]:
    """`(x, sizes, [align_corners,] factors)`, of which one is None."""

    def apply(call: Call, x: Tensor, sizes: Sequence[Size] | None, *rest: Any) -> Tensor:
        _check(x)
        *corners, factors = rest
        return resize.resize(x, resized_axes(x, sizes, factors, any(corners), rank), along)

    return apply


def _check(x: Tensor) -> None:
    if not x.dtype.is_float:
        raise NoEntryError  # u8 images have arithmetic of their own in torch


_NEAREST = {"upsample_nearest": resize.nearest, "_upsample_nearest_exact": resize.nearest_exact}
_SMOOTH = {
    "upsample_linear1d": (resize.linear, 1), "upsample_bilinear2d": (resize.linear, 2),
    "upsample_trilinear3d": (resize.linear, 3), "upsample_bicubic2d": (resize.cubic, 2),
}  # fmt: skip

for _begin, _along in _NEAREST.items():
    for _rank in (1, 2, 3):
        TABLE[f"aten.{_begin}{_rank}d.default"] = _by_sizes(_along, _rank)
        TABLE[f"aten.{_begin}{_rank}d.vec"] = _by_lists(_along, _rank)
for _name, (_along, _rank) in _SMOOTH.items():
    TABLE[f"aten.{_name}.default"] = _by_sizes_and_corners(_along, _rank)
    TABLE[f"aten.{_name}.vec"] = _by_lists(_along, _rank)
