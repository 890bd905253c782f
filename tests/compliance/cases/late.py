"""Ops that bear a late axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch

from anyshape.ir import DType
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
