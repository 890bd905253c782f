"""Convolutions of numbers that stand for others become convolutions of integers, as products do.

    conv(x - zx, w - zw)      conv(pad(x, zx), w) - zx * (sums of w - k * zw)
                                                  - zw * conv(pad(x, zx), ones)

Padding stands for 0, so it is `zx` in bytes: a padding of its own, which kernels have around what
they read (`families/conv/band.py`). All taps of a place are then multiplied, at edges too, and what
is taken from sums is the same at each place. Weights whose zero points leave them in i8, as those
of 128 in u8, have none afterwards; others need the sums of what each place meets, a convolution of
one channel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from anyshape.families.conv.match import MOST_NAMED_TAPS
from anyshape.ir.build import Builder
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.types import Array, DType, f32, i32
from anyshape.ops.conv import ConvAttrs
from anyshape.ops.known import CAST, CONV, RESHAPE
from anyshape.passes.byte_operands import (
    DEEPEST,
    HALF,
    less_zero_of_x,
    scaled,
    shifted,
    unsigned,
)
from anyshape.passes.quanta import (
    Quanta,
    WeightQuanta,
    known_numbers,
    quanta_of,
    weight_quanta,
)
from anyshape.sym import Dim

LEAST, GREATEST = -HALF, HALF - 1


@dataclass(frozen=True)
class _Convolution:
    """A convolution, and its operands as far as they are quantised."""

    conv: Node
    x: Quanta | None
    w: WeightQuanta | None

    @property
    def attrs(self) -> ConvAttrs:
        return self.conv.attrs_as(ConvAttrs)

    @property
    def is_float(self) -> bool:
        return self.conv.result().tensor.dtype.is_float

    @property
    def weights(self) -> WeightQuanta:
        assert self.w is not None
        return self.w

    @property
    def is_padded(self) -> bool:
        return any((*self.attrs.low, *self.attrs.high))

    @property
    def is_grouped(self) -> bool:
        return self.weights.quanta.shape[0] != 1

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is by itself, with one result."""
        return self.is_grouped and self.weights.quanta.shape[-2:] == (1, 1)

    @property
    def has_pairs(self) -> bool:
        """Whether a kernel multiplies its taps in pairs of 16 bits."""
        return self.is_depthwise and self.depth <= MOST_NAMED_TAPS and self.is_narrow

    @property
    def is_narrow(self) -> bool:
        """Whether 16 bits hold its weights less their zero points."""
        weights, limits = self.weights, np.iinfo(np.int16)
        numbers = weights.quanta - weights.zero.astype(np.int64)
        return bool(((limits.min <= numbers) & (numbers <= limits.max)).all())

    @property
    def has_byte_around(self) -> bool:
        """Whether the zero point of its input is one of the numbers that bytes have."""
        assert self.x is not None
        dtype, zero = self.x.quanta.tensor.dtype, self.x.zero
        if isinstance(zero, int):
            return int(dtype.lowest) <= zero <= int(dtype.highest)
        while zero.node.op in (CAST, RESHAPE) and zero.tensor.dtype is not dtype:
            zero = zero.node.operands[0]
        return zero.tensor.dtype is dtype

    @property
    def summed(self) -> tuple[int, ...]:
        """Axes of the weights: taps and input channels."""
        return tuple(range(1, self.weights.quanta.ndim - 1))

    @property
    def depth(self) -> int:
        return int(np.prod(self.weights.quanta.shape[1:-1]))

    def along_channels(self, numbers: Array) -> Array | None:
        """Numbers for each channel of the result; None if they differ along what is summed."""
        first = numbers[(slice(None), *(slice(0, 1) for _ in self.summed))]
        return first.reshape(-1) if (numbers == first).all() else None


Objection = tuple[str, Callable[[_Convolution], bool]]

OBJECTIONS: Final[tuple[Objection, ...]] = (
    ("its input is not quantised", lambda c: c.x is None),
    ("its weights are no quantised constant", lambda c: c.w is None),
    ("it is computed in 16 bits", lambda c: c.conv.result().tensor.dtype not in (f32, i32)),
    (
        "each channel is by itself, with many taps or several results",
        lambda c: c.is_grouped and c.weights.quanta.shape[-2] == 1 and not c.has_pairs,
    ),
    ("its weights are empty", lambda c: c.weights.quanta.size == 0),
    ("i32 does not hold its sums", lambda c: c.is_float and c.depth > DEEPEST),
    ("what is around its input is no byte", lambda c: c.is_padded and not c.has_byte_around),
    ("scales differ within a channel", lambda c: c.along_channels(c.weights.scale) is None),
    ("zero points differ within a channel", lambda c: c.along_channels(c.weights.zero) is None),
    (
        "weights in groups have zero points",
        lambda c: c.is_grouped and not c.is_depthwise and bool(_in_i8(c)[1].any()),
    ),
)
"""Why a convolution stays what it is; the first that holds is told."""


