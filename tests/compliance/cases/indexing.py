"""Taking elements from places that data decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.inputs import values

from anyshape.ir import DType
from anyshape.ir.types import ALL_DTYPES, INTEGERS

CASES = Collection()


def indices_for(axis: int) -> Callable[..., list[Any]]:
    """Data, indices along `axis` of them, and whatever else the op takes."""

    def fill(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
        data, *more = (values(rng, s, d) for s, d in zip(shapes, dtypes, strict=True))
        limit = min(shapes[0][axis], np.iinfo(dtypes[1].numpy).max + 1)
        indices = rng.integers(0, max(limit, 1), shapes[1]).astype(dtypes[1].numpy)
        return [data, indices, *more[1:]]

    return fill


# --- gather ---------------------------------------------------------------------------------------


def _take(axis: int) -> Callable[..., Any]:
    return lambda x, indices: np.moveaxis(
        np.moveaxis(x, axis, 0)[indices.astype(np.int64)],
        range(indices.ndim),
        range(axis, axis + indices.ndim),
    )


for _dtype in ALL_DTYPES:
    CASES.add(
        "gather", f"embedding {_dtype}", (f"{_dtype}[vocab, 8]", "i64[batch, seq]"),
        emit("gather", axis=0), (f"{_dtype}[batch, seq, 8]",), _take(0), domain=("vocab >= 1",),
        fill=indices_for(0),
    )  # fmt: skip
CASES.add(
    "gather", "second axis", ("f32[batch, seq, 2]", "i64[?]"), emit("gather", axis=1),
    ("f32[batch, ?0, 2]",), _take(1), domain=("seq >= 1",), fill=indices_for(1),
)  # fmt: skip
CASES.add(
    "gather", "one element", ("f32[seq//2 + 1]", "i64[]"), emit("gather", axis=0), ("f32[]",),
    _take(0), fill=indices_for(0),
)  # fmt: skip
CASES.add(
    "gather", "nothing from nothing", ("f32[0, 3]", "i64[batch, 0]"), emit("gather", axis=0),
    ("f32[batch, 0, 3]",), _take(0), fill=indices_for(0),
)  # fmt: skip
for _dtype in INTEGERS:
    CASES.add(
        "gather", f"with {_dtype} indices", ("f32[n]", f"{_dtype}[m]"), emit("gather", axis=0),
        ("f32[m]",), _take(0), domain=("n >= 1",), fill=indices_for(0),
        sizes=({"n": 300, "m": 50},),
    )  # fmt: skip


# --- take_along -----------------------------------------------------------------------------------

for _dtype in ALL_DTYPES:
    CASES.add(
        "take_along", f"last axis {_dtype}", (f"{_dtype}[batch, n]", "i64[batch, m]"),
        emit("take_along", axis=1), (f"{_dtype}[batch, m]",),
        lambda x, i: np.take_along_axis(x, i, 1), domain=("n >= 1",), fill=indices_for(1),
    )  # fmt: skip
CASES.add(
    "take_along", "first axis of a part", ("f32[n, batch, 3]", "i32[m, rows, 2]"),
    emit("take_along", axis=0), ("f32[m, rows, 2]",),
    lambda x, i: np.take_along_axis(x[:, : i.shape[1], :2], i.astype(np.int64), 0),
    ("rows <= batch",), domain=("n >= 1",), fill=indices_for(0),
    sizes=({"n": 5, "batch": 7, "m": 3, "rows": 4},),
)  # fmt: skip
