"""Short-time Fourier transforms, windows and mel weights, as torch has them.

Complex tensors have a last axis of two, as in `ash.fft`. Windows are periodic unless they are asked
to be symmetric; NumPy's (`hanning`, `hamming`, `blackman`, `bartlett`) are symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anyshape.frontend.builder import fft
from anyshape.frontend.builder.assemble import cut, pad, resized
from anyshape.frontend.builder.axes import Size, describe
from anyshape.frontend.builder.convert import ArrayLike, as_float, asarray, cast_to, size_value
from anyshape.frontend.builder.elementwise import abs as abs_
from anyshape.frontend.builder.elementwise import maximum as larger
from anyshape.frontend.builder.elementwise import where
from anyshape.frontend.builder.fold import overlap_add
from anyshape.frontend.builder.functions import cos, sqrt
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, swapaxes
from anyshape.frontend.builder.padding import continued
from anyshape.frontend.builder.pool import windows
from anyshape.frontend.builder.source import iota, ones
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import Array, DType, f32, f64
from anyshape.sym import Dim, maximum

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


# --- windows --------------------------------------------------------------------------------------


def general_cosine_window(
    n: Size, weights: Sequence[float], *, periodic: bool = True, dtype: DType = f32
) -> Tensor:
    """A sum of cosines with alternating signs, of 0, 1, … turns over the window."""
    turn = _places(n, periodic) * (2 * math.pi)
    total = weights[0] + turn * 0
    for number, weight in enumerate(weights[1:], 1):
        total = total + cos(turn * number) * (weight * (-1) ** number)
    return cast_to(_one_is_whole(n, total), dtype)


def hann_window(n: Size, *, periodic: bool = True, dtype: DType = f32) -> Tensor:
    return general_cosine_window(n, (0.5, 0.5), periodic=periodic, dtype=dtype)


def hamming_window(
    n: Size, *, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: DType = f32
) -> Tensor:
    return general_cosine_window(n, (alpha, beta), periodic=periodic, dtype=dtype)


def blackman_window(n: Size, *, periodic: bool = True, dtype: DType = f32) -> Tensor:
    return general_cosine_window(n, (0.42, 0.5, 0.08), periodic=periodic, dtype=dtype)


def bartlett_window(n: Size, *, periodic: bool = True, dtype: DType = f32) -> Tensor:
    """A triangle."""
    height = 1 - abs_(_places(n, periodic) * 2 - 1)
    return cast_to(_one_is_whole(n, height), dtype)


def kaiser_window(
    n: Size, *, periodic: bool = True, beta: float = 12.0, dtype: DType = f32
) -> Tensor:
    """By Bessel functions, with the least energy outside of a band."""
    side = _places(n, periodic) * 2 - 1
    height = bessel_i0(sqrt(larger(1 - side * side, 0)) * beta) / float(np.i0(beta))
    return cast_to(_one_is_whole(n, height), dtype)


def bessel_i0(x: Tensor) -> Tensor:
    """The modified Bessel function, by its series; for arguments up to about 40."""
    square = x * x * 0.25
    total = square * 0 + 1
    for k in range(80, 0, -1):
        total = total * square * (1 / (k * k)) + 1
    return total


def hanning(n: Size) -> Tensor:
    return hann_window(n, periodic=False)


def hamming(n: Size) -> Tensor:
    return hamming_window(n, periodic=False)


def blackman(n: Size) -> Tensor:
    return blackman_window(n, periodic=False)


def bartlett(n: Size) -> Tensor:
    return bartlett_window(n, periodic=False)


def kaiser(n: Size, beta: float) -> Tensor:
    return kaiser_window(n, periodic=False, beta=beta)


def _places(n: Size, periodic: bool) -> Tensor:
    """From 0 to 1, the end left out of a periodic window."""
    length = active().dim(n)
    last = length if periodic else maximum(length - 1, 1)
    return iota((length,), 0, f64) / size_value(last, f64)


def _one_is_whole(n: Size, window: Tensor) -> Tensor:
    """A window of one element lets it through."""
    length = active().dim(n)
    if length.constant is not None and length.constant != 1:
        return window
    is_one = broadcast_to(size_value(length, f64) < 2, window.shape)
    return where(is_one, ones(window.shape, f64), window)


# --- short-time transforms ------------------------------------------------------------------------


def stft(
    x: ArrayLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ArrayLike | None = None,
    *,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> Tensor:
    """Transforms of windows of […, samples]: complex […, frequencies, frames]."""
    signal = as_float(x)
    if center:
        signal = _around(signal, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    frames = windows(signal, n_fft, hop)  # […, frames, n_fft]
    shape = _window_of(window, n_fft, win_length, frames.dtype)
    frames = frames if shape is None else frames * shape
    norm = "ortho" if normalized else None
    found = fft.rfft(frames, norm=norm) if onesided else fft.fft(with_zeros(frames), norm=norm)
    return swapaxes(found, -3, -2)


def istft(
    x: ArrayLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ArrayLike | None = None,
    *,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Size | None = None,
) -> Tensor:
    """The samples that `stft` was made of: frames added up, over the sum of squared windows."""
    frames = swapaxes(as_float(x), -3, -2)
    hop = n_fft // 4 if hop_length is None else hop_length
    norm = "ortho" if normalized else None
    lines = fft.irfft(frames, n_fft, norm=norm) if onesided else fft.ifft(frames, norm=norm)[..., 0]
    shape = _window_of(window, n_fft, win_length, lines.dtype)
    shape = ones((n_fft,), lines.dtype) if shape is None else shape
    total = overlap_add(lines * shape, hop)
    squares = broadcast_to(expand_dims(shape * shape, 0), (lines.shape[-2], n_fft))
    whole = total / overlap_add(squares, hop)
    start = Dim.of(n_fft // 2 if center else 0)
    size = whole.shape[-1]
    end = size - start if length is None else None
    kept = cut(whole, whole.ndim - 1, start, size if end is None else end)
    return kept if length is None else resized(kept, kept.ndim - 1, length)


def _around(signal: Tensor, width: int, mode: str) -> Tensor:
    side, axis = Dim.of(width), signal.ndim - 1
    if mode != "constant":
        return continued(signal, axis, side, side, mode)
    return pad(signal, [(0, 0)] * axis + [(width, width)])


def _window_of(
    window: ArrayLike | None, n_fft: int, win_length: int | None, dtype: DType
) -> Tensor | None:
    """As long as a transform, with zeros on both sides."""
    if window is None and win_length in (None, n_fft):
        return None
    length = n_fft if win_length is None else win_length
    given = ones((length,), dtype) if window is None else cast_to(asarray(window), dtype)
    if given.ndim != 1 or given.shape[0] != Dim.of(length):
        fix = f"give a window of {length} elements"
        raise active().refuse(f"a window of {describe(given)} for {length} samples", fix)
    left = (n_fft - length) // 2
    return given if length == n_fft else pad(given, [(left, n_fft - length - left)])


def with_zeros(x: Tensor) -> Tensor:
    """Complex numbers without imaginary parts."""
    return pad(expand_dims(x, -1), [(0, 0)] * x.ndim + [(0, 1)])


# --- mel weights ----------------------------------------------------------------------------------


def mel_weights(
    n_freqs: int,
    n_mels: int,
    sample_rate: float,
    f_min: float = 0.0,
    f_max: float | None = None,
    *,
    norm: str | None = None,
    mel_scale: str = "htk",
    dtype: DType = f32,
) -> Tensor:
    """Triangles at equal distances of pitch over frequencies: [n_freqs, n_mels]."""
    highest = sample_rate / 2
    frequencies = np.linspace(0, highest, n_freqs)
    low, high = _mel(f_min, mel_scale), _mel(highest if f_max is None else f_max, mel_scale)
    corners = _hertz(np.linspace(low, high, n_mels + 2), mel_scale)
    widths = np.diff(corners)
    slopes = corners[None, :] - frequencies[:, None]
    falling, rising = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    triangles = np.maximum(0, np.minimum(falling, rising))
    if norm == "slaney":
        triangles = triangles * (2.0 / (corners[2:] - corners[:-2]))
    elif norm is not None:
        raise active().refuse(f"mel weights with norm={norm!r}", "use None or 'slaney'")
    return asarray(triangles.astype(dtype.numpy))


_STEP, _BREAK = 200 / 3, 1000.0  # of Slaney's scale: hertz of a mel, and where it becomes a power
_LOG_STEP = math.log(6.4) / 27


def _mel(hertz: float, scale: str) -> float:
    if scale == "htk":
        return 2595 * math.log10(1 + hertz / 700)
    if scale != "slaney":
        raise active().refuse(f"mel weights with mel_scale={scale!r}", "use 'htk' or 'slaney'")
    linear = hertz / _STEP
    return linear if hertz < _BREAK else _BREAK / _STEP + math.log(hertz / _BREAK) / _LOG_STEP


def _hertz(mels: Array, scale: str) -> Array:
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    first = _BREAK / _STEP
    beyond = _BREAK * np.exp(_LOG_STEP * (np.maximum(mels, first) - first))
    return np.where(mels < first, mels * _STEP, beyond)
