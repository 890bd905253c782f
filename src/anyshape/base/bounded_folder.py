"""Folders of entries that may occupy so much: those not used for longest go first.

An entry is a file whose name has a suffix; whoever uses one sets its time of modification. Files
that a process began to write before it died go too.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from anyshape.base.private_folder import PARTIAL_SUFFIX, remove_file

_ABANDONED_SECONDS = 3600  # a partial file this old belongs to a process that died


@dataclass(frozen=True, slots=True, order=True)
class _File:
    modified: float
    name: str
    size: int


def keep_within(folder: int, suffix: str, max_bytes: int) -> None:
    """Removes entries from an open folder until the rest occupies no more than `max_bytes`."""
    files = _files(folder)
    for file in _abandoned(files):
        remove_file(folder, file.name)
    entries = sorted(file for file in files if file.name.endswith(suffix))
    excess = sum(entry.size for entry in entries) - max_bytes
    for entry in entries:
        if excess <= 0:
            break
        remove_file(folder, entry.name)
        excess -= entry.size


def _files(folder: int) -> list[_File]:
    found: list[_File] = []
    with os.scandir(folder) as names:
        for name in names:
            try:
                status = name.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process removed it
                continue
            found.append(_File(status.st_mtime, name.name, status.st_size))
    return found


def _abandoned(files: list[_File]) -> list[_File]:
    oldest = time.time() - _ABANDONED_SECONDS
    return [file for file in files if file.name.endswith(PARTIAL_SUFFIX) and file.modified < oldest]