def convolution(node: Node, builder: Builder) -> tuple[Value | None, str] | None:
    """The convolution in integers, or why it is not; None if it is not quantised."""
    x, weights = node.operands
    quanta = _with_known_zero(quanta_of(x), builder.weights)
    found = _Convolution(node, quanta, weight_quanta(weights, builder.weights))
    if found.x is None and found.w is None:
        return None
    why = next((text for text, holds in OBJECTIONS if holds(found)), None)
    if why is not None:
        return None, f"a convolution stays as it is: {why}"
    assert found.x is not None
    dtypes = f"{found.x.quanta.tensor.dtype} x {found.weights.value.tensor.dtype}"
    text = f"a convolution of integers: {dtypes}, {found.depth} deep, summed in i32"
    return _integers(found, found.x, builder), text


def _integers(conv: _Convolution, x: Quanta, builder: Builder) -> Value:
    if conv.is_depthwise:
        bytes_, shift, (weights, zeros) = x.seen(x.quanta, builder), 0, _centered(conv)
    else:
        (bytes_, shift), (weights, zeros) = unsigned(x, builder), _in_i8(conv)
    wide, attrs = _padded(conv, bytes_, x, shift, builder)
    total = _conv(wide, weights, attrs, builder)
    sums = weights.sum(conv.summed, dtype=np.int32).reshape(-1) - np.int32(conv.depth) * zeros
    total = less_zero_of_x(total, x.zero, shift, sums, builder)
    if zeros.any():
        ones = np.ones((*weights.shape[:-1], 1), np.int8)
        met = _conv(wide, ones, attrs, builder)
        total = builder.emit("sub", total, builder.emit("mul", met, builder.constant(zeros)))
    if not conv.is_float:
        return total
    scale = conv.along_channels(conv.weights.scale)
    assert scale is not None
    return scaled(total, x.scale, scale, builder)


def _conv(wide: Value, weights: Array, attrs: ConvAttrs, builder: Builder) -> Value:
    constant = builder.emit("cast", builder.constant(np.ascontiguousarray(weights)), to=i32)
    return builder.node(CONV, [wide, constant], attrs).result()


def _centered(conv: _Convolution) -> tuple[Array, Array]:
    """Less their zero points, which 16 bits hold: none are left."""
    w = conv.weights
    numbers = (w.quanta.astype(np.int32) - w.zero).astype(np.int16)
    return numbers, np.zeros(numbers.shape[:1], np.int32)


def _in_i8(conv: _Convolution) -> tuple[Array, Array]:
    """The weights as i8, and the zero points that are left of them for each channel."""
    w = conv.weights
    zero = conv.along_channels(w.zero)
    assert zero is not None
    centered = w.quanta.astype(np.int64) - w.zero
    if centered.min() >= LEAST and centered.max() <= GREATEST:
        return centered.astype(np.int8), np.zeros(zero.shape, np.int32)
    shift = 0 if w.quanta.dtype == np.int8 else HALF
    return (w.quanta.astype(np.int16) - shift).astype(np.int8), (zero - shift).astype(np.int32)


def _padded(
    conv: _Convolution, bytes_: Value, x: Quanta, shift: int, builder: Builder
) -> tuple[Value, ConvAttrs]:
    """The input in i32, with what stands for 0 around it, and a convolution without padding."""
    attrs = conv.attrs
    if conv.is_padded and x.zero != -shift:  # 0 is what is around anyway
        low, high = ((0, *widths, 0) for widths in (attrs.low, attrs.high))
        widths = {"low": tuple(map(Dim.of, low)), "high": tuple(map(Dim.of, high))}
        bytes_ = builder.emit(
            "pad", bytes_, _fill(x.zero, shift, bytes_.tensor.dtype, builder), **widths
        )
        none = (0,) * len(attrs.low)
        attrs = ConvAttrs(attrs.strides, attrs.dilations, none, none)
    return builder.emit("cast", bytes_, to=i32), attrs


def _fill(zero: Value | int, shift: int, dtype: DType, builder: Builder) -> Value:
    if isinstance(zero, int):
        return builder.constant(np.array(zero + shift, dtype.numpy))
    return builder.emit("cast", shifted(zero, shift, builder), to=dtype)


def _with_known_zero(x: Quanta | None, weights: WeightStore) -> Quanta | None:
    """With its zero point as a number, if that is a constant."""
    if x is None or isinstance(x.zero, int):
        return x
    numbers = known_numbers(x.zero, weights)
    return x if numbers is None else replace(x, zero=int(numbers))
