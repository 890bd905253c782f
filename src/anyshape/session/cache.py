"""Compiled models kept on disk: files of saved executables, in a private folder.

What is read is executed, so the folder is ours alone (`private_folder`), and an entry is checked
before anything of it is used: its key, its version and CPU, and a sum of each of its parts.
Whatever does not check out is removed, and the model compiled anew.

Nothing here raises because of the disk.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anyshape.base.bounded_folder import keep_within
from anyshape.base.errors import AnyshapeError
from anyshape.base.options import Options
from anyshape.base.private_folder import (
    map_file,
    open_private_folder,
    own_folder,
    remove_file,
    write_file,
)
from anyshape.saved.container import Bytes, SavedFile

LARGEST_PART = 4
"""An entry may take a quarter of what all of them may: one model does not displace all others."""

_LOG = logging.getLogger(__name__)
_SUFFIX = ".model"


@dataclass(frozen=True, slots=True)
class SessionCache:
    """Entries in one folder, shared by any number of threads and processes. When they exceed
    `max_bytes`, those not used for longest go first."""

    folder: Path
    max_bytes: int

    def load(self, key: str) -> SavedFile | None:
        """The entry under `key`, whose manifest is whole; the rest is checked when it is loaded."""
        try:
            with open_private_folder(self.folder) as folder:
                memory = map_file(folder, key + _SUFFIX)
                with suppress(OSError):  # a read-only disk serves entries too
                    os.utime(key + _SUFFIX, dir_fd=folder)  # most recently used
            return SavedFile(f"the cached model {key[:12]}", memory)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._complain(error)
        except AnyshapeError as error:
            self.discard(key, error)
        return None

    def store(self, key: str, parts: Sequence[Bytes]) -> None:
        """Keeps an entry, if it is not too large, and the disk lets us."""
        size = sum(map(len, parts))
        if size * LARGEST_PART > self.max_bytes:
            _LOG.info("a compiled model of %d bytes is too large to be kept", size)
            return
        try:
            with open_private_folder(self.folder, create=True) as folder:
                write_file(folder, key + _SUFFIX, *parts)
                keep_within(folder, _SUFFIX, self.max_bytes)
        except OSError as error:
            self._complain(error)

    def discard(self, key: str, why: AnyshapeError) -> None:
        """Removes an entry that cannot be used."""
        _LOG.warning("a cached model cannot be used (%s); compiling it anew", why)
        try:
            with open_private_folder(self.folder) as folder:
                remove_file(folder, key + _SUFFIX)
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        _LOG.warning("models are compiled without the cache in %s: %s", self.folder, error)


def session_cache(options: Options) -> SessionCache | None:
    """The cache that the options ask for; none while someone looks at what compiling shows, or
    wants the names of functions."""
    looking = options.debug or options.perf_map or options.target != "native"
    if options.cache_dir is None or not options.session_cache_bytes or looking:
        return None
    return SessionCache(own_folder(options.cache_dir, "sessions"), options.session_cache_bytes)
