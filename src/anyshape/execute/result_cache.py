"""Results kept from call to call, for callers that ask the same again.

A call is known by its Executable and the SHA-256 of its inputs: element type, shape, and the bytes
in row-major order. So an array has the key of its contiguous copy, and numbers are equal if their
bits are: 0.0 and -0.0 differ, and so do NaNs with other payloads. Nobody has ever found two inputs
with the same hash; one that was not looked for is less likely than an error of the memory.

Whoever calls owns what he gets: the cache keeps copies and hands out copies.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np

from anyshape.base.errors import OptionError
from anyshape.base.fork_lock import fork_lock
from anyshape.ir.types import Array

DEFAULT_ENTRIES: Final = 1 << 16


@dataclass(slots=True)
class ResultCounters:
    """Of one Executable. Changed under the cache's lock only."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    entries: int = 0
    bytes: int = 0


Digest = bytes
_Key = tuple[int, Digest]  # of the counters, so of the Executable; of the inputs


@dataclass(frozen=True, slots=True)
class _Entry:
    results: tuple[Array, ...]
    bytes: int
    counters: ResultCounters


class ResultCache:
    """At most `max_bytes` of results and `max_entries` calls; the least recently used go first.

    Several Executables may share one; each sees only its own results. Safe to use from many
    threads. `bytes` are those of the results, without what Python needs around each.
    """

    def __init__(self, max_bytes: int, max_entries: int = DEFAULT_ENTRIES) -> None:
        for name, value in (("max_bytes", max_bytes), ("max_entries", max_entries)):
            if value < 0:
                raise OptionError(name, str(value), "a number that is at least 0")
        self.max_bytes: Final = max_bytes
        self.max_entries: Final = max_entries
        self._lock = fork_lock()
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes(self) -> int:
        return self._bytes

    def find(self, counters: ResultCounters, digest: Digest) -> tuple[Array, ...] | None:
        """Copies of the results of an earlier call, or None."""
        key = id(counters), digest
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                counters.misses += 1
                return None
            counters.hits += 1
            self._entries.move_to_end(key)
        return _copies(entry.results)

    def keep(self, counters: ResultCounters, digest: Digest, results: Sequence[Array]) -> None:
        """Copies of these results, if there is room for them at all."""
        size = sum(result.nbytes for result in results)
        if size > self.max_bytes or not self.max_entries:
            return
        entry = _Entry(_copies(results), size, counters)
        with self._lock:
            self._forget((id(counters), digest))  # of a call that was equal and as early
            self._add((id(counters), digest), entry)
            while self._bytes > self.max_bytes or len(self._entries) > self.max_entries:
                oldest, old = next(iter(self._entries.items()))
                old.counters.evictions += 1
                self._forget(oldest)

    def forget(self, counters: ResultCounters) -> None:
        """Lets all results of an Executable go."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == id(counters)]:
                self._forget(key)

    # --- with the lock ------------------------------------------------------------------------
    # A signal may end these functions anywhere. Bytes are then too many, never too few, and right
    # again when the cache has been empty.

    def _add(self, key: _Key, entry: _Entry) -> None:
        self._bytes += entry.bytes
        self._entries[key] = entry
        entry.counters.entries += 1
        entry.counters.bytes += entry.bytes

    def _forget(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.bytes
            entry.counters.entries -= 1
            entry.counters.bytes -= entry.bytes
        if not self._entries:
            self._bytes = 0


def digest_of(arrays: Sequence[Array]) -> Digest:
    """Of the inputs of a call: their element types, shapes and bytes."""
    hashed = sha256()
    for array in arrays:
        hashed.update(f"{array.dtype}{array.shape}".encode())
        hashed.update(_bytes(array))
    return hashed.digest()


def _bytes(array: Array) -> Any:
    """In row-major order; types that only NumPy's extensions know have no buffers of their own."""
    dense = np.ascontiguousarray(array)
    return dense.reshape(-1).view(np.uint8)


def _copies(arrays: Sequence[Array]) -> tuple[Array, ...]:
    return tuple(array.copy() for array in arrays)
