"""Ops by identity, for those who treat one differently: `node.op is DOT`."""

from __future__ import annotations

from typing import Final

from anyshape.ops import (
    attention,
    compact,
    control,
    conv,
    dot,
    elementwise,
    indexing,
    kernel,
    late,
    movement,
    parts,
    ragged,
    random,
    reduce,
    scatter,
    sort,
    source,
    windows,
    worklist,
)

ADD: Final = elementwise.add
APPEND: Final = movement.append
ATTENTION: Final = attention.attention
BROADCAST: Final = movement.broadcast
CAST: Final = elementwise.cast
COMPACT_PLACES: Final = compact.compact_places
COMPACT_ROWS: Final = compact.compact_rows
COMPRESS: Final = late.compress
CONCAT: Final = movement.concat
COND: Final = control.cond
CONSTANT: Final = source.constant
CONV: Final = conv.conv
DOT: Final = dot.dot
GATHER: Final = indexing.gather
GE: Final = elementwise.ge
GROUPED_DOT: Final = dot.grouped_dot
IOTA: Final = source.iota
KERNEL: Final = kernel.kernel
LATE_SIZE: Final = late.late_size
LE: Final = elementwise.le
LOGICAL_AND: Final = elementwise.logical_and
MEAN: Final = reduce.mean
MUL: Final = elementwise.mul
NONZERO: Final = late.nonzero
PAD: Final = movement.pad
PART_ATTENTION: Final = attention.part_attention
PART_COUNTS: Final = compact.part_counts
PREFIX: Final = late.prefix
RAGGED_ATTENTION: Final = ragged.ragged_attention
RESHAPE: Final = movement.reshape
SCATTER: Final = scatter.scatter
SCATTER_ALONG: Final = scatter.scatter_along
SCAN: Final = control.scan
SEGMENT: Final = kernel.segment
SLICE: Final = movement.slice_
SORT_PARTS: Final = sort.sort_parts
STAGED: Final = parts.staged
SUB: Final = elementwise.sub
SUM: Final = reduce.sum_
TAKE_ALONG: Final = indexing.take_along
TOKEN: Final = random.token
TRANSPOSE: Final = movement.transpose
WHILE: Final = control.while_
WINDOWS: Final = windows.windows
WINOGRAD: Final = conv.winograd
WORKLIST: Final = worklist.worklist
