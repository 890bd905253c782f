"""Tensors read at places between elements, and windows put back together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError, entry
from anyshape.frontend.aten.entries.resizes import resized_axes
from anyshape.frontend.builder import antialias
from anyshape.frontend.builder import fold as folding
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.grid_sample import Mode, Padding, grid_sample
from anyshape.frontend.builder.tensor import Tensor
from anyshape.sym import Dim

_MODES: tuple[Mode, ...] = ("bilinear", "nearest", "bicubic")
_PADDINGS: tuple[Padding, ...] = ("zeros", "border", "reflection")


@entry(
    "aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"
)  # fmt: skip
def grid_sampler(
    call: Call, x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool
) -> Tensor:
    return grid_sample(x, grid, _MODES[mode], _PADDINGS[padding], align_corners)


# --- without aliasing -----------------------------------------------------------------------------


def _without_aliasing(weight: antialias.Filter, support: float) -> Callable[..., Tensor]:
    """`(x, sizes, align_corners, *factors)`."""

    def apply(
        call: Call, x: Tensor, sizes: Sequence[Size] | None, corners: bool, *factors: Any
    ) -> Tensor:
        if not x.dtype.is_float:
            raise NoEntryError  # u8 images have arithmetic of their own in torch
        listed = factors[0] if len(factors) == 1 else factors or None
        axes = resized_axes(x, sizes, listed, corners, 2)
        return antialias.resize_without_aliasing(x, axes, weight, support)

    return apply


for _name, _weight, _support in (
    ("bilinear", antialias.triangle, 1.0), ("bicubic", antialias.cubic, 2.0),
):  # fmt: skip
    for _overload in ("default", "vec"):
        _entry = _without_aliasing(_weight, _support)
        TABLE[f"aten._upsample_{_name}2d_aa.{_overload}"] = _entry


# --- windows --------------------------------------------------------------------------------------


@entry("aten.col2im.default")
def col2im(
    call: Call,
    x: Tensor,
    output_size: Sequence[Size],
    kernel_size: Sequence[Size],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    if not all(isinstance(size, int) for size in kernel_size):
        raise NoEntryError
    kernel = [int(size) for size in kernel_size]
    sizes = [Dim.of(size) for size in output_size]
    return folding.fold(x, sizes, kernel, stride, dilation, padding)
