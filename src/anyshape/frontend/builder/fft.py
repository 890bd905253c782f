"""`ash.fft`: Fourier transforms, under NumPy's and torch's names.

A complex tensor is a real one with a last axis of two, real and imaginary parts, as
`torch.view_as_real` has it; axes are counted without that one. `n` cuts lines, or continues them
with zeros. `norm` is where sums are divided by the length: `backward` (the default), `forward`, or
by its root on both ways, `ortho`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyshape.frontend.builder.assemble import cut, resized, stack
from anyshape.frontend.builder.axes import Size, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_float, size_value, widened
from anyshape.frontend.builder.movement import moveaxis
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import f32
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Axes = int | Sequence[int]
Sizes = Sequence[Size]

_SCALINGS: dict[tuple[str | None, bool], str] = {
    (None, False): "none", ("backward", False): "none", ("forward", False): "length",
    (None, True): "length", ("backward", True): "length", ("forward", True): "none",
    ("ortho", False): "root", ("ortho", True): "root",
}  # fmt: skip


def _scaling(norm: str | None, inverse: bool) -> str:
    found = _SCALINGS.get((norm, inverse))
    if found is None:
        fix = "use 'backward', 'forward' or 'ortho'"
        raise active().refuse(f"a transform with norm={norm!r}", fix)
    return found


# --- one axis -------------------------------------------------------------------------------------


def fft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform of complex lines."""
    return _complex(x, n, axis, norm, inverse=False)


def ifft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform of complex lines."""
    return _complex(x, n, axis, norm, inverse=True)


def _complex(x: ArrayLike, n: Size | None, axis: int, norm: str | None, inverse: bool) -> Tensor:
    parts = widened(as_float(x))
    place = normal_axis(axis, parts.ndim - 1)
    lines = resized(parts, place, n)
    scaling = _scaling(norm, inverse)
    return active().emit("fft", lines, axis=place, inverse=inverse, scaling=scaling)


def rfft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real lines, and the element between: the other half
    mirrors it."""
    real = widened(as_float(x))
    place = normal_axis(axis, real.ndim)
    lines = moveaxis(resized(real, place, n), place, -1)
    found = active().emit("rfft", lines, scaling=_scaling(norm, False))
    return moveaxis(found, real.ndim - 1, place)


def irfft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The real lines, of an even length if `n` is not given, that a half transform belongs to."""
    parts = widened(as_float(x))
    place = normal_axis(axis, parts.ndim - 1)
    length = (parts.shape[place] - 1) * 2 if n is None else active().dim(n)
    halves = moveaxis(resized(parts, place, length // 2 + 1), place, -2)
    found = active().emit("irfft", halves, length=length, scaling=_scaling(norm, True))
    return moveaxis(found, -1, place)


def hfft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of lines whose other half mirrors them."""
    return irfft(conjugate(widened(as_float(x))), n, axis, _other_way(norm))


def ihfft(x: ArrayLike, n: Size | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The half of a line whose transform is real."""
    return conjugate(rfft(x, n, axis, _other_way(norm)))


def _other_way(norm: str | None) -> str | None:
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def conjugate(parts: Tensor) -> Tensor:
    return stack([parts[..., 0], -parts[..., 1]], -1)


# --- several axes ---------------------------------------------------------------------------------


def fftn(
    x: ArrayLike, s: Sizes | None = None, axes: Axes | None = None, norm: str | None = None
) -> Tensor:
    """Along all axes, or those that are given, or as many of the last as there are sizes."""
    return _along_all(widened(as_float(x)), s, axes, norm, inverse=False)


def ifftn(
    x: ArrayLike, s: Sizes | None = None, axes: Axes | None = None, norm: str | None = None
) -> Tensor:
    return _along_all(widened(as_float(x)), s, axes, norm, inverse=True)


def rfftn(
    x: ArrayLike, s: Sizes | None = None, axes: Axes | None = None, norm: str | None = None
) -> Tensor:
    """Of a real tensor: the last of the axes has half of the elements, and one."""
    real = widened(as_float(x))
    places, sizes = _places(real.ndim, s, axes)
    found = rfft(real, sizes[-1], places[-1], norm)
    return _along_all(found, sizes[:-1], places[:-1], norm, inverse=False)


def irfftn(
    x: ArrayLike, s: Sizes | None = None, axes: Axes | None = None, norm: str | None = None
) -> Tensor:
    parts = widened(as_float(x))
    places, sizes = _places(parts.ndim - 1, s, axes)
    found = _along_all(parts, sizes[:-1], places[:-1], norm, inverse=True)
    return irfft(found, sizes[-1], places[-1], norm)


def fft2(
    x: ArrayLike, s: Sizes | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Tensor:
    return fftn(x, s, axes, norm)


def ifft2(
    x: ArrayLike, s: Sizes | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Tensor:
    return ifftn(x, s, axes, norm)


def rfft2(
    x: ArrayLike, s: Sizes | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Tensor:
    return rfftn(x, s, axes, norm)


def irfft2(
    x: ArrayLike, s: Sizes | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Tensor:
    return irfftn(x, s, axes, norm)


def _along_all(
    parts: Tensor,
    s: Sequence[Size | None] | None,
    axes: Axes | None,
    norm: str | None,
    inverse: bool,
) -> Tensor:
    places, sizes = _places(parts.ndim - 1, s, axes)
    for place, size in zip(places, sizes, strict=True):
        parts = _complex(parts, size, place, norm, inverse)
    return parts


def _places(
    rank: int, s: Sequence[Size | None] | None, axes: Axes | None
) -> tuple[list[int], list[Size | None]]:
    """The axes, and a size for each, or None."""
    if axes is None:
        count = rank if s is None else len(s)
        axes = range(rank - count, rank)
    given = [axes] if isinstance(axes, int) else list(axes)
    sizes: list[Size | None] = [None] * len(given) if s is None else list(s)
    if len(sizes) != len(given):
        fix = "give one size for each axis"
        raise active().refuse(f"{len(sizes)} sizes for transforms along {len(given)} axes", fix)
    whole = [None if isinstance(size, int) and size == -1 else size for size in sizes]
    return [normal_axis(axis, rank) for axis in given], whole


# --- order and frequencies ------------------------------------------------------------------------


def fftshift(x: Tensor, axes: Axes | None = None) -> Tensor:
    """Lines of any tensor turned so that the middle comes first."""
    return _turned(x, axes, forward=True)


def ifftshift(x: Tensor, axes: Axes | None = None) -> Tensor:
    return _turned(x, axes, forward=False)


def _turned(x: Tensor, axes: Axes | None, forward: bool) -> Tensor:
    places, _ = _places(x.ndim, None, axes)
    for place in places:
        size = x.shape[place]
        first = (size + 1) // 2 if forward else size // 2
        parts = cut(x, place, first, size), cut(x, place, Dim.of(0), first)
        x = active().emit("concat", *parts, axis=place)
    return x


def fftfreq(n: Size, d: float = 1.0) -> Tensor:
    """The frequencies of a transform's elements."""
    length = active().dim(n)
    first = arange((length + 1) // 2).astype(f32)
    last = arange(-(length // 2), 0).astype(f32)
    return active().emit("concat", first, last, axis=0) / (size_value(length, f32) * d)


def rfftfreq(n: Size, d: float = 1.0) -> Tensor:
    length = active().dim(n)
    return arange(length // 2 + 1).astype(f32) / (size_value(length, f32) * d)
