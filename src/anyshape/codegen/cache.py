"""Object code kept on disk, so that a kernel is compiled once per machine and not once per process.

An entry is a file named after its key. It starts with a header that repeats the key and gives the
hash of the code; whatever does not check out is removed and compiled anew. The hash finds damage,
not malice: against that, the folder is private (`private_folder`).

Nothing here raises because of the disk: a cache that cannot be used says so once, in the log, and
is then a cache that never hits.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyshape.base.bounded_folder import keep_within
from anyshape.base.options import DEFAULT_CACHE_BYTES, Options
from anyshape.base.private_folder import (
    open_private_folder,
    own_folder,
    read_file,
    remove_file,
    write_file,
)

FORMAT_VERSION = 1

_LOG = logging.getLogger(__name__)
_HEADER = struct.Struct("<8sI32s32s")  # magic, version, key, hash of the code
_MAGIC = b"anyshape"
_SUFFIX = ".o"


@dataclass(slots=True)
class ObjectCache:
    """Entries in one folder, shared by any number of threads and processes.

    When the files exceed `max_bytes`, those not used for longest go first. Who stores looks at all
    of them only now and then (`_is_due`), so they may exceed it by a hundredth for a while.
    """

    folder: Path
    max_bytes: int = DEFAULT_CACHE_BYTES
    _complained: bool = field(default=False, init=False)

    def load(self, key: str) -> bytes | None:
        """The object code stored under `key`, if it is there and whole."""
        try:
            with open_private_folder(self.folder) as folder:
                return _load_entry(folder, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._complain(error)
            return None

    def store(self, key: str, elf_object: bytes) -> None:
        """Keep object code under `key`, if the disk lets us."""
        try:
            with open_private_folder(self.folder, create=True) as folder:
                write_file(folder, key + _SUFFIX, encode_entry(key, elf_object))
                if _is_due(key, len(elf_object), self.max_bytes):
                    keep_within(folder, _SUFFIX, self.max_bytes)
        except OSError as error:
            self._complain(error)

    def discard(self, key: str, why: str) -> None:
        """Remove an entry that is whole but cannot be used, so that it is not found again."""
        _LOG.warning("cached kernel %s%s cannot be used (%s); compiling it anew", key, _SUFFIX, why)
        try:
            with open_private_folder(self.folder) as folder:
                remove_file(folder, key + _SUFFIX)
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            _LOG.warning("kernels are compiled without the cache in %s: %s", self.folder, error)


def object_cache(options: Options) -> ObjectCache | None:
    """The cache that the options ask for. The folder itself may be shared; ours is inside it."""
    if options.cache_dir is None:
        return None
    return ObjectCache(own_folder(options.cache_dir, "objects"), options.cache_bytes)


# --- entries ------------------------------------------------------------------------------------


def encode_entry(key: str, elf_object: bytes) -> bytes:
    """The file of an entry."""
    content_hash = hashlib.sha256(elf_object).digest()
    return _HEADER.pack(_MAGIC, FORMAT_VERSION, bytes.fromhex(key), content_hash) + elf_object


def decode_entry(key: str, entry: bytes) -> bytes | None:
    """The object code in an entry; None unless it is exactly what was stored under `key`."""
    elf_object = entry[_HEADER.size :]
    return elf_object if entry == encode_entry(key, elf_object) else None


def _load_entry(folder: int, key: str) -> bytes | None:
    name = key + _SUFFIX
    elf_object = decode_entry(key, read_file(folder, name))
    if elf_object is None:
        _LOG.warning("cached kernel %s is damaged; compiling it anew", name)
        remove_file(folder, name)
        return None
    with suppress(OSError):  # a read-only disk serves entries too
        os.utime(name, dir_fd=folder)  # most recently used
    return elf_object


# --- size ---------------------------------------------------------------------------------------


def _is_due(key: str, size: int, max_bytes: int) -> bool:
    """Whether the folder should be looked through after `size` bytes were stored under `key`.

    That takes as long as there are files, so it happens about once per 1/256 of `max_bytes` stored,
    whichever processes store it, and nothing is remembered between them: keys are hashes, and the
    larger an entry, the more of all keys mean yes.
    """
    return int(key[:8], 16) * max_bytes <= size * _LOOKS_PER_CONTENT << 32


_LOOKS_PER_CONTENT = 256
