"""Dtype and shape rules shared by several families. Each is a small pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.base.errors import DTypeError
from anyshape.ir.attrs import Attrs
from anyshape.ir.context import ShapeContext
from anyshape.ir.types import DType, Shape


def check_allowed(op: str, dtype: DType, allowed: Sequence[DType]) -> None:
    if dtype not in allowed:
        raise DTypeError(op, f"one of {', '.join(map(str, allowed))}", str(dtype))


def check_same(op: str, dtypes: Sequence[DType]) -> None:
    if len(set(dtypes)) > 1:
        raise DTypeError(op, "operands of one dtype", " and ".join(map(str, dtypes)))


@dataclass(frozen=True)
class SameDType:
    """All operands have one of `allowed`, the same; so has the result."""

    allowed: tuple[DType, ...]

    def __call__(self, op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
        check_same(op, dtypes)
        check_allowed(op, dtypes[0], self.allowed)
        return (dtypes[0],)


@dataclass(frozen=True)
class FixedDType:
    """All operands have one of `allowed`, the same; the result has a fixed dtype."""

    allowed: tuple[DType, ...]
    result: DType

    def __call__(self, op: str, dtypes: Sequence[DType], attrs: Attrs, /) -> tuple[DType, ...]:
        check_same(op, dtypes)
        check_allowed(op, dtypes[0], self.allowed)
        return (self.result,)


def same_shape(ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /) -> tuple[Shape, ...]:
    """The result has the first operand's shape."""
    return (shapes[0],)


def broadcast_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: Attrs, /
) -> tuple[Shape, ...]:
    """The operands broadcast; the one broadcasting rule is the context's."""
    return (ctx.broadcast(shapes),)
