"""Operands of integer products and convolutions: bytes, and what their zero points take from sums.

Kernels are for u8 by i8 (0059). The left side becomes u8 by one bit, weights are stored as i8, and
zero points move accordingly.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.types import Array, f32, i8, i32, u8
from anyshape.passes.quanta import Quanta, WeightQuanta

DEEPEST: Final = 1 << 15
"""Products of two differences of bytes that i32 can sum."""

HALF: Final = 128  # of the values of a byte


def unsigned(x: Quanta, builder: Builder) -> tuple[Value, int]:
    """The left side as u8, and what was added to it."""
    quanta = x.quanta
    if quanta.tensor.dtype is u8:
        return x.seen(quanta, builder), 0
    bytes_ = builder.emit("cast", quanta, to=u8)
    half = builder.constant(np.array(HALF, np.uint8))
    return x.seen(builder.emit("bitwise_xor", bytes_, half), builder), HALF


def signed(w: WeightQuanta, builder: Builder) -> tuple[Value, Array, int]:
    """The weights as i8, their numbers, and what was taken from them."""
    if w.quanta.dtype == np.int8:
        return w.seen(builder), w.quanta, 0
    weights = (w.quanta.astype(np.int16) - HALF).astype(np.int8)
    made = builder.constant(np.ascontiguousarray(weights))
    assert made.tensor.dtype is i8
    return made, weights, HALF


def in_i32(value: Value, builder: Builder) -> Value:
    return value if value.tensor.dtype is i32 else builder.emit("cast", value, to=i32)


def less_zero_of_x(
    total: Value, zero: Value | int, shift: int, sums: Array, builder: Builder
) -> Value:
    """Less `zero + shift` times the sums of the weights."""
    if isinstance(zero, int):
        constant = np.int64(zero + shift) * sums.astype(np.int64)
        if not constant.any():
            return total
        return builder.emit("sub", total, builder.constant(constant.astype(np.int32)))
    zero = shifted(zero, shift, builder)
    return builder.emit("sub", total, builder.emit("mul", builder.constant(sums), zero))


def shifted(zero: Value, shift: int, builder: Builder) -> Value:
    if not shift:
        return zero
    return builder.emit("add", zero, builder.constant(np.array(shift, np.int32)))


def scaled(total: Value, scale: Value | float, columns: Array, builder: Builder) -> Value:
    """Sums as floats: times the scale of the left side, and that of each column."""
    if columns.size and (columns == columns[0]).all():
        columns = columns[0].reshape(())
    real = builder.emit("cast", total, to=f32)
    if isinstance(scale, Value):
        factor = builder.emit("mul", builder.constant(columns.astype(np.float32)), scale)
    else:
        factor = builder.constant(columns.astype(np.float32) * np.float32(scale))
    return builder.emit("mul", real, factor)
