"""Fourier transforms. A complex tensor is a real one whose last axis has two elements: the real and
the imaginary part (docs/design/0057).

Sums are scaled by nothing, by the length, or by its root. What a real transform goes back from has
no imaginary part at its first element, nor at its last one where the length is even: what stands
there is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import Array, Shape, f32, f64
from anyshape.ops.rules import SameDType
from anyshape.sym import Dim

Scaling = Literal["none", "length", "root"]


@dataclass(frozen=True)
class FftAttrs(Attrs):
    """The axis, of those before the last, whether it goes back, and what sums are divided by."""

    axis: int
    inverse: bool = False
    scaling: Scaling = "none"


@dataclass(frozen=True)
class RealFftAttrs(Attrs):
    """What sums are divided by."""

    scaling: Scaling = "none"


@dataclass(frozen=True)
class RealInverseFftAttrs(Attrs):
    """How long lines become, of half as many complex numbers and one, and the divisor."""

    length: Dim
    scaling: Scaling = "none"


# --- shapes ---------------------------------------------------------------------------------------


def fft_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: FftAttrs, /) -> tuple[Shape, ...]:
    (x,) = shapes
    _require_parts(ctx, x)
    ctx.check_axes("axis", (attrs.axis,), len(x) - 1)
    _require_length(ctx, x[attrs.axis])
    return (x,)


def real_fft_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: RealFftAttrs, /
) -> tuple[Shape, ...]:
    (x,) = shapes
    if not x:
        raise ctx.refuse_operand("x has no axis to transform")
    _require_length(ctx, x[-1])
    return ((*x[:-1], x[-1] // 2 + 1, Dim.of(2)),)


def real_inverse_fft_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: RealInverseFftAttrs, /
) -> tuple[Shape, ...]:
    (x,) = shapes
    _require_parts(ctx, x)
    if len(x) < 2:
        raise ctx.refuse_operand("x has no axis to transform")
    _require_length(ctx, attrs.length)
    why = f"a line of {attrs.length} comes from half as many and one"
    ctx.require_equal(x[-2], attrs.length // 2 + 1, why)
    return ((*x[:-2], attrs.length),)


def _require_parts(ctx: ShapeContext, x: Shape) -> None:
    if not x:
        raise ctx.refuse_operand("x has no axis for real and imaginary parts")
    ctx.require_equal(x[-1], Dim.of(2), "the last axis has real and imaginary parts")


def _require_length(ctx: ShapeContext, length: Dim) -> None:
    ctx.require(length >= 1, f"the length {length} of a transform must be positive")


# --- values ---------------------------------------------------------------------------------------

Norm = Literal["backward", "forward", "ortho"]

THERE: dict[str, Norm] = {"none": "backward", "length": "forward", "root": "ortho"}
"""NumPy's words for what is divided on the way there."""

BACK: dict[str, Norm] = {"none": "forward", "length": "backward", "root": "ortho"}
"""And on the way back."""


def transformed(x: Array, axis: int, inverse: bool, scaling: str) -> Array:
    """Of complex numbers, in f64."""
    numbers = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    flipped = numbers.conj() if inverse else numbers
    found = np.fft.fft(flipped, axis=axis, norm=THERE[scaling])
    return parts_of(found.conj() if inverse else found).astype(x.dtype)


def real_transformed(x: Array, scaling: str) -> Array:
    found = np.fft.rfft(x.astype(np.float64), axis=-1, norm=THERE[scaling])
    return parts_of(found).astype(x.dtype)


def real_inverse(x: Array, length: int, scaling: str) -> Array:
    numbers = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    return np.fft.irfft(numbers, length, axis=-1, norm=BACK[scaling]).astype(x.dtype)


def parts_of(numbers: Array) -> Array:
    return np.stack([np.real(numbers), np.imag(numbers)], -1)


def _fft(call: Call[FftAttrs]) -> Array:
    attrs = call.attrs
    return transformed(call.args[0], attrs.axis, attrs.inverse, attrs.scaling)


def _rfft(call: Call[RealFftAttrs]) -> Array:
    return real_transformed(call.args[0], call.attrs.scaling)


def _irfft(call: Call[RealInverseFftAttrs]) -> Array:
    return real_inverse(call.args[0], int(call.attrs.length), call.attrs.scaling)


# --- entries --------------------------------------------------------------------------------------

X = Signature(("x",))
DTYPES = SameDType((f32, f64))
ALONE = frozenset({Trait.ALONE})

fft = register(
    OpDef(
        "fft",
        X,
        FftAttrs,
        DTYPES,
        fft_shape,
        reference=_fft,
        traits=ALONE,
        doc="The Fourier transform of complex lines along `axis`, or the inverse one.",
    )
)
rfft = register(
    OpDef(
        "rfft",
        X,
        RealFftAttrs,
        DTYPES,
        real_fft_shape,
        reference=_rfft,
        traits=ALONE,
        doc="The first half of the Fourier transform of real lines, and the element between.",
    )
)
irfft = register(
    OpDef(
        "irfft",
        X,
        RealInverseFftAttrs,
        DTYPES,
        real_inverse_fft_shape,
        reference=_irfft,
        traits=ALONE,
        doc="The real lines of a given length that a half of a Fourier transform belongs to.",
    )
)
