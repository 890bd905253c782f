"""Arrays between pages that must not be touched: an access outside faults at once."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_libc = ctypes.CDLL(None, use_errno=True)


def guarded(array: NDArray[Any], *, at_end: bool = True) -> NDArray[Any]:
    """A copy that ends (or starts) exactly where a protected page starts (or ends)."""
    room = -(-max(array.nbytes, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, room + 2 * PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (base, base + PAGE + room):
        if _libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + (room - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    return copy
