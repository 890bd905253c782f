"""The file of a saved executable.

    header     64 bytes: magic, format version, length of the manifest, length of the file, SHA-256
               of the manifest
    manifest   JSON: who wrote it, for which machines (`targets.py`), and the table of blobs
    blobs      each at a multiple of 64 bytes: records, object code, texts, constants as kernels
               read them; machines share those that they have in common

The manifest is checked before it is read, code before it is mapped, texts and records when they are
read: by SHA-256. Constants are checked when the file is loaded, by a sum at the speed of memory
(`fold`), which finds damage and not malice; so does the rest, since whoever can write the file can
write its hashes. Native code in a file is as trusted as a shared library: see docs/design/0060.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from anyshape.base.errors import DamagedFileError, ForeignFileError, SavedFormatError

MAGIC: Final = b"\x89ASHAPE\n"
FORMAT: Final = 2
ALIGNMENT: Final = 64

_HEADER: Final = struct.Struct("<8sIIQQ32s")
_COLUMNS: Final = 1024  # words of a row in `fold`

Bytes = bytes | memoryview
Entry = tuple[int, int, str]
"""Of a blob: where it begins behind the manifest, its length, and its sum."""


def fold(content: Bytes) -> str:
    """A sum that every change of one word changes: of the XOR of all rows, the sum of each row, and
    what fills no row."""
    flat = np.frombuffer(content, np.uint8)
    whole = flat.size // (8 * _COLUMNS) * 8 * _COLUMNS
    rows = flat[:whole].view(np.uint64).reshape(-1, _COLUMNS)
    digest = hashlib.sha256(str(flat.size).encode())
    digest.update(np.bitwise_xor.reduce(rows, axis=0).tobytes())
    digest.update(np.add.reduce(rows, axis=1, dtype=np.uint64).tobytes())
    digest.update(flat[whole:].tobytes())
    return f"fold:{digest.hexdigest()}"


def sha256(content: Bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


_SUMS: Final = {"fold": fold, "sha256": sha256}


# --- writing --------------------------------------------------------------------------------------


@dataclass
class Blobs:
    """What a file will hold beside its manifest; equal contents once."""

    contents: list[Bytes] = field(default_factory=list[Bytes])
    sums: list[str] = field(default_factory=list[str])
    _numbers: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    _arrays: dict[tuple[int, int], tuple[int, NDArray[Any]]] = field(
        default_factory=dict[tuple[int, int], tuple[int, NDArray[Any]]]
    )  # with the array: while it lives, nothing else has its address
    _taken: set[int] = field(default_factory=set[int])

    def add(self, content: Bytes) -> int:
        """The number of a text or of code."""
        return self._number(content, sha256(content))

    def add_array(self, array: NDArray[Any]) -> int:
        """The number of a constant."""
        memory = array.ctypes.data, array.nbytes
        if memory not in self._arrays:
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            self._arrays[memory] = self._number(content, fold(content)), array
        number, _ = self._arrays[memory]
        self._taken.add(number)
        return number

    def taken(self) -> tuple[int, ...]:
        """The numbers that were given since this was last asked."""
        numbers = tuple(sorted(self._taken))
        self._taken.clear()
        return numbers

    def _number(self, content: Bytes, total: str) -> int:
        key = len(content), total
        if key not in self._numbers:
            self._numbers[key] = len(self.contents)
            self.contents.append(content)
            self.sums.append(total)
        self._taken.add(self._numbers[key])
        return self._numbers[key]


def packed(about: Mapping[str, object], blobs: Blobs) -> list[Bytes]:
    """The parts of a file, one after the other. `about` is JSON already."""
    entries: list[Entry] = []
    offset = 0
    for content, total in zip(blobs.contents, blobs.sums, strict=True):
        entries.append((offset, len(content), total))
        offset = _aligned(offset + len(content))
    manifest = json_bytes({**about, "blobs": entries})
    first = _aligned(_HEADER.size + len(manifest))
    total = first + (_aligned(entries[-1][0] + entries[-1][1]) if entries else 0)
    digest = hashlib.sha256(manifest).digest()
    header = _HEADER.pack(MAGIC, FORMAT, 0, len(manifest), total, digest)
    parts: list[Bytes] = [header, manifest, bytes(first - _HEADER.size - len(manifest))]
    for content in blobs.contents:
        parts += [content, bytes(_aligned(len(content)) - len(content))]
    return parts


def json_bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def write_file(path: str | os.PathLike[str], parts: Sequence[Bytes]) -> None:
    """At once: nobody sees half a file, and who has the old one mapped keeps it."""
    partial = f"{os.fspath(path)}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.writelines(parts)
        os.replace(partial, path)
    except BaseException as error:
        if os.path.exists(partial):
            os.remove(partial)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


# --- reading --------------------------------------------------------------------------------------


class SavedFile:
    """A file that is open: its manifest, and its blobs in memory that processes share."""

    def __init__(self, name: str, memory: memoryview) -> None:
        self.name = name
        self.memory = memory
        self.manifest, first = _manifest(name, memory)
        self._entries = _entries(name, self.manifest, first, len(memory))

    @staticmethod
    def open(path: str | os.PathLike[str]) -> SavedFile:
        name = os.fspath(path)
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise ForeignFileError(name, "is empty")
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return SavedFile(name, memoryview(mapped))

    def __len__(self) -> int:
        return len(self._entries)

    def blob(self, number: int) -> memoryview:
        """Not checked: see `checked`."""
        if not 0 <= number < len(self._entries):
            raise DamagedFileError(self.name, f"has no blob {number}")
        offset, length, _ = self._entries[number]
        return self.memory[offset : offset + length]

    def checked(self, number: int) -> memoryview:
        """A blob that is as it was written."""
        content = self.blob(number)
        self._check(number)
        return content

    def text(self, number: int) -> str:
        try:
            return str(self.checked(number), "utf-8")
        except UnicodeDecodeError:
            raise DamagedFileError(self.name, f"has no text in blob {number}") from None

    def json(self, number: int) -> Any:
        try:
            return json.loads(str(self.checked(number), "utf-8"))
        except (ValueError, RecursionError):
            raise DamagedFileError(self.name, f"has no records in blob {number}") from None

    def check(self, numbers: Iterable[int]) -> None:
        """These blobs, constants too."""
        for number in numbers:
            self.checked(number)

    def check_all(self) -> None:
        """Every blob."""
        self.check(range(len(self._entries)))

    def _check(self, number: int) -> None:
        _, _, total = self._entries[number]
        kind = total.partition(":")[0]
        if kind not in _SUMS or _SUMS[kind](self.blob(number)) != total:
            raise DamagedFileError(self.name, f"is damaged: blob {number} is not what was saved")


def _manifest(name: str, memory: memoryview) -> tuple[dict[str, Any], int]:
    """The manifest, and where blobs begin."""
    if bytes(memory[: len(MAGIC)]) != MAGIC:
        raise ForeignFileError(name, "is no saved executable")
    if len(memory) < _HEADER.size:
        raise DamagedFileError(name, f"is cut off after {len(memory)} bytes")
    _, version, _, length, total, digest = _HEADER.unpack_from(memory)
    if version != FORMAT:
        raise SavedFormatError(name, f"has format {version}, this version reads {FORMAT}")
    if total != len(memory) or length > len(memory) - _HEADER.size:
        problem = f"has {len(memory)} bytes, and {total} were written"
        raise DamagedFileError(name, problem)
    text = memory[_HEADER.size : _HEADER.size + length]
    if hashlib.sha256(text).digest() != digest:
        raise DamagedFileError(name, "is damaged: its manifest is not what was saved")
    return _parsed(name, text), _aligned(_HEADER.size + length)


def _parsed(name: str, text: memoryview) -> dict[str, Any]:
    try:
        manifest: object = json.loads(str(text, "utf-8"))
    except (ValueError, RecursionError):
        raise DamagedFileError(name, "is damaged: its manifest is no JSON") from None
    if not isinstance(manifest, dict):
        raise DamagedFileError(name, "is damaged: its manifest is no table")
    return cast(dict[str, Any], manifest)


def _entries(name: str, manifest: Mapping[str, Any], first: int, total: int) -> list[Entry]:
    """The table of blobs, each within the file."""
    entries: list[Entry] = []
    table: object = manifest.get("blobs")
    for item in cast(list[object], table) if isinstance(table, list) else [None]:
        match item:
            case [int(offset), int(length), str(total_)] if (
                offset >= 0 and length >= 0 and first + offset + length <= total
            ):
                entries.append((first + offset, length, total_))
            case _:
                raise DamagedFileError(name, f"is damaged: {item!r} is no blob of it")
    return entries
