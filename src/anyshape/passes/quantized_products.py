"""Products of numbers that stand for others, x = (q - zero) * scale, become products of integers.

    (x - zx) @ (w - zw)                 x @ w - zx * (sums of w - k * zw) - zw * sums of x
    (qx * sx) @ (qw * sw)               (qx @ qw) * (sx * sw)         sw: for each column
    x: i8                               x + 128: u8, whose zero is zx + 128
    w: u8                               w - 128: i8, whose zero is zw - 128

Weights are constants of 8 bits, whose sums are made here; a product of u8 and i8 is what kernels
have instructions for (0059). Sums of integers are exact, so results are those of the graph with one
rounding instead of many; where i32 could not hold a sum of floats' quanta, nothing is changed.
`OBJECTIONS` say what stands against it, in words that `explain` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Array, f32, i32
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import CONV, DOT
from anyshape.passes.byte_operands import (
    DEEPEST,
    in_i32,
    less_zero_of_x,
    scaled,
    signed,
    unsigned,
)
from anyshape.passes.infra import PassContext
from anyshape.passes.quanta import Quanta, WeightQuanta, quanta_of, weight_quanta
from anyshape.passes.quantized_convolutions import convolution


@dataclass(frozen=True)
class QuantizedProducts:
    """Rewrites dots and convolutions of quantised values with constant weights."""

    name: str = "quantized-products"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op in (DOT, CONV) for node in graph.nodes()):
            return graph
        return rebuild_graph(_Integers(self.name, ctx), graph)


@dataclass(frozen=True)
class _Product:
    """A dot, and its operands as far as they are quantised."""

    dot: Node
    x: Quanta | None
    w: WeightQuanta | None

    @property
    def attrs(self) -> DotAttrs:
        return self.dot.attrs_as(DotAttrs)

    @property
    def is_float(self) -> bool:
        return self.dot.result().tensor.dtype.is_float

    @property
    def axis(self) -> int:
        """Of the weights: the one that is summed."""
        return self.attrs.contract[1][0]

    @property
    def depth(self) -> int:
        assert self.w is not None
        return self.w.quanta.shape[self.axis]

    def along_columns(self, numbers: Array) -> Array | None:
        """Numbers for each column; None if they differ along the depth."""
        first = np.take(numbers, [0], axis=self.axis) if numbers.size else numbers
        return first.reshape(-1) if (numbers == first).all() else None


Objection = tuple[str, Callable[[_Product], bool]]

OBJECTIONS: Final[tuple[Objection, ...]] = (
    ("its left side is not quantised", lambda p: p.x is None),
    ("its right side is no quantised constant", lambda p: p.w is None),
    ("it is computed in 16 bits", lambda p: p.dot.result().tensor.dtype not in (f32, i32)),
    (
        "its weights are no matrix",
        lambda p: len(p.attrs.contract[1]) != 1 or bool(p.attrs.batch[1]) or _of(p).ndim != 2,
    ),
    ("its weights are empty", lambda p: _of(p).size == 0),
    ("i32 does not hold its sums", lambda p: p.is_float and p.depth > DEEPEST),
    ("scales differ along the depth", lambda p: p.along_columns(_weights(p).scale) is None),
    ("zero points differ along the depth", lambda p: p.along_columns(_weights(p).zero) is None),
)
"""Why a product stays what it is; the first that holds is told."""


def _weights(product: _Product) -> WeightQuanta:
    assert product.w is not None
    return product.w


def _of(product: _Product) -> Array:
    return _weights(product).quanta


class _Integers(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op not in (DOT, CONV):
            return node.results
        found = _product(node, builder) if node.op is DOT else convolution(node, builder)
        if found is None:
            return node.results
        made, text = found
        if made is not None and made.type != node.result().type:
            made, text = None, "its type would change"
        self.ctx.decisions.record(
            Decision(self.name, made is not None, text, node, builder.location)
        )
        return node.results if made is None else (made,)


def _product(dot: Node, builder: Builder) -> tuple[Value | None, str] | None:
    """The product in integers, or why it is not; None if it is not quantised."""
    left, right = dot.operands
    found = _Product(dot, quanta_of(left), weight_quanta(right, builder.weights))
    if found.x is None and found.w is None:
        return None
    why = next((text for text, holds in OBJECTIONS if holds(found)), None)
    if why is not None:
        return None, why
    text = f"integers: {_dtypes(found)}, {found.depth} deep, summed in i32"
    return _integer_product(found, builder), text


def _dtypes(product: _Product) -> str:
    assert product.x is not None
    return f"{product.x.quanta.tensor.dtype} x {_weights(product).value.tensor.dtype}"


# --- what is made ---------------------------------------------------------------------------------


def _integer_product(product: _Product, builder: Builder) -> Value:
    assert product.x is not None
    x, x_shift = unsigned(product.x, builder)
    w, weights, w_shift = signed(_weights(product), builder)
    zero, scale = (
        product.along_columns(n) for n in (_weights(product).zero, _weights(product).scale)
    )
    assert zero is not None
    assert scale is not None
    zeros = zero.astype(np.int32) - np.int32(w_shift)
    wide, narrow = (builder.emit("cast", value, to=i32) for value in (x, w))
    total = builder.node(DOT, [wide, narrow], product.dot.attrs).result()
    sums = weights.sum(product.axis, dtype=np.int32).reshape(-1) - np.int32(product.depth) * zeros
    total = less_zero_of_x(total, product.x.zero, x_shift, sums, builder)
    if zeros.any():
        axis = product.attrs.contract[0][0]
        rows = builder.emit("sum", wide, axes=(axis,))
        rows = builder.emit("reshape", rows, shape=(*rows.tensor.shape, 1))
        rows = in_i32(rows, builder)
        total = builder.emit("sub", total, builder.emit("mul", rows, builder.constant(zeros)))
    return scaled(total, product.x.scale, scale, builder) if product.is_float else total
