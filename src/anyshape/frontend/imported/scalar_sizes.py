"""Numbers that a model's code takes out of tensors: `torch.tensor(x.size(1)).item() // 2`.

A number that was computed from sizes alone is a dim, like any other size; in a narrow dtype it must
not wrap, which is proven or checked by each call. One that depends on data is known only when the
graph runs, and nothing that is decided before may depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

from anyshape.frontend.builder.convert import require_held
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.node import Value
from anyshape.ir.types import bool_
from anyshape.ops.source import ConstantAttrs, DimAttrs
from anyshape.sym import Dim, maximum, minimum

_ON_DIMS: dict[str, Callable[..., Dim]] = {
    "add": Dim.__add__, "sub": Dim.__sub__, "mul": Dim.__mul__, "neg": Dim.__neg__,
    "maximum": maximum, "minimum": minimum, "cast": Dim.of, "reshape": Dim.of,
}  # fmt: skip


def size_in(value: Value) -> Dim | None:
    """The dim that an integer tensor with one element is known to hold."""
    if value.tensor.dtype.is_float:
        return None
    attrs = value.node.attrs
    if isinstance(attrs, DimAttrs):
        return attrs.value
    if isinstance(attrs, ConstantAttrs):
        return _number(attrs.value)
    function = _ON_DIMS.get(value.node.op.name)
    if function is None or value.tensor.dtype == bool_:
        return None
    operands = [size_in(operand) for operand in value.node.operands]
    if any(operand is None for operand in operands):
        return None
    size = function(*operands)
    require_held(f"size {size}", size, size, value.tensor.dtype)
    return size


def _number(constant: TensorLiteral | WeightRef) -> Dim | None:
    if isinstance(constant, WeightRef) or constant.array.size != 1:
        return None
    return Dim.of(int(constant.array.item()))
