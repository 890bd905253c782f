"""Reads what the compiler must know of its own output: which names it defines, and which not."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SYMBOL_TABLE = 2
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def undefined_symbols(elf_object: bytes) -> tuple[str, ...]:
    """Names that an ELF64 object uses and does not define. The object is trusted: LLVM made it."""
    return tuple(sorted(name for name, section in _symbols(elf_object) if section == 0))


def defined_symbols(elf_object: bytes) -> tuple[str, ...]:
    """Names that it defines."""
    return tuple(sorted(name for name, section in _symbols(elf_object) if section != 0))


def _symbols(elf_object: bytes) -> Iterator[tuple[str, int]]:
    """Name and section of each."""
    sections = _sections(elf_object)
    for kind, data, link in sections:
        if kind == _SYMBOL_TABLE:
            strings = sections[link][1]
            for name, _, _, section, _, _ in _SYMBOL.iter_unpack(data):
                if name:
                    yield _text(strings, name), section


def _sections(elf_object: bytes) -> list[tuple[int, bytes, int]]:
    """(type, content, link) of each section."""
    (offset,) = struct.unpack_from("<Q", elf_object, 40)
    (count,) = struct.unpack_from("<H", elf_object, 60)
    table = elf_object[offset : offset + count * _SECTION_HEADER.size]
    return [
        (kind, elf_object[start : start + size], link)
        for _, kind, _, _, start, size, link, *_ in _SECTION_HEADER.iter_unpack(table)
    ]


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(0, start)].decode()
