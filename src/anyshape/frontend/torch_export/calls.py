"""What an entry of the importer's table sees, and the table itself.

An entry is a function `(call, *args, **kwargs)` registered under the name of one ATen overload.
Its arguments are those of the exported node, with tensors as traced tensors, symbolic integers as
dims, and dtypes as ours. Entries say what an op means in terms of the builder's functions; they
know nothing of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.torch_export.dtypes import common_dtype, dtype_of_meta
from anyshape.ir.types import DType

Entry = Callable[..., Any]
E = TypeVar("E", bound=Entry)

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


def as_dtype(x: ArrayLike, dtype: DType) -> Tensor:
    """A tensor cast, or a number made, to a dtype."""
    return cast_to(x, dtype) if isinstance(x, Tensor) else asarray(x, dtype)


def entry(*names: str) -> Callable[[E], E]:
    """Registers an entry under one or several overloads."""

    def add(function: E) -> E:
        for name in names:
            if name in TABLE:
                raise ValueError(f"'{name}' has two entries")
            TABLE[name] = function
        return function

    return add
