"""Independent expectations: torch for floats, Python's unbounded integers for integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

torch.set_num_threads(1)


def as_torch(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def by_torch(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`function` of torch on NumPy arrays."""

    def expect(*arrays: Any) -> Any:
        found = function(*map(as_torch, arrays), **options)
        return tuple(t.numpy() for t in found) if isinstance(found, tuple) else found.numpy()

    return expect


def by_integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` on arrays of Python integers, the result wrapped around to the operand's width."""

    def expect(*arrays: Any) -> Any:
        found = np.asarray(function(*(array.astype(object) for array in arrays)), object)
        return wrapped(found, arrays[0].dtype)

    return expect


def wrapped(integers: Any, dtype: np.dtype[Any]) -> Any:
    """Unbounded integers reduced to two's complement."""
    info = np.iinfo(dtype)
    span = info.max - info.min + 1
    flat = [(int(n) - info.min) % span + info.min for n in integers.reshape(-1)]
    return np.array(flat, dtype).reshape(integers.shape)
