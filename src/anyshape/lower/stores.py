"""How the results of a kernel are written, element by element."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.loop import Buffer, Statement, Store
from anyshape.loop.ir import Index
from anyshape.lower.context import Lowering

STRIP_WIDTH = 64
"""Rows of a strip: four vectors of 16 f32 sums, which hide the latency of addition."""


def stores(low: Lowering, outputs: Sequence[Buffer], place: Index) -> list[Statement]:
    """Writes each result at one index."""
    values = [low.at(result, place) for result in low.region.results]
    return [Store(buffer, place, value) for buffer, value in zip(outputs, values, strict=True)]
