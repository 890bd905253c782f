"""A model as a session was given it, read when more is needed of it than its bytes.

A file is read once, and what was read is what is compiled and what a cache entry is found by. A
session that was loaded from the cache keeps no bytes of a file; if it needs the model after all,
the file is read again, and must not have changed.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anyshape.base.errors import InvalidModelError, ModelFileError

if TYPE_CHECKING:
    from anyshape.frontend.onnx.model_file import ModelFile


class SessionModel:
    """See the module. `digest` is empty if there are no bytes: a ModelProto may change."""

    def __init__(self, given: str | bytes | os.PathLike[str] | Any) -> None:
        self._given: Any = given
        self._path = Path(cast(str, given)) if isinstance(given, (str, os.PathLike)) else None
        self._content = self._bytes()
        self._file: ModelFile | None = None
        self.name = "the model" if self._path is None else str(self._path)
        self.digest = "" if self._content is None else hashlib.sha256(self._content).hexdigest()

    @property
    def folder(self) -> Path | None:
        """Where data beside the model may be."""
        return None if self._path is None else self._path.parent

    @property
    def file(self) -> ModelFile:
        if self._file is None:
            self._file = self._read()
            self._content = self._given = None
        return self._file

    def forget_bytes(self) -> None:
        """Of a file: it is there if it is needed again."""
        if self._path is not None:
            self._content = None

    def _bytes(self) -> bytes | None:
        if self._path is not None:
            return _content(self._path)
        given = isinstance(self._given, (bytes, bytearray, memoryview))
        return bytes(cast(bytes, self._given)) if given else None

    def _read(self) -> ModelFile:
        from anyshape.frontend.onnx.model_file import (  # noqa: PLC0415  onnx is optional
            model_of_bytes,
            read_model,
        )

        if not self.digest:
            return read_model(self._given)
        content = self._content
        if content is None:
            content = self._bytes()
            if content is None or hashlib.sha256(content).hexdigest() != self.digest:
                problem = "has changed since the session was made"
                raise InvalidModelError(self.name, problem, "make a new session")
        return model_of_bytes(content, self.name, self.folder)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(str(path), error.strerror or str(error)) from None
