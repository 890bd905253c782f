"""Ops that bear a late axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch

from anyshape.ir import DType, lookup
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.types import ALL_DTYPES

CASES = Collection()


def _mostly_zeros(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Zeros of both signs count as zero, NaN does not."""
    flags = rng.integers(0, 3, shapes[0]) == 0
    array = flags.astype(dtypes[0].numpy)
    if not dtypes[0].is_float:
        return [array]
    return [np.where(flags, np.array(np.nan, array.dtype), np.array(-0.0, array.dtype))]


def _found(x: Any) -> Any:
    return torch.nonzero(as_torch(x != 0)).numpy()


for _dtype in ALL_DTYPES:
    CASES.add(
        "nonzero", str(_dtype), (f"{_dtype}[batch, seq]",), emit("nonzero"), ("i64[?0, 2]",),
        _found, fill=_mostly_zeros,
    )  # fmt: skip
CASES.add("nonzero", "scalar", ("f32[]",), emit("nonzero"), ("i64[?0, 0]",), _found)
CASES.add(
    "nonzero", "twice, and what follows", ("f32[seq//2 + 1]", "f32[seq]"),
    lambda b, x, y: b.emit("concat", b.emit("nonzero", x), b.emit("nonzero", y), axis=0),
    ("i64[?0 + ?1, 1]",), lambda x, y: np.concatenate([_found(x), _found(y)]), fill=None,
)  # fmt: skip


def _mask_and_rows(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    mask = rng.integers(0, 2, shapes[0]) == 0
    values = zip(shapes[1:], dtypes[1:], strict=True)
    return [mask, *(rng.integers(0, 2, shape).astype(dtype.numpy) for shape, dtype in values)]


for _dtype in ALL_DTYPES:
    CASES.add(
        "compress", str(_dtype), ("bool[batch, seq]", f"{_dtype}[batch, seq]"), emit("compress"),
        (f"{_dtype}[?0]",), lambda mask, x: x[mask], fill=_mask_and_rows,
    )  # fmt: skip
CASES.add(
    "compress", "several", ("bool[batch]", "f32[batch]", "i64[batch, seq]"),
    lambda b, *operands: b.node(lookup("compress"), operands, NO_ATTRS).results,
    ("f32[?0]", "i64[?0, seq]"), lambda mask, x, y: (x[mask], y[mask]), fill=_mask_and_rows,
)  # fmt: skip
CASES.add(
    "compress", "rows", ("bool[batch]", "f32[batch, seq, 2]"), emit("compress"),
    ("f32[?0, seq, 2]",), lambda mask, x: x[mask], fill=_mask_and_rows,
)  # fmt: skip
CASES.add(
    "compress", "sizes that must be equal", ("bool[batch]", "f32[2*seq]"), emit("compress"),
    ("f32[?0]",), lambda mask, x: x[mask], facts=("batch == 2*seq",), fill=_mask_and_rows,
)  # fmt: skip
CASES.add(
    "compress", "no axes", ("bool[]", "f32[seq]"), emit("compress"), ("f32[?0, seq]",),
    lambda mask, x: x[mask], fill=_mask_and_rows,
)  # fmt: skip


def _count_and_rows(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """A count that the rows allow, and the rows."""
    rows = [
        rng.integers(0, 2, shape).astype(dtype.numpy)
        for shape, dtype in zip(shapes[1:], dtypes[1:], strict=True)
    ]
    return [rng.integers(0, shapes[1][0] + 1, 1), *rows]


for _dtype in ALL_DTYPES:
    CASES.add(
        "prefix", str(_dtype), ("i64[1]", f"{_dtype}[seq, 3]"), emit("prefix"),
        (f"{_dtype}[?0, 3]",),
        lambda count, x: x[: int(count[0])], fill=_count_and_rows,
    )  # fmt: skip
CASES.add(
    "prefix", "of several, and what follows", ("i64[1]", "f32[seq]", "i64[seq, batch]"),
    lambda b, *operands: [
        b.emit("neg", value)
        for value in b.node(lookup("prefix"), operands, NO_ATTRS).results
    ],
    ("f32[?0]", "i64[?0, batch]"),
    lambda count, x, y: (-x[: int(count[0])], -y[: int(count[0])]), fill=_count_and_rows,
)  # fmt: skip
CASES.add(
    "prefix", "sizes that must be equal", ("i64[1]", "f32[batch]", "i64[2*seq]"),
    lambda b, *operands: b.node(lookup("prefix"), operands, NO_ATTRS).results,
    ("f32[?0]", "i64[?0]"), lambda count, x, y: (x[: int(count[0])], y[: int(count[0])]),
    facts=("batch == 2*seq",), fill=_count_and_rows,
)  # fmt: skip


def _size(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    return [np.array(rng.integers(0, 20)), *(np.ones(shape, np.float32) for shape in shapes[1:])]


CASES.add(
    "late_size", "and what has it", ("i64[]", "f32[seq]"),
    lambda b, size, x: b.emit(
        "broadcast", x, shape=(b.emit("late_size", size).tensor.shape[0], x.tensor.shape[0])
    ),
    ("f32[?0, seq]",), lambda size, x: np.tile(x, (int(size), 1)), fill=_size,
)  # fmt: skip
CASES.add(
    "late_size", "alone", ("i64[]",), emit("late_size"), ("bool[?0, 0]",),
    lambda size: np.zeros((int(size), 0), np.bool_), fill=_size,
)  # fmt: skip
