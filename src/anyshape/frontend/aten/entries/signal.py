"""Fourier transforms, short-time ones and windows.

Real tensors that a complex transform is asked of get zeros for their imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.complex_tensors import PARTS, ComplexTensor, complex_entry
from anyshape.frontend.builder import fft as ft
from anyshape.frontend.builder import signal
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import cast_to
from anyshape.frontend.builder.signal import with_zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import FLOATS, DType, f32, f64
from anyshape.sym import Dim

Size = int | Dim
Number = Tensor | ComplexTensor
Transform = Callable[..., Tensor]


def _parts(x: Number, dtype: DType) -> Tensor:
    return cast_to(x.parts, dtype) if isinstance(x, ComplexTensor) else with_zeros(_real(x, dtype))


def _real(x: Number, dtype: DType) -> Tensor:
    if isinstance(x, ComplexTensor):
        raise NoEntryError
    return cast_to(x, dtype)


def _dtype_of(call: Call) -> DType:
    """Of the parts of the result, or of the real result."""
    meta = call.node.meta["val"].dtype
    found = PARTS.get(meta)
    if found is None and call.dtype not in (f32, f64):
        raise NoEntryError
    return call.dtype if found is None else found


def _to_complex(function: Transform, of_real: bool = False) -> Callable[..., ComplexTensor]:
    def apply(call: Call, x: Number, *args: Any, **kwargs: Any) -> ComplexTensor:
        operand = (_real if of_real else _parts)(x, _dtype_of(call))
        return ComplexTensor(function(operand, *_ours(args), **_named(kwargs)))

    return apply


def _to_real(function: Transform) -> Callable[..., Tensor]:
    def apply(call: Call, x: Number, *args: Any, **kwargs: Any) -> Tensor:
        return function(_parts(x, _dtype_of(call)), *_ours(args), **_named(kwargs))

    return apply


def _ours(args: Sequence[Any]) -> list[Any]:
    return [
        list(cast(Sequence[Any], arg)) if isinstance(arg, (list, tuple)) else arg for arg in args
    ]


def _named(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {{"dim": "axis"}.get(name, name): value for name, value in kwargs.items()}


def _over_axes(function: Transform) -> Transform:
    """torch's `dim` is `axes` where there may be several."""

    def apply(x: Tensor, s: Any = None, axis: Any = None, norm: str | None = None) -> Tensor:
        if axis is None and function in (ft.fft2, ft.ifft2, ft.rfft2, ft.irfft2):
            axis = (-2, -1)
        return function(x, s, axis, norm)

    return apply


for _name in ("fft", "ifft"):
    complex_entry(f"aten.fft_{_name}.default")(_to_complex(getattr(ft, _name)))
for _name in ("rfft", "ihfft"):
    complex_entry(f"aten.fft_{_name}.default")(_to_complex(getattr(ft, _name), of_real=True))
for _name in ("irfft", "hfft"):
    _back = _to_real(getattr(ft, _name))
    entry(f"aten.fft_{_name}.default")(complex_entry(f"aten.fft_{_name}.default")(_back))
for _name in ("fft2", "fftn", "ifft2", "ifftn"):
    complex_entry(f"aten.fft_{_name}.default")(_to_complex(_over_axes(getattr(ft, _name))))
for _name in ("rfft2", "rfftn"):
    _made = _to_complex(_over_axes(getattr(ft, _name)), of_real=True)
    complex_entry(f"aten.fft_{_name}.default")(_made)
for _name in ("irfft2", "irfftn"):
    _back = _to_real(_over_axes(getattr(ft, _name)))
    entry(f"aten.fft_{_name}.default")(complex_entry(f"aten.fft_{_name}.default")(_back))


# --- as decompositions end with them --------------------------------------------------------------

_NORMS = ("backward", "ortho", "forward")  # by torch's number, on the way there


def _inverse_norm(number: int) -> str:
    return ("forward", "ortho", "backward")[number]


