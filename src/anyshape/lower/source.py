"""Sources: numbers that come from the index, from sizes, or from the program text."""

from __future__ import annotations

from anyshape.ir.literal import TensorLiteral
from anyshape.ir.node import Node
from anyshape.ir.types import DType, i64
from anyshape.loop import Literal, Number, Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.ops.movement import AxisAttrs
from anyshape.ops.source import ConstantAttrs, DimAttrs, IotaAttrs
from anyshape.sym import Dim


@rule("constant")
def constant(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    """A constant of one element is a number; larger ones are operands of the kernel."""
    value = node.attrs_as(ConstantAttrs).value
    assert isinstance(value, TensorLiteral), "large constants are operands"
    return Literal.of(value.array.reshape(()).item(), value.dtype)


@rule("iota")
def iota(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(IotaAttrs)
    return _number(low, index[attrs.axis], attrs.dtype)


@rule("dim_value")
def dim_value(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    return _number(low, node.attrs_as(DimAttrs).value, i64)


@rule("dim_of")
def dim_of(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    return _number(low, node.operands[0].tensor.shape[node.attrs_as(AxisAttrs).axis], i64)


def _number(low: Lowering, dim: Dim, dtype: DType) -> Scalar:
    number = low.let(Number(dim))
    return number if dtype is i64 else low.apply("cast", (number,), dtype)
