"""Compaction with an upper bound. What lies behind the first `count` rows is unspecified: cases put
zeros there."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng, emit

from anyshape.ir import Builder, DType, Value
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup
from anyshape.ir.types import ALL_DTYPES, i64
from anyshape.sym import Dim

CASES = Collection()

BATCH, SEQ = Dim.of("batch"), Dim.of("seq")
PARTS = {"parts": BATCH, "length": SEQ}
NO_PARTS = {"parts": 0, "length": BATCH * SEQ}
UNEVEN = {"parts": 3, "length": (BATCH * SEQ + 2) // 3}


def _flags(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Rows with few and with many elements that are not zero. NaN is not; -0.0 is."""
    share = rng.integers(0, 4, (*shapes[0][:1], *(1,) * (len(shapes[0]) - 1)))
    flags = rng.integers(0, 3, shapes[0]) < share
    first = flags.astype(dtypes[0].numpy)
    if dtypes[0].is_float:
        first = np.where(flags, np.array(np.nan, first.dtype), np.array(-0.0, first.dtype))
    others = zip(shapes[1:], dtypes[1:], strict=True)
    return [first, *(rng.integers(0, 2, shape).astype(dtype.numpy) for shape, dtype in others)]


def _cleared(b: Builder, rows: Value, count: Value) -> list[Value]:
    """Zeros behind the rows there are, and their number."""
    type_ = rows.tensor
    number = b.emit("iota", shape=type_.shape, axis=0, dtype=i64)
    there = b.emit("lt", number, b.emit("reshape", count, shape=()))
    zero = b.constant(np.zeros((), type_.dtype.numpy))
    return [b.emit("select", there, rows, zero), count]


def _compacted(op: str, **attrs: Any) -> Any:
    def make(b: Builder, *operands: Value) -> list[Value]:
        counts = b.emit("part_counts", operands[0], **attrs)
        entry = lookup(op)
        record = make_attrs(op, entry.attrs, attrs)
        return _cleared(b, *b.node(entry, (*operands, counts), record).results)

    return make


def _bounded(found: Any, rows: int) -> tuple[Any, Any]:
    padding = np.zeros((rows - len(found), *found.shape[1:]), found.dtype)
    return np.concatenate([found, padding]), np.array([len(found)])


def _places(x: Any) -> tuple[Any, Any]:
    return _bounded(np.argwhere(x != 0), x.size)


def _rows(mask: Any, x: Any) -> tuple[Any, Any]:
    return _bounded(x[mask], mask.size)


for _dtype in ALL_DTYPES:
    CASES.add(
        "part_counts", str(_dtype), (f"{_dtype}[batch, seq]",), emit("part_counts", **PARTS),
        ("i64[batch]",), lambda x: np.count_nonzero(x != 0, axis=1), fill=_flags,
    )  # fmt: skip
    CASES.add(
        "compact_places", str(_dtype), (f"{_dtype}[batch, seq]",),
        _compacted("compact_places", **PARTS), ("i64[batch*seq, 2]", "i64[1]"), _places,
        fill=_flags,
    )  # fmt: skip
    CASES.add(
        "compact_rows", str(_dtype), ("bool[batch, seq]", f"{_dtype}[batch, seq]"),
        _compacted("compact_rows", **PARTS), (f"{_dtype}[batch*seq]", "i64[1]"), _rows,
        fill=_flags,
    )  # fmt: skip

CASES.add(
    "part_counts", "parts that end early", ("bool[batch, seq]",), emit("part_counts", **UNEVEN),
    ("i64[3]",),
    lambda x: np.array([
        part.sum() for part in np.split(
            np.resize(np.append(x, np.zeros(3, bool)), -(-x.size // 3) * 3), 3)
    ]), fill=_flags,
)  # fmt: skip
CASES.add(
    "compact_places", "one axis", ("bool[seq]",),
    _compacted("compact_places", parts=0, length=SEQ), ("i64[seq, 1]", "i64[1]"), _places,
    fill=_flags, sizes=({"seq": 64}, {"seq": 1000}),
)  # fmt: skip
CASES.add(
    "compact_places", "no axes", ("f32[]",), _compacted("compact_places", parts=0, length=1),
    ("i64[1, 0]", "i64[1]"), _places, sizes=({},),
)  # fmt: skip
CASES.add(
    "compact_places", "three axes", ("bool[batch, 3, seq]",),
    _compacted("compact_places", parts=3, length=BATCH * SEQ), ("i64[3*batch*seq, 3]", "i64[1]"),
    _places, fill=_flags,
)  # fmt: skip
CASES.add(
    "compact_places", "five axes", ("bool[batch, 2, 1, 3, seq]",),
    _compacted("compact_places", parts=0, length=0), ("i64[6*batch*seq, 5]", "i64[1]"),
    _places, fill=_flags,
)  # fmt: skip
CASES.add(
    "compact_rows", "whole rows", ("bool[batch]", "f32[batch, seq, 2]"),
    _compacted("compact_rows", parts=0, length=BATCH), ("f32[batch, seq, 2]", "i64[1]"), _rows,
    fill=_flags, sizes=({"batch": 200, "seq": 3},),
)  # fmt: skip
CASES.add(
    "compact_rows", "uneven parts", ("bool[batch, seq]", "i64[batch, seq, 5]"),
    _compacted("compact_rows", **UNEVEN), ("i64[batch*seq, 5]", "i64[1]"), _rows, fill=_flags,
)  # fmt: skip
CASES.add(
    "compact_rows", "without parts", ("bool[batch, seq]", "f32[batch, seq]"),
    _compacted("compact_rows", **NO_PARTS), ("f32[batch*seq]", "i64[1]"), _rows, fill=_flags,
    sizes=({"batch": 3, "seq": 300},),
)  # fmt: skip