@complex_entry("aten._fft_c2c.default")
def complex_to_complex(
    call: Call, x: ComplexTensor, dim: Sequence[int], normalization: int, forward: bool
) -> ComplexTensor:
    norm = _NORMS[normalization] if forward else _inverse_norm(normalization)
    return ComplexTensor((ft.fftn if forward else ft.ifftn)(x.parts, None, list(dim), norm))


@complex_entry("aten._fft_r2c.default")
def real_to_complex(
    call: Call, x: Tensor, dim: Sequence[int], normalization: int, onesided: bool
) -> ComplexTensor:
    norm = _NORMS[normalization]
    if onesided:
        return ComplexTensor(ft.rfftn(x, None, list(dim), norm))
    return ComplexTensor(ft.fftn(with_zeros(x), None, list(dim), norm))


@complex_entry("aten._fft_c2r.default")
def complex_to_real(
    call: Call, x: ComplexTensor, dim: Sequence[int], normalization: int, last_dim_size: Size
) -> Tensor:
    sizes = [x.shape[normal_axis(each, x.ndim)] for each in dim[:-1]]
    return ft.irfftn(x.parts, [*sizes, last_dim_size], list(dim), _inverse_norm(normalization))


# --- order ----------------------------------------------------------------------------------------


@entry("aten.fft_fftshift.default")
def fftshift(call: Call, x: Tensor, dim: Any = None) -> Tensor:
    return ft.fftshift(x, dim)


@entry("aten.fft_ifftshift.default")
def ifftshift(call: Call, x: Tensor, dim: Any = None) -> Tensor:
    return ft.ifftshift(x, dim)


# --- short-time transforms ------------------------------------------------------------------------


@entry("aten.stft.default")
def stft_of_parts(call: Call, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return _stft(call, x, *args, **kwargs)


@complex_entry("aten.stft.default")
def stft(call: Call, x: Number, *args: Any, **kwargs: Any) -> ComplexTensor:
    return ComplexTensor(_stft(call, x, *args, **kwargs))


def _stft(
    call: Call,
    x: Number,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | ComplexTensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    real = _real(x, _dtype_of(call))
    if isinstance(window, ComplexTensor) or align_to_window or not _are_numbers(n_fft, hop_length):
        raise NoEntryError
    return signal.stft(
        real, n_fft, hop_length, win_length, window, center=False, normalized=normalized,
        onesided=onesided is not False,
    )  # fmt: skip


@complex_entry("aten.istft.default")
def istft(
    call: Call,
    x: ComplexTensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | ComplexTensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Size | None = None,
    return_complex: bool = False,
) -> Tensor:
    if isinstance(window, ComplexTensor) or return_complex or not _are_numbers(n_fft, hop_length):
        raise NoEntryError
    sided = onesided is not False if onesided is not None else x.shape[-2] != Dim.of(n_fft)
    return signal.istft(
        x.parts, n_fft, hop_length, win_length, window, center=center, normalized=normalized,
        onesided=sided, length=length,
    )  # fmt: skip


def _are_numbers(*sizes: object) -> bool:
    return all(size is None or isinstance(size, int) for size in sizes)


# --- windows --------------------------------------------------------------------------------------


def _window(function: Transform, *names: str) -> Callable[..., Tensor]:
    def apply(call: Call, n: Size, *numbers: Any, **_: Any) -> Tensor:
        if call.dtype not in FLOATS:
            raise NoEntryError
        given = dict(zip(("periodic", *names), numbers, strict=False))
        return function(n, dtype=call.dtype, **given)

    return apply


for _name, _function, _more, _overloads in (
    ("hann", signal.hann_window, (), ()),
    ("hamming", signal.hamming_window, ("alpha", "beta"),
     ("periodic_alpha", "periodic_alpha_beta")),
    ("blackman", signal.blackman_window, (), ()),
    ("bartlett", signal.bartlett_window, (), ()),
    ("kaiser", signal.kaiser_window, ("beta",), ("beta",)),
):  # fmt: skip
    for _overload in ("default", "periodic", *_overloads):
        entry(f"aten.{_name}_window.{_overload}")(_window(_function, *_more))
