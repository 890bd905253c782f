"""Plain text tables, the same on every machine: no colours, no terminal width."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lines with aligned columns; a column of numbers is aligned to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [bool(rows) and all(map(_is_number, c)) for c in zip(*rows, strict=True)]
    right = right or [False] * len(head)
    return [indent + _line(line, widths, right) for line in lines]


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    placed = (
        cell.rjust(width) if number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, right, strict=True)
    )
    return "  ".join(placed).rstrip()


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdigit()


def amount(count: int, noun: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def byte_text(count: int) -> str:
    """`1,536 B`, `12.0 KiB`, `3.4 MiB`: exact where that is short."""
    if count < 10_000:
        return f"{count:,} B"
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if count < 1000 * size:
            return f"{count / size:.1f} {unit}"
    return f"{count / (1 << 30):.1f} GiB"


def time_text(nanoseconds: float | None) -> str:
    """`850 ns`, `1.2 µs`, `34.0 ms`; `-` where unknown."""
    if nanoseconds is None:
        return "-"
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if nanoseconds < 1000 * size:
            return f"{nanoseconds / size:.{0 if size == 1 else 1}f} {unit}"
    return f"{nanoseconds / 1e9:.1f} s"
