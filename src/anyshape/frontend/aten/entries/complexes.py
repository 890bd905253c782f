"""Complex tensors by their parts: how they are made and taken apart, products, and movement.

This is what rotary positions are written with. Movement leaves the last axis, which has the parts,
where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError
from anyshape.frontend.aten.complex_tensors import PARTS, ComplexTensor, complex_entry
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import functions as fn
from anyshape.frontend.builder import movement as mv
from anyshape.frontend.builder.assemble import stack
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import DType
from anyshape.sym import Dim

Size = int | Dim


@complex_entry("aten.view_as_real.default")
def view_as_real(call: Call, x: ComplexTensor) -> Tensor:
    return x.parts


@complex_entry("aten.view_as_complex.default")
def view_as_complex(call: Call, x: Tensor) -> ComplexTensor:
    return ComplexTensor(x)


@complex_entry("aten.real.default")
def real(call: Call, x: ComplexTensor) -> Tensor:
    return x.parts[..., 0]


@complex_entry("aten.imag.default")
def imag(call: Call, x: ComplexTensor) -> Tensor:
    return x.parts[..., 1]


@complex_entry("aten.complex.default")
def complex_(call: Call, real: Tensor, imag: Tensor) -> ComplexTensor:
    shape = active().broadcast("add", [real.shape, imag.shape])
    return _of_parts(mv.broadcast_to(real, shape), mv.broadcast_to(imag, shape))


@complex_entry("aten.polar.default")
def polar(call: Call, length: Tensor, angle: Tensor) -> ComplexTensor:
    return _of_parts(length * fn.cos(angle), length * fn.sin(angle))


@complex_entry("aten.mul.Tensor")
def multiply(call: Call, x: Any, y: Any) -> ComplexTensor:
    dtype = PARTS[call.node.meta["val"].dtype]
    if not (isinstance(x, ComplexTensor) and isinstance(y, ComplexTensor)):
        return _scaled(x, y, dtype) if isinstance(x, ComplexTensor) else _scaled(y, x, dtype)
    (a, b), (c, d) = (_apart(cast_to(each.parts, dtype)) for each in (x, y))
    return _of_parts(a * c - b * d, a * d + b * c)


@complex_entry("aten.add.Tensor", "aten.sub.Tensor")
def add(call: Call, x: Any, y: Any, *, alpha: Any = 1) -> ComplexTensor:
    """Of a real operand only the real part changes."""
    dtype = PARTS[call.node.meta["val"].dtype]
    if isinstance(alpha, complex) or isinstance(x, complex) or isinstance(y, complex):
        raise NoEntryError
    left, right = (_as_parts(each, dtype) for each in (x, y))
    right = right if alpha == 1 else right * alpha
    is_sum = call.node.target.__name__.startswith("add")
    return ComplexTensor(left + right if is_sum else left - right)


def _as_parts(x: Any, dtype: DType) -> Tensor:
    if isinstance(x, ComplexTensor):
        return cast_to(x.parts, dtype)
    real = cast_to(asarray(x), dtype)
    return stack([real, real * 0], -1)


@complex_entry("aten.div.Tensor")
def divide(call: Call, x: Any, y: Any) -> ComplexTensor:
    """By a real tensor or number."""
    if isinstance(y, (ComplexTensor, complex)):
        raise NoEntryError
    dtype = PARTS[call.node.meta["val"].dtype]
    divisor = mv.expand_dims(cast_to(y, dtype), -1) if isinstance(y, Tensor) else y
    return ComplexTensor(cast_to(x.parts, dtype) / divisor)


@complex_entry("aten.abs.default")
def length(call: Call, x: ComplexTensor) -> Tensor:
    """As the longer part times a root that does not overflow."""
    sizes = ew.abs(x.parts)
    longer, shorter = (f(*_apart(sizes)) for f in (ew.maximum, ew.minimum))
    ratio = shorter / ew.where(longer > 0, longer, 1)
    found = longer * fn.sqrt(ratio * ratio + 1)
    return ew.where(ew.isinf(longer), longer, found)


@complex_entry("aten.neg.default")
def negative(call: Call, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(-x.parts)


@complex_entry(
    "aten.conj.default", "aten._conj.default", "aten.conj_physical.default",
    "aten._conj_physical.default",
)  # fmt: skip
def conjugate(call: Call, x: ComplexTensor) -> ComplexTensor:
    real, imag = _apart(x.parts)
    return _of_parts(real, -imag)


@complex_entry("aten.resolve_conj.default", "aten.resolve_neg.default")
def resolved(call: Call, x: ComplexTensor) -> ComplexTensor:
    return x


def _scaled(x: ComplexTensor, factor: Any, dtype: DType) -> ComplexTensor:
    """Both parts times a real tensor or a real number."""
    if isinstance(factor, complex):
        raise NoEntryError
    if isinstance(factor, Tensor):
        factor = mv.expand_dims(cast_to(factor, dtype), -1)
    return ComplexTensor(cast_to(x.parts, dtype) * factor)


@complex_entry(
    "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other",
    "aten._to_copy.default",
)  # fmt: skip
def converted(call: Call, x: Any, *_: Any, **__: Any) -> ComplexTensor:
    """Of another precision, or on the same device; a real tensor has no other part yet."""
    dtype = PARTS.get(call.node.meta["val"].dtype)
    if dtype is None or not isinstance(x, ComplexTensor):
        raise NoEntryError
    return ComplexTensor(cast_to(x.parts, dtype))


def _apart(parts: Tensor) -> tuple[Tensor, Tensor]:
    return parts[..., 0], parts[..., 1]


def _of_parts(real: Tensor, imag: Tensor) -> ComplexTensor:
    return ComplexTensor(stack([real, imag], -1))


# --- movement -------------------------------------------------------------------------------------


@complex_entry("aten.clone.default", "aten.alias.default", "aten.detach.default")
def same(call: Call, x: ComplexTensor, **_: Any) -> ComplexTensor:
    return x


@complex_entry("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
def view(call: Call, x: ComplexTensor, shape: Sequence[Size]) -> ComplexTensor:
    return ComplexTensor(mv.reshape(x.parts, (*shape, 2)))


@complex_entry("aten.expand.default")
def expand(call: Call, x: ComplexTensor, size: Sequence[Size], **_: Any) -> ComplexTensor:
    return ComplexTensor(TABLE["aten.expand.default"](call, x.parts, [*size, 2]))


@complex_entry("aten.permute.default")
def permute(call: Call, x: ComplexTensor, dims: Sequence[int]) -> ComplexTensor:
    order = tuple(normal_axis(dim, x.ndim) for dim in dims)
    return ComplexTensor(mv.transpose(x.parts, (*order, x.ndim)))


@complex_entry("aten.transpose.int")
def transpose(call: Call, x: ComplexTensor, dim0: int, dim1: int) -> ComplexTensor:
    axes = (normal_axis(dim, x.ndim) for dim in (dim0, dim1))
    return ComplexTensor(mv.swapaxes(x.parts, *axes))


@complex_entry("aten.unsqueeze.default")
def unsqueeze(call: Call, x: ComplexTensor, dim: int) -> ComplexTensor:
    return ComplexTensor(mv.expand_dims(x.parts, normal_axis(dim, x.ndim + 1)))


@complex_entry("aten.slice.Tensor")
def slice_(call: Call, x: ComplexTensor, dim: int = 0, *bounds: Any, **_: Any) -> ComplexTensor:
    axis = normal_axis(dim, x.ndim)
    return ComplexTensor(TABLE["aten.slice.Tensor"](call, x.parts, axis, *bounds))


@complex_entry("aten.select.int")
def select(call: Call, x: ComplexTensor, dim: int, index: Size) -> ComplexTensor:
    axis = normal_axis(dim, x.ndim)
    return ComplexTensor(TABLE["aten.select.int"](call, x.parts, axis, index))
