"""Data that a model keeps in files beside it. Models are untrusted: this is the only way to them.

A file is named by a plain path below the model's folder: not absolute, without `..`, without a
symbolic link in any component, and no second name of another file (a hard link). Only the keys that
ONNX defines are taken; offset and length lie within the file. A model that came as bytes has no
folder, and no such data. Files are mapped, so that what is never read is never in memory.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from anyshape.base.errors import InvalidModelError
from anyshape.ir.types import Array

KEYS = frozenset({"location", "offset", "length", "checksum"})


@dataclass(frozen=True)
class _Nameless:
    """Stands for a tensor in messages."""

    name: str = ""


class ExternalFiles:
    """The files below a model's folder, each opened and mapped once."""

    def __init__(self, folder: Path | None, model: str) -> None:
        self._folder = folder
        self._model = model
        self._maps: dict[str, memoryview] = {}

    def bytes_of(self, tensor: Any, wanted: int) -> Array:
        """The bytes of one tensor: as many as its type and shape take."""
        given = {entry.key: entry.value for entry in tensor.external_data}
        if unknown := sorted(given.keys() - KEYS):
            raise self._refused(tensor, f"has external data with the key '{unknown[0]}'")
        content = self._content(tensor, given.get("location", ""))
        offset = self._number(tensor, given, "offset", 0)
        length = self._number(tensor, given, "length", wanted)
        if length != wanted:
            raise self._refused(tensor, f"has {length} bytes of external data, not {wanted}")
        if offset + length > len(content):
            where = f"bytes {offset}..{offset + length} of '{given.get('location')}'"
            raise self._refused(tensor, f"is {where}, which has {len(content)}")
        return np.frombuffer(content, np.uint8, length, offset)

    @property
    def read(self) -> tuple[str, ...]:
        """The files that were opened, as the model names them."""
        return tuple(self._maps)

    def sha256(self, location: str) -> str:
        """Of a whole file; one that may not be read is refused as for any tensor."""
        content = self._content(_Nameless(), location)
        return hashlib.sha256(content).hexdigest()

    def _number(self, tensor: Any, given: dict[str, str], key: str, default: int) -> int:
        text = given.get(key)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise self._refused(tensor, f"has the {key} {text!r} in its external data")
        return int(text)

    def _content(self, tensor: Any, location: str) -> memoryview:
        if location not in self._maps:
            self._maps[location] = self._mapped(tensor, location)
        return self._maps[location]

    def _mapped(self, tensor: Any, location: str) -> memoryview:
        parts = PurePosixPath(location).parts
        if self._folder is None:
            raise self._refused(tensor, "has external data, and the model came without a folder")
        plain = parts and "\0" not in location and "\\" not in location
        if not plain or location.startswith("/") or ".." in parts:
            problem = f"has external data at {location!r}, outside of the model's folder"
            raise self._refused(tensor, problem)
        try:
            handle = _opened_below(self._folder, parts)
        except OSError as error:
            problem = f"has external data at {location!r}: {error.strerror}"
            raise self._refused(tensor, problem) from None
        try:
            return self._view(tensor, location, handle)
        finally:
            os.close(handle)

    def _view(self, tensor: Any, location: str, handle: int) -> memoryview:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            problem = f"has external data at {location!r}, which is no plain file with one name"
            raise self._refused(tensor, problem)
        if info.st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_READ))

    def _refused(self, tensor: Any, problem: str) -> InvalidModelError:
        fix = "save the model with its data in one file, or beside it under plain names"
        return InvalidModelError(self._model, f"tensor '{tensor.name}' {problem}", fix)


def _opened_below(folder: Path, parts: tuple[str, ...]) -> int:
    """A file, opened component by component, each of which is no symbolic link."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe does not hold us up
        return os.open(parts[-1], flags, dir_fd=handle)
    finally:
        os.close(handle)
