"""Complex tensors: real ones with a last axis of two, since our dtypes have no complex numbers.

An op that takes or gives one has an entry in `COMPLEX`, or torch's own kernel computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from anyshape.frontend.aten.calls import E, Entry
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import DType, f32, f64
from anyshape.sym import Dim

PARTS: Mapping[Any, DType] = {torch.complex64: f32, torch.complex128: f64}
"""The dtype of the two parts, by torch's complex ones."""

COMPLEX: dict[str, Entry] = {}
"""Entries by overload, as in the table, for calls with complex tensors."""


@dataclass(frozen=True, slots=True)
class ComplexTensor:
    """A complex tensor by its parts, which are the last axis of a real one."""

    parts: Tensor

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.parts.shape[:-1]

    @property
    def ndim(self) -> int:
        return self.parts.ndim - 1


def complex_entry(*names: str) -> Callable[[E], E]:
    """Registers an entry for complex tensors under one or several overloads."""

    def add(function: E) -> E:
        COMPLEX.update(dict.fromkeys(names, function))
        return function

    return add


def is_complex(value: Any) -> bool:
    """Whether a tensor of torch has complex numbers."""
    return isinstance(value, torch.Tensor) and value.dtype in PARTS


def real_parts(tensor: Any) -> Any:
    """The real tensor with a last axis of two that stands for a complex one."""
    return torch.view_as_real(tensor.detach().resolve_conj())


def has_complex(node: Any) -> bool:
    """Whether a node computes with complex tensors; one that gives no tensor asks for sizes."""
    gives = [leaf for leaf in leaves(node.meta.get("val")) if isinstance(leaf, torch.Tensor)]
    taken = (argument.meta.get("val") for argument in node.all_input_nodes)
    taken_leaves = (leaf for value in taken for leaf in leaves(value))
    return bool(gives) and any(map(is_complex, (*gives, *taken_leaves)))


def leaves(value: Any) -> Iterator[Any]:
    """The results of a node, one by one."""
    if isinstance(value, (list, tuple)):
        for item in cast(Sequence[Any], value):
            yield from leaves(item)
    elif value is not None:
        yield value
