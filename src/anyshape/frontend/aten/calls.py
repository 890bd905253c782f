"""What an entry of the importer's table sees, and the table itself.

An entry is a function `(call, *args, **kwargs)` registered under the name of one ATen overload.
Its arguments are those of the exported node, with tensors as traced tensors, symbolic integers as
dims, and dtypes as ours. Entries say what an op means in terms of the builder's functions; they
know nothing of kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from anyshape.frontend.aten.dtypes import common_dtype, dtype_of_meta
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to, size_value
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import DType, f32, wide_of
from anyshape.sym import Dim

Entry = Callable[..., Any]
E = TypeVar("E", bound=Entry)


class NoEntryError(Exception):
    """Raised by an entry for arguments that it has no form for, before it adds to the graph: the op
    is called on the host."""


TABLE: dict[str, Entry] = {}
"""Entries by overload: `aten.add.Tensor`."""


@dataclass(frozen=True)
class Call:
    """One node of the exported graph."""

    node: Any  # torch.fx.Node

    @property
    def dtype(self) -> DType:
        """Of the result, or the first of several."""
        return dtype_of_meta(self.node)

    @property
    def common(self) -> DType:
        """The dtype in which the operands meet by torch's rules, whatever the result's is."""
        return common_dtype(self.node.args)

    def operand(self, x: ArrayLike) -> Tensor:
        """An operand in the dtype of the result."""
        return as_dtype(x, self.dtype)

    def factors(self, x: ArrayLike, y: ArrayLike) -> list[Tensor]:
        """Operands of a product or quotient, in the dtype that torch computes in."""
        dtype = f32 if _needs_f32(y, self.dtype) else self.dtype
        return [as_dtype(operand, dtype) for operand in (x, y)]

    def held(self, x: ArrayLike) -> Tensor:
        """An operand in the dtype of the result, which must hold a number: torch refuses others
        where a number is stored as it is. Unsigned ones wrap below 0: -1 is the largest."""
        dtype = self.dtype
        if isinstance(x, Tensor):
            return cast_to(x, dtype)
        wraps = dtype.kind == "uint" and isinstance(x, int) and -(1 << dtype.bits) < x < 0
        return as_dtype(x, dtype) if wraps else asarray(x, dtype)


def in_wide(x: Tensor) -> Tensor:
    """What is combined, in the dtype that it is combined in: 16-bit floats in f32."""
    return as_dtype(x, wide_of(x.dtype))


def as_dtype(x: ArrayLike, dtype: DType) -> Tensor:
    """A tensor or a number cast to a dtype: integers wrap or overflow, as in torch's arithmetic."""
    if isinstance(x, Tensor):
        return cast_to(x, dtype)
    if isinstance(x, Dim) and x.constant is None:
        return size_value(x, dtype)
    number = x.constant if isinstance(x, Dim) else x
    if isinstance(number, int) and not isinstance(number, bool):
        with np.errstate(over="ignore"):
            return asarray(np.asarray(number).astype(dtype.numpy))
    return asarray(x, dtype)


def _needs_f32(x: ArrayLike, dtype: DType) -> bool:
    """Whether a 16-bit float meets a number behind it that it may not hold, or a tensor without
    axes of another dtype. torch multiplies and divides by such in f32 and rounds once:
    `h / 70000` in f16 is no division by infinity. Sums round the number first, and so does what
    begins with one: `torch.mul(70000, h)`."""
    if not dtype.is_float or dtype.bits > 16:
        return False
    if isinstance(x, Tensor):
        return x.ndim == 0 and x.dtype != dtype
    if isinstance(x, Dim):
        return x.constant is None or _needs_f32(x.constant, dtype)
    if isinstance(x, (int, float)):
        with np.errstate(over="ignore"):
            rounded = float(np.array(x, dtype.numpy))
        return math.isinf(rounded) != math.isinf(x) or (isinstance(x, int) and rounded != x)
    return False


def entry(*names: str) -> Callable[[E], E]:
    """Registers an entry under one or several overloads."""

    def add(function: E) -> E:
        for name in names:
            if name in TABLE:
                raise ValueError(f"'{name}' has two entries")
            TABLE[name] = function
        return function

    return add
