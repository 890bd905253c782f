"""Notices parameters that change behind torch's version counter.

torch counts writes through its own ops. It does not count `p.data.mul_(2)`, writes through a NumPy
view, or any write into a tensor made in inference mode; moving averages of weights do such things.
What is compared instead is a sample of the memory:

    up to 256 bytes     all of it: biases, scales
    more                32 words of 8 bytes or a few more, evenly spread

So whatever changes all of a parameter, or any part that is larger than a thirtieth of it, is
noticed by the next call. A single element of a large parameter may not be: `torch._dynamo.reset()`
is for that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.ir.types import Array

_WHOLE, _WORDS = 256, 32


class ParameterSamples:
    """Parts of the memory of some tensors, as they were. It keeps that memory alive."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self._storages: list[Any] = [
            tensor.untyped_storage() for tensor in tensors if tensor.is_cpu and tensor.data_ptr()
        ]
        self._views = [_sampled(storage) for storage in self._storages]
        self._content = self._read()

    def unchanged(self) -> bool:
        """Whether they are now as they were."""
        return self._read() == self._content

    def _read(self) -> bytes:
        return b"".join([view.tobytes() for view in self._views])


def _sampled(storage: Any) -> Array:
    """A view of a storage's memory, which is read later."""
    size = int(storage.nbytes())
    kind: Any = ctypes.c_uint8 * size
    memory: Array = np.frombuffer(kind.from_address(storage.data_ptr()), np.uint8)
    if size <= _WHOLE:
        return memory
    words: Array = memory[: size // 8 * 8].view(np.uint64)
    return words[:: max((words.size - 1) // (_WORDS - 1), 1)]
