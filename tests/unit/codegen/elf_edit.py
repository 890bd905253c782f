"""Reads and edits ELF64 objects, by the book and by accident."""

import random
import struct
from dataclasses import dataclass
from typing import Final

_HEADERS: Final = struct.Struct("<IIQQQQIIQQ")
_INTERESTING: Final = (
    0,
    1,
    2,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)


@dataclass(frozen=True)
class Header:
    """A section header and where it is in the file."""

    at: int
    name: int
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


class ElfEdit:
    """An object in a buffer that can be changed."""

    def __init__(self, content: bytes) -> None:
        self.content = bytearray(content)

    def get(self, form: str, at: int) -> int:
        return struct.unpack_from("<" + form, self.content, at)[0]

    def put(self, form: str, at: int, value: int) -> bytes:
        struct.pack_into("<" + form, self.content, at, value)
        return bytes(self.content)

    @property
    def machine(self) -> int:
        return self.get("H", 18)

    def headers(self) -> list[Header]:
        table, count = self.get("Q", 40), self.get("H", 60)
        found: list[Header] = []
        for at in range(table, table + count * _HEADERS.size, _HEADERS.size):
            name, kind, flags, _, offset, size, link, info, _, _ = _HEADERS.unpack_from(
                self.content, at
            )
            found.append(Header(at, name, kind, flags, offset, size, link, info))
        return found

    def name_of(self, header: Header) -> str:
        start = self.headers()[self.get("H", 62)].offset + header.name
        return self.content[start : self.content.index(0, start)].decode()

    def section_names(self) -> list[str]:
        return [self.name_of(header) for header in self.headers()]

    def section(self, name: str) -> Header:
        return next(header for header in self.headers() if self.name_of(header) == name)

    def relocations(self) -> list[int]:
        """Where each relocation entry is."""
        return [
            at
            for header in self.headers()
            if header.type == 4
            for at in range(header.offset, header.offset + header.size, 24)
        ]

    def relocation_types(self) -> list[int]:
        return [self.get("I", at + 8) for at in self.relocations()]

    def symbol(self, name: str) -> int:
        """Where the entry of a symbol is."""
        table = next(header for header in self.headers() if header.type == 2)
        strings = self.headers()[table.link]
        for at in range(table.offset, table.offset + table.size, 24):
            start = strings.offset + self.get("I", at)
            if self.content[start : self.content.index(0, start)].decode() == name:
                return at
        raise KeyError(name)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A damaged copy. Tables are hit more often than code: they mislead a loader most."""
    edit = ElfEdit(content)
    places = _table_places(edit)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.choice(places) if rng.random() < 0.8 else rng.randrange(len(content))
        form, bits = rng.choice((("B", 8), ("H", 16), ("I", 32), ("Q", 64)))
        if at + bits // 8 <= len(content):
            value = rng.choice(_INTERESTING) if rng.random() < 0.6 else rng.getrandbits(bits)
            edit.put(form, at, (value + rng.choice((0, 0, -1, 1))) % (1 << bits))
    result = bytes(edit.content)
    return result[: rng.randrange(len(result))] if rng.random() < 0.1 else result


def _table_places(edit: ElfEdit) -> list[int]:
    """Even offsets of the file header, the section headers, the symbols and the relocations."""
    places = list(range(0, 64, 2))
    for header in edit.headers():
        places.extend(range(header.at, header.at + _HEADERS.size, 4))
        if header.type in (2, 4):
            places.extend(range(header.offset, header.offset + header.size, 4))
    return places
