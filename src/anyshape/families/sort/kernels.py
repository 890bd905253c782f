"""Sorting: functions of the runtime, with their own view of the sizes."""

from __future__ import annotations

from typing import NamedTuple

from anyshape.ir.node import Node
from anyshape.ir.types import DType, i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import merge_parts_name, sort_name, sort_parts_name
from anyshape.loop.printer import row_major
from anyshape.lower.tasks import TASK
from anyshape.ops.known import SORT_PARTS
from anyshape.ops.sort import PartSortAttrs, SortAttrs, TopKAttrs
from anyshape.sym import Dim, Symbol, maximum, minimum, product

ENTRY_WORDS = 2
"""Words of workspace for each element of a row: a key, and where it was."""

MERGE_ENTRIES = 5
"""As many more for each part that is merged: as `merge_entries` of the runtime."""

RANGE = 1 << 15
"""Elements that a task merges, at least."""

OUTER, LENGTH, INNER, KEPT, DESCENDING = SIZES = tuple(Symbol(f"n{i}") for i in range(5))
PARTS, PART_LENGTH, RANGES = PART_SIZES = tuple(Symbol(f"n{i}") for i in range(5, 8))


class Sorting(NamedTuple):
    """The kernel, and the dims of the graph that its sizes stand for."""

    kernel: Kernel
    sizes: tuple[Dim, ...]


def is_sorting(node: Node) -> bool:
    return isinstance(node.attrs, SortAttrs | TopKAttrs | PartSortAttrs)


def sorting(node: Node) -> Sorting:
    """The kernel of an op that sorts."""
    attrs, dtype = node.attrs, node.result().tensor.dtype
    if isinstance(attrs, TopKAttrs):
        return Sorting(_kernel(dtype), _sizes(node, attrs.axis, attrs.k, attrs.largest))
    if isinstance(attrs, SortAttrs):
        length = node.operands[0].tensor.shape[attrs.axis]
        return Sorting(_kernel(dtype), _sizes(node, attrs.axis, length, attrs.descending))
    assert isinstance(attrs, PartSortAttrs), f"{node.op.name} sorts nothing"
    return _in_parts(node, attrs, dtype)


def _sizes(node: Node, axis: int, kept: Dim, down: bool) -> tuple[Dim, ...]:
    shape = node.operands[0].tensor.shape
    outer, inner = product(shape[:axis]), product(shape[axis + 1 :])
    return outer, shape[axis], inner, kept, Dim.of(int(down))


def _in_parts(node: Node, attrs: PartSortAttrs, dtype: DType) -> Sorting:
    sizes = _sizes(node, attrs.axis, attrs.kept, attrs.descending)
    sizes = (*sizes, attrs.parts, attrs.length)
    if node.op is SORT_PARTS:
        return Sorting(_parts_kernel(dtype), sizes)
    ranges = maximum(1, minimum(attrs.parts, 1 + attrs.kept // RANGE))
    return Sorting(_merging_kernel(dtype), (*sizes, ranges))


def _kernel(dtype: DType) -> Kernel:
    outer, length, inner, kept = (Dim.of(size) for size in (OUTER, LENGTH, INNER, KEPT))
    x = _buffer("x", dtype, outer * length * inner)
    results = _results(dtype, outer * kept * inner)
    scratch = _buffer("entries", i64, length * ENTRY_WORDS)
    name = sort_name(dtype)
    return Kernel((x, *results), SIZES, TASK, outer * inner, (), scratch=(scratch,), native=name)


def _parts_kernel(dtype: DType) -> Kernel:
    """A task is one part of one row."""
    outer, length, inner, kept = (Dim.of(size) for size in (OUTER, LENGTH, INNER, KEPT))
    parts, part_length = Dim.of(PARTS), Dim.of(PART_LENGTH)
    x = _buffer("x", dtype, outer * length * inner)
    tasks = parts * outer * inner
    results = _results(dtype, tasks * minimum(kept, part_length))
    scratch = _buffer("entries", i64, part_length * ENTRY_WORDS)
    sizes, name = (*SIZES, PARTS, PART_LENGTH), sort_parts_name(dtype)
    return Kernel((x, *results), sizes, TASK, tasks, (), scratch=(scratch,), native=name)


def _merging_kernel(dtype: DType) -> Kernel:
    """A task is one row, or where there are parts a range of its ranks."""
    outer, length, inner, kept = (Dim.of(size) for size in (OUTER, LENGTH, INNER, KEPT))
    parts, part_length = Dim.of(PARTS), Dim.of(PART_LENGTH)
    x = _buffer("x", dtype, outer * length * inner)
    in_parts = parts * outer * inner * minimum(kept, part_length)
    given = _buffer("part_values", dtype, in_parts), _buffer("part_places", i64, in_parts)
    results = _results(dtype, outer * kept * inner)
    whole = length * (1 - minimum(1, parts))
    scratch = _buffer("entries", i64, (whole + parts * MERGE_ENTRIES) * ENTRY_WORDS)
    tasks, name = outer * inner * Dim.of(RANGES), merge_parts_name(dtype)
    buffers = (x, *given, *results)
    sizes = (*SIZES, *PART_SIZES)
    return Kernel(buffers, sizes, TASK, tasks, (), scratch=(scratch,), native=name)


def _results(dtype: DType, size: Dim) -> tuple[Buffer, Buffer]:
    return _buffer("values", dtype, size, True), _buffer("places", i64, size, True)


def _buffer(name: str, dtype: DType, size: Dim, written: bool = False) -> Buffer:
    return Buffer(name, dtype, (size,), row_major((size,)), written)
