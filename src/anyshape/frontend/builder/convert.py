"""Operands of every kind as tensors of one element type.

Tensors and arrays are strong: their element types meet by `ir.promote`. Python numbers, NumPy
scalars (as opposed to arrays of rank 0) and dims are weak: they take the element type of what they
meet and widen it only from bool to integer to float.

A weak integer neither wraps nor becomes infinite. A number that the element type does not hold is
an error while tracing. A dim that may be such a number is a requirement: proven, or checked before
a call computes anything. Only a cast wraps, `x.astype(dtype)`, because it was asked for.
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
from anyshape.ir.types import Array, DType, bool_, dtype_of, f16, f32, i64, u64, wide_of
from anyshape.sym import Dim, Predicate

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
    if isinstance(operand, Predicate):
        raise active().refuse(
            f"cannot use '{operand}' as a tensor: it says something of sizes",
            "compare tensors: ash.asarray(x.shape[0]) > 1",
        )
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
    if isinstance(operand, Dim):
        require_held(f"size {operand}", operand, operand, dtype)
        return size_value(operand, dtype)
    return _constant(active(), operand, dtype)


def _constant(tracer: Tracer, data: Array | Scalar, dtype: DType) -> Tensor:
    with tracer.located():
        array = _fitted(data, dtype) if isinstance(data, Scalar) else data.astype(dtype.numpy)
        return tracer.tensor(tracer.builder.constant(array))


def _fitted(number: Scalar, dtype: DType) -> Array:
    try:
        with np.errstate(over="ignore"):
            array = np.array(number, dtype.numpy)
    except OverflowError:
        array = None
    if array is None or (isinstance(number, int) and not np.isfinite(array)):
        fix = "use a number in range, or cast the tensor to a wider type"
        raise DTypeError("constant", f"a number that fits {dtype}", str(number), fix)
    return array


# --- sizes and indices ----------------------------------------------------------------------------


def size_value(dim: Dim, dtype: DType) -> Tensor:
    """A size as a scalar, converted to `dtype` as any cast does it."""
    return cast_to(active().emit("dim_value", value=dim), dtype)


def require_held(what: str, low: Dim, high: Dim, dtype: DType) -> None:
    """Integers from `low` to `high` are some that `dtype` has: proven, or checked before a run."""
    least, largest = _integers_of(dtype)
    if least is None or largest is None:
        return
    wider = "f32" if dtype.is_float else "i64"
    why = f"{what} meets {dtype}, which holds {least}..{largest}; use .astype(ash.{wider})"
    active().require(low >= least, why)
    if largest < _LARGEST_SIZE:
        active().require(high <= largest, why)


_LARGEST_SIZE = int(np.iinfo(np.int64).max)
"""Sizes are computed in 64 bits with a sign, so that none is beyond u64; a check that says so would
compute with a number that no size can be."""


def _integers_of(dtype: DType) -> tuple[int, int] | tuple[None, None]:
    """The least and the largest integer of a type; None where every size is within them."""
    if dtype.is_integer and dtype != i64:
        return int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max)
    largest = int(np.finfo(np.float16).max)
    return (-largest, largest) if dtype == f16 else (None, None)


def as_index(x: ArrayLike) -> Tensor:
    """Integers as i64, in which all arithmetic of indices is done.

    A narrower type may hold every index, and yet neither the size of the axis nor an index into
    merged axes. A u64 that i64 does not hold is outside of every axis, and stays so.
    """
    index = asarray(x)
    if index.dtype == u64:
        largest = asarray(np.iinfo(np.int64).max, u64)
        index = active().emit("minimum", index, largest)
    return cast_to(index, i64)


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


def widened(x: Tensor) -> Tensor:
    """16-bit floats as f32, which has every finite one of them, and every count below 2**24."""
    return cast_to(x, wide_of(x.dtype))
