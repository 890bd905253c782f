"""Sorting: a function of the runtime, with its own view of the sizes."""

from __future__ import annotations

from typing import NamedTuple

from anyshape.ir.node import Region
from anyshape.ir.types import i64
from anyshape.loop import Buffer, Kernel
from anyshape.loop.native import sort_name
from anyshape.loop.printer import row_major
from anyshape.lower.tasks import TASK
from anyshape.ops.order import SortAttrs, TopKAttrs
from anyshape.sym import Dim, Symbol, product

ENTRY_WORDS = 2
"""Words of workspace for each element of a row: a key, and where it was."""

OUTER, LENGTH, INNER, KEPT, DESCENDING = SIZES = tuple(Symbol(f"n{i}") for i in range(5))


class Sorting(NamedTuple):
    """The kernel, and the dims of the graph that its sizes stand for."""

    kernel: Kernel
    sizes: tuple[Dim, ...]


def sorting(region: Region) -> Sorting | None:
    """The kernel of a region that sorts, and then does nothing else."""
    node = region.results[0].node
    attrs = node.attrs
    if not isinstance(attrs, SortAttrs | TopKAttrs):
        return None
    shape = node.operands[0].tensor.shape
    length = shape[attrs.axis]
    kept, down = (
        (attrs.k, attrs.largest) if isinstance(attrs, TopKAttrs) else (length, attrs.descending)
    )
    outer, inner = product(shape[: attrs.axis]), product(shape[attrs.axis + 1 :])
    return Sorting(_kernel(region), (outer, length, inner, kept, Dim.of(int(down))))


def _kernel(region: Region) -> Kernel:
    outer, length, inner, kept = (Dim.of(size) for size in (OUTER, LENGTH, INNER, KEPT))
    dtype = region.results[0].tensor.dtype
    read, written = (outer * length * inner,), (outer * kept * inner,)
    buffers = (
        Buffer("x", dtype, read, row_major(read)),
        Buffer("values", dtype, written, row_major(written), True),
        Buffer("places", i64, written, row_major(written), True),
    )
    entries = (length * ENTRY_WORDS,)
    scratch = Buffer("entries", i64, entries, row_major(entries))
    name = sort_name(dtype)
    return Kernel(buffers, SIZES, TASK, outer * inner, (), scratch=(scratch,), native=name)
