"""Sequences of several lengths as one array: how they are given to programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyshape.base.errors import InputError


@dataclass(frozen=True)
class Ragged:
    """Sequences end to end: `values[offsets[i]:offsets[i + 1]]` is sequence i.

    While a function is traced both are tensors. Empty sequences are sequences like others.
    """

    values: Any
    offsets: Any


def pack(sequences: Sequence[Any]) -> Ragged:
    """Arrays that differ in their first size only, as a `Ragged` of NumPy arrays."""
    arrays = [np.asarray(each) for each in sequences]
    if not arrays:
        fix = "pass Ragged(np.zeros((0, ...)), np.zeros(1, np.int64)), which says dtype and sizes"
        raise InputError("sequences", "is empty: it has no dtype and no sizes", fix)
    for number, array in enumerate(arrays):
        same = array.ndim and array.shape[1:] == arrays[0].shape[1:]
        if not same or array.dtype != arrays[0].dtype:
            first = f"{arrays[0].dtype}{list(arrays[0].shape)}"
            problem = f"{number} is {array.dtype}{list(array.shape)}, beside {first}"
            raise InputError("sequences", problem, "pass arrays that differ in their first size")
    lengths = [len(array) for array in arrays]
    return Ragged(np.concatenate(arrays), np.cumsum([0, *lengths], dtype=np.int64))
