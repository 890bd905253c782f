"""Fourier transforms as products with matrices of sines and cosines.

Angles are made of `k * n mod N` in whole numbers, so that they are as exact for long signals as for
short ones; sums are f64, for bins that cancel out. Complex numbers are pairs in a last axis of 2.
"""

from __future__ import annotations

import math

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.assemble import concat, pad, stack
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray, cast_to, size_value
from anyshape.frontend.builder.dot import matmul
from anyshape.frontend.builder.functions import cos, sin
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import moveaxis
from anyshape.frontend.builder.pool import windows
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.numbers import integers_of, sizes_of
from anyshape.ir.types import f64, i64
from anyshape.sym import Dim


def _matrices(length: Dim, columns: Dim, inverse: bool) -> tuple[Tensor, Tensor]:
    """[length, columns]: the real and the imaginary part of each root."""
    rows, across = arange(length).reshape((-1, 1)), arange(columns)
    step = cast_to(rows * across % ew.maximum(size_value(length, i64), 1), f64)
    turn = 2 * math.pi if inverse else -2 * math.pi
    angle = step * turn / size_value(length, f64)
    scale = size_value(length, f64) if inverse else asarray(1.0, f64)
    return cos(angle) / scale, sin(angle) / scale


def _transformed(x: Tensor, length: Dim, onesided: bool, inverse: bool) -> Tensor:
    """Along the axis before the last, which has 1 (real) or 2 (complex) parts."""
    columns = length // 2 + 1 if onesided and not inverse else length
    cosines, sines = _matrices(length, columns, inverse)
    wide = cast_to(x, f64)
    real = getitem(wide, (..., 0))
    parts = [matmul(real, cosines), matmul(real, sines)]
    if x.shape[-1] == 2:
        imaginary = getitem(wide, (..., 1))
        parts[0] = parts[0] - matmul(imaginary, sines)
        parts[1] = parts[1] + matmul(imaginary, cosines)
    return cast_to(stack(parts, axis=-1), x.dtype)


def _dft(
    call: Call, x: Tensor, length: Tensor | None, axis: int, onesided: bool, inverse: bool
) -> Tensor:
    place = normal_axis(axis, x.ndim)
    if x.shape[-1].constant is None:
        problem = f"{call.op} of {x.type}, which may be real or complex"
        raise active().refuse(problem, "declare the last size of its input: 1 or 2")
    if x.ndim < 2 or place == x.ndim - 1 or x.shape[-1] not in (1, 2):
        raise call.invalid(f"has an axis {axis} of {x.type}")
    signal = moveaxis(x, place, -2)
    whole = _whole(signal) if onesided and inverse else signal
    count = whole.shape[-2] if length is None else sizes_of(length)[0]
    found = _transformed(_of_length(whole, count), count, onesided, inverse)
    if onesided and inverse:
        found = getitem(found, (..., slice(0, 1)))
    return moveaxis(found, -2, place)


def _whole(x: Tensor) -> Tensor:
    """A signal of which one half is given: the other one is its mirror image."""
    count = x.shape[-2]
    places = arange(count - 2)
    index = size_value(count, i64) - 2 - places
    mirrored = getitem(x, (..., index, slice(None)))
    sign = cast_to(1 - 2 * arange(x.shape[-1]), x.dtype)
    return concat([x, mirrored * sign], axis=-2)


def _of_length(x: Tensor, count: Dim) -> Tensor:
    """Cut, or zeros behind."""
    size = x.shape[-2]
    if count == size:
        return x
    if active().proves(count >= size):
        return pad(x, [*[(0, 0)] * (x.ndim - 2), (0, count - size), (0, 0)])
    if not active().proves(count <= size):
        x = pad(x, [*[(0, 0)] * (x.ndim - 2), (0, count), (0, 0)])
    return getitem(x, (..., slice(0, count), slice(None)))


@entry("DFT", since=17)
def dft_of_opset_17(
    call: Call,
    x: Tensor,
    length: Tensor | None = None,
    *,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    return _dft(call, x, length, axis, bool(onesided), bool(inverse))


@entry("DFT", since=20)
def dft(
    call: Call,
    x: Tensor,
    length: Tensor | None = None,
    axis: Tensor | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    place = -2 if axis is None else integers_of(axis, "axis of a DFT")[0]
    return _dft(call, x, length, place, bool(onesided), bool(inverse))


@entry("STFT", since=17)
def stft(
    call: Call,
    x: Tensor,
    frame_step: Tensor,
    window: Tensor | None = None,
    frame_length: Tensor | None = None,
    *,
    onesided: int = 1,
) -> Tensor:
    """[batch, frames, bins, 2]: the transform of each frame, times the window."""
    (step,) = integers_of(frame_step, "step of an STFT")
    if frame_length is not None:
        (size,) = sizes_of(frame_length)
    elif window is not None:
        size = window.shape[0]
    else:
        raise call.invalid("has neither a window nor a frame_length")
    parts = 1 if x.ndim == 2 else x.shape[2].constant
    if step < 1 or parts not in (1, 2):
        raise call.invalid(f"has a step of {step} over {x.type}")
    signal = x.reshape((*x.shape[:2], parts))
    frames = moveaxis(windows(moveaxis(signal, 1, -1), size, step), 1, -1)
    if window is not None:
        frames = frames * window.reshape((-1, 1))
    return _transformed(frames, size, bool(onesided), inverse=False)
