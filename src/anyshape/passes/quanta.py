"""Reading quantised values in a graph: x = (q - zero) * scale, with q of 8 bits.

What frontends write for it are a cast, a subtraction and a multiplication, in this order, each of
which may be left out, with views among them. Zero and scale of the left side of a product are one
number each, known or not; those of constant weights may be any constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import constant_array
from anyshape.ir.types import Array, f32, i8, i32, u8
from anyshape.ops.known import BROADCAST, CAST, MUL, RESHAPE, SUB, TRANSPOSE
from anyshape.ops.movement import TransposeAttrs

BYTES: Final = (u8, i8)
VIEWS: Final = (TRANSPOSE, RESHAPE)

MOST: Final = 12
"""Ops that are looked through: whoever writes more of them means something else."""


@dataclass(frozen=True)
class Quanta:
    """A value and the bytes that stand for it, which views are put on."""

    quanta: Value
    zero: Value | int = 0
    scale: Value | float = 1.0
    views: tuple[Node, ...] = ()  # the innermost first

    def seen(self, quanta: Value, builder: Builder) -> Value:
        """Other bytes of the same shape through the views."""
        return through(quanta, self.views, builder)


def through(value: Value, views: Sequence[Node], builder: Builder) -> Value:
    for view in views:
        value = builder.node(view.op, [value], view.attrs).result()
    return value


def quanta_of(value: Value, room: int = MOST) -> Quanta | None:
    """What a value stands for, if it is one number each for all of it."""
    node = value.node
    if not room:
        return None
    if value.tensor.dtype in BYTES:
        return Quanta(value)
    if node.op is CAST and node.operands[0].tensor.dtype in (*BYTES, i32):
        inner = quanta_of(node.operands[0], room - 1)
        return inner if value.tensor.dtype in (i32, f32) else None
    if node.op in VIEWS:
        inner = quanta_of(node.operands[0], room - 1)
        return None if inner is None else replace(inner, views=(*inner.views, node))
    if node.op in (SUB, MUL) and value.tensor.dtype in (i32, f32):
        return _shifted_or_scaled(node, room)
    return None


def _shifted_or_scaled(node: Node, room: int) -> Quanta | None:
    is_zero = node.op is SUB and node.result().tensor.dtype is i32
    is_scale = node.op is MUL and node.result().tensor.dtype is f32
    if not (is_zero or is_scale) or node.operands[1].tensor.rank != 0:
        return None
    inner = quanta_of(node.operands[0], room - 1)
    if inner is None or isinstance(inner.scale, Value) or inner.scale != 1.0:
        return None
    if is_scale:
        return replace(inner, scale=node.operands[1])
    first = not isinstance(inner.zero, Value) and inner.zero == 0
    return replace(inner, zero=node.operands[1]) if first else None


# --- weights --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightQuanta:
    """Constant weights: the value of their bytes, and all numbers as the product sees them."""

    value: Value
    quanta: Array
    zero: Array = field(default_factory=lambda: np.zeros((), np.int32))
    scale: Array = field(default_factory=lambda: np.ones((), np.float32))
    is_scaled: bool = False
    views: tuple[Node, ...] = ()  # the innermost first

    def seen(self, builder: Builder) -> Value:
        """The bytes through the views."""
        return through(self.value, self.views, builder)


def weight_quanta(value: Value, weights: WeightStore) -> WeightQuanta | None:
    found = _weights(value, weights, MOST)
    if found is None:
        return None
    shape = found.quanta.shape
    zero, scale = (np.broadcast_to(each, shape) for each in (found.zero, found.scale))
    return replace(found, zero=zero, scale=scale)


def _weights(value: Value, weights: WeightStore, room: int) -> WeightQuanta | None:
    node = value.node
    if value.tensor.dtype in BYTES:
        array = known_numbers(value, weights)
        return None if array is None else WeightQuanta(value, array)
    if value.tensor.dtype not in (i32, f32) or node.op not in (CAST, SUB, MUL, *VIEWS):
        return None
    inner = _weights(node.operands[0], weights, room - 1) if room else None
    if inner is None:
        return None
    if node.op is CAST:
        return inner if not node.operands[0].tensor.dtype.is_float else None
    if node.op in VIEWS:
        return _viewed(node, inner)
    return _with_numbers(node, inner, weights)


def _with_numbers(node: Node, inner: WeightQuanta, weights: WeightStore) -> WeightQuanta | None:
    """Less a zero point, or times a scale; in this order, and each once."""
    dtype = node.result().tensor.dtype
    numbers = known_numbers(node.operands[1], weights)
    if numbers is None or node.result().tensor.shape != node.operands[0].tensor.shape:
        return None
    if node.op is SUB and dtype is i32 and not inner.zero.any() and not inner.is_scaled:
        return replace(inner, zero=np.asarray(numbers))
    if node.op is MUL and dtype is f32 and not inner.is_scaled:
        return replace(inner, scale=np.asarray(numbers), is_scaled=True)
    return None


def _viewed(view: Node, inner: WeightQuanta) -> WeightQuanta:
    """Views are of bytes then, and of numbers for each of them."""
    shape = inner.quanta.shape
    zero, scale = (np.broadcast_to(each, shape) for each in (inner.zero, inner.scale))
    quanta, zero, scale = (_moved(view, each) for each in (inner.quanta, zero, scale))
    return replace(inner, quanta=quanta, zero=zero, scale=scale, views=(*inner.views, view))


def _moved(view: Node, array: Array) -> Array:
    if isinstance(view.attrs, TransposeAttrs):
        return array.transpose(view.attrs.perm)
    return array.reshape([int(dim) for dim in view.result().tensor.shape])


def known_numbers(value: Value, weights: WeightStore, room: int = MOST) -> Array | None:
    """The numbers of a constant, through views and casts."""
    node = value.node
    if not room:
        return None
    if node.op in VIEWS:
        inner = known_numbers(node.operands[0], weights, room - 1)
        return None if inner is None else _moved(node, inner)
    if node.op is BROADCAST:
        inner = known_numbers(node.operands[0], weights, room - 1)
        shape = value.tensor.shape
        if inner is None or any(dim.constant is None for dim in shape):
            return None
        return np.broadcast_to(inner, [int(dim) for dim in shape])
    if node.op is CAST:
        inner = known_numbers(node.operands[0], weights, room - 1)
        return None if inner is None else inner.astype(value.tensor.dtype.numpy)
    return constant_array(value, weights)
