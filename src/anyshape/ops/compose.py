"""A thin notation for decompositions: values with arithmetic, bound to a builder.

Decompositions read like the formulas they are. Python numbers become constants of the value's
dtype; operands have one dtype, as everywhere in the IR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.types import DType, Shape, wide_of
from anyshape.sym import Dim

Number = float | int | bool


@dataclass(frozen=True, slots=True)
class Expr:
    """A value and the builder that makes the next one."""

    b: Builder
    value: Value

    @property
    def dtype(self) -> DType:
        return self.value.tensor.dtype

    @property
    def shape(self) -> Shape:
        return self.value.tensor.shape

    @property
    def rank(self) -> int:
        return self.value.tensor.rank

    def apply(self, op: str, *others: Expr | Number, **attrs: object) -> Expr:
        """`op` with this value first."""
        operands = [self.lift(other).value for other in others]
        return Expr(self.b, self.b.emit(op, self.value, *operands, **attrs))

    def lift(self, other: Expr | Number) -> Expr:
        """A number as a scalar constant of this value's dtype."""
        if isinstance(other, Expr):
            return other
        return Expr(self.b, self.b.constant(np.array(other, self.dtype.numpy)))

    def __add__(self, other: Expr | Number) -> Expr:
        return self.apply("add", other)

    def __sub__(self, other: Expr | Number) -> Expr:
        return self.apply("sub", other)

    def __mul__(self, other: Expr | Number) -> Expr:
        return self.apply("mul", other)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return self.apply("div", other)

    def cast(self, dtype: DType) -> Expr:
        return self if dtype == self.dtype else self.apply("cast", to=dtype)

    def wide(self) -> Expr:
        """16-bit floats as f32: what every compound computes in."""
        wide = wide_of(self.dtype)
        return self if wide is self.dtype else self.cast(wide)

    def reduce(self, op: str, *axes: int) -> Expr:
        return self.apply(op, axes=axes, keepdims=True)

    def reshape(self, *shape: Dim) -> Expr:
        return self.apply("reshape", shape=shape)


def size(b: Builder, dim: Dim, dtype: DType) -> Expr:
    """A dim as a scalar."""
    return Expr(b, b.emit("dim_value", value=dim)).cast(dtype)


def iota(b: Builder, shape: Shape, axis: int, dtype: DType) -> Expr:
    return Expr(b, b.emit("iota", shape=shape, axis=axis, dtype=dtype))
