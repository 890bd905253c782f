"""Curves as text: a mark for each engine, over a labelled height."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HEIGHT = 12
MARKS = "#o+x*%"
MIB = 1 << 20


def chart(curves: Mapping[str, Sequence[int]], height: int = HEIGHT) -> list[str]:
    """Lines of text; bytes upwards from 0, time to the right. Who comes first stays in front."""
    top = max((max(curve) for curve in curves.values() if curve), default=1)
    width = max((len(curve) for curve in curves.values()), default=0)
    grid = [[" "] * width for _ in range(height)]
    marked = list(zip(MARKS, curves.items(), strict=False))
    for mark, (_, curve) in reversed(marked):
        for column, value in enumerate(curve):
            grid[_row(value, top, height)][column] = mark
    lines = [
        f"{top * row / (height - 1) / MIB:9,.0f} ┤{''.join(cells)}".rstrip()
        for row, cells in reversed(list(enumerate(grid)))
    ]
    legend = ", ".join(f"{mark} {name}" for mark, (name, _) in marked)
    return [*lines, f"{'MiB':>9} └{'─' * width} {legend}"]


def _row(value: int, top: int, height: int) -> int:
    return round((height - 1) * value / max(top, 1))
