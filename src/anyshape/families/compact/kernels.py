"""Compaction: functions of the runtime, with their own view of the sizes."""

from __future__ import annotations

from typing import NamedTuple

from anyshape.ir.node import Node
from anyshape.ir.types import DType, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import compact_places_name, compact_rows_name, part_counts_name
from anyshape.loop.printer import row_major
from anyshape.lower.effort import Effort
from anyshape.lower.tasks import TASK
from anyshape.ops.compact import CompactAttrs
from anyshape.ops.known import COMPACT_PLACES, PART_COUNTS
from anyshape.sym import Dim, Symbol, maximum, product

SIZE, PARTS, LENGTH, WIDTH = (Symbol(f"n{i}") for i in range(4))
"""Elements of what is looked at, its parts, and elements of a row, or its rank."""


class Compaction(NamedTuple):
    """The kernel, the dims of the graph that its sizes stand for, and what it does in its own."""

    kernel: Kernel
    sizes: tuple[Dim, ...]
    effort: Effort


def compaction(node: Node) -> Compaction:
    """The kernel of an op that compacts."""
    attrs, looked_at = node.attrs_as(CompactAttrs), node.operands[0].tensor
    sizes = (looked_at.size, attrs.parts, attrs.length)
    if node.op is PART_COUNTS:
        return Compaction(_counting(looked_at.dtype), sizes, _effort(looked_at.dtype))
    if node.op is COMPACT_PLACES:
        kernel = _placing(looked_at.dtype, looked_at.rank)
        sizes = (*sizes, Dim.of(looked_at.rank), *looked_at.shape)
        return Compaction(kernel, sizes, _effort(looked_at.dtype, looked_at.rank * i64.itemsize))
    x = node.operands[1].tensor
    sizes = (*sizes, product(x.shape[looked_at.rank :]))
    effort = _effort(looked_at.dtype, 2 * x.dtype.itemsize * Dim.of(WIDTH))
    return Compaction(_selecting(x.dtype, looked_at.dtype), sizes, effort)


def _effort(dtype: DType, each: Dim | int = 0) -> Effort:
    """As if half of the elements were selected, with so many bytes each."""
    size = Dim.of(SIZE)
    return Effort(operations=size, bytes=size * dtype.itemsize + size * each // 2)


def _counting(dtype: DType) -> Kernel:
    """A task is one part."""
    parts = Dim.of(PARTS)
    buffers = _buffer("x", dtype, Dim.of(SIZE)), _buffer("counts", i64, parts, True)
    name = part_counts_name(dtype)
    return Kernel(buffers, (SIZE, PARTS, LENGTH), TASK, parts, (), native=name)


def _placing(dtype: DType, rank: int) -> Kernel:
    """A task is one part, or all elements."""
    size, parts = Dim.of(SIZE), Dim.of(PARTS)
    x, counts = _buffer("x", dtype, size), _buffer("counts", i64, parts)
    places = _buffer("places", i64, size * rank, True)
    axes = tuple(Symbol(f"n{4 + axis}") for axis in range(rank))
    sizes, tasks = (SIZE, PARTS, LENGTH, WIDTH, *axes), maximum(1, parts)
    buffers, name = (x, counts, places, _count()), compact_places_name(dtype)
    return Kernel(buffers, sizes, TASK, tasks, (), native=name)


def _selecting(dtype: DType, mask: DType) -> Kernel:
    """A task is one part, or all elements of the mask."""
    size, parts, width = Dim.of(SIZE), Dim.of(PARTS), Dim.of(WIDTH)
    given = _buffer("mask", mask, size), _buffer("x", dtype, size * width)
    rows = _buffer("rows", dtype, size * width, True)
    buffers = (*given, _buffer("counts", i64, parts), rows, _count())
    sizes, tasks = (SIZE, PARTS, LENGTH, WIDTH), maximum(1, parts)
    return Kernel(buffers, sizes, TASK, tasks, (), native=compact_rows_name(dtype))


def _count() -> Buffer:
    return _buffer("count", i64, Dim.of(1), True)


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
