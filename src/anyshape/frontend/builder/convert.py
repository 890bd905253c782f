"""Operands of every kind as tensors of one element type.

Tensors and arrays are strong: their element types meet by `ir.promote`. Python numbers, NumPy
scalars (as opposed to arrays of rank 0) and dims are weak: they take the element type of what they
meet and widen it only from bool to integer to float.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from anyshape.base.errors import DTypeError
from anyshape.frontend.builder.arrays import as_array, is_array
from anyshape.frontend.builder.tracer import Tracer, active, is_tensor
from anyshape.ir.promote import promote, promote_scalar
from anyshape.ir.types import Array, DType, bool_, dtype_of, f32, i64
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

Scalar = bool | int | float
ArrayLike: TypeAlias = "Tensor | Dim | Array | np.generic[Any] | bool | int | float"
Strong: TypeAlias = "Tensor | Array"
Weak = Dim | Scalar


def asarray(x: ArrayLike | Sequence[Any], dtype: DType | None = None) -> Tensor:
    """`x` as a traced tensor: a constant, a size, or the tensor itself."""
    if isinstance(x, (list, tuple)):
        x = np.asarray(x, None if dtype is None else dtype.numpy)
    operand = classify(cast("ArrayLike", x))
    with active().located():
        wanted = dtype or common_dtype([operand])
    return as_tensor(operand, wanted)


def classify(operand: ArrayLike) -> Strong | Weak:
    """The operand as one of the kinds that promotion tells apart."""
    if is_tensor(operand) or isinstance(operand, (bool, int, float)):
        return operand
    if isinstance(operand, Dim):
        return operand if operand.constant is None else operand.constant
    if isinstance(operand, np.generic):
        return cast(Scalar, operand.item())
    if is_array(operand):
        return as_array(operand)
    raise active().refuse(
        f"cannot use a {type(operand).__name__} as a tensor",
        "pass a tensor, a number, or np.asarray(...) of it",
    )


def default_dtype(scalar: Weak) -> DType:
    """The element type of a number that meets no tensor."""
    if isinstance(scalar, bool):
        return bool_
    return f32 if isinstance(scalar, float) else i64


def common_dtype(operands: Sequence[Strong | Weak]) -> DType:
    """The element type in which all operands meet."""
    weak = [operand for operand in operands if isinstance(operand, Weak)]
    strong = [_strong_dtype(op) for op in operands if not isinstance(op, Weak)]
    dtype = reduce(promote, strong) if strong else default_dtype(weak[0])
    for scalar in weak:
        dtype = promote_scalar(dtype, 0 if isinstance(scalar, Dim) else scalar)
    return dtype


def _strong_dtype(operand: Strong) -> DType:
    return operand.dtype if is_tensor(operand) else dtype_of(operand, "constant")


def as_tensor(operand: Strong | Weak, dtype: DType) -> Tensor:
    """The operand as a tensor of `dtype`."""
    if is_tensor(operand):
        return cast_to(operand, dtype)
    tracer = active()
    if isinstance(operand, Dim):
        return cast_to(tracer.emit("dim_value", value=operand), dtype)
    return _constant(tracer, operand, dtype)


def _constant(tracer: Tracer, data: Array | Scalar, dtype: DType) -> Tensor:
    with tracer.located():
        array = _fitted(data, dtype) if isinstance(data, Scalar) else data.astype(dtype.numpy)
        return tracer.tensor(tracer.builder.constant(array))


def _fitted(number: Scalar, dtype: DType) -> Array:
    try:
        return np.array(number, dtype.numpy)
    except OverflowError:
        fix = "use a number in range, or cast the tensor to a wider type"
        raise DTypeError("constant", f"a number that fits {dtype}", str(number), fix) from None


def cast_to(x: Tensor, dtype: DType) -> Tensor:
    """`x` converted to `dtype`; itself when it has it already."""
    return x if x.dtype == dtype else active().emit("cast", x, to=dtype)


def promoted(*operands: ArrayLike, at_least: DType | None = None) -> list[Tensor]:
    """The operands in their common element type, or in `at_least` where that is of lower kind."""
    kinds = [classify(operand) for operand in operands]
    with active().located():
        dtype = common_dtype(kinds)
        if at_least is not None and not dtype.is_float:
            dtype = promote(dtype, at_least)
    return [as_tensor(operand, dtype) for operand in kinds]


def floating(*operands: ArrayLike) -> list[Tensor]:
    """The operands in a common float type; integers become f32."""
    return promoted(*operands, at_least=f32)


def as_float(x: ArrayLike) -> Tensor:
    """`x` as a tensor of floats."""
    return floating(x)[0]
