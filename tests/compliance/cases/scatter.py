"""Putting elements into places that data decide: one update after the other, in plain loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, emit
from tests.compliance.cases.indexing import indices_for
from tests.compliance.tolerance import accumulated

from anyshape.ir.types import ALL_DTYPES, INTEGERS, f32, f64, i32, u8

CASES = Collection()

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": np.maximum,
    "min": np.minimum,
}


def slices(axis: int, combine: str = "set") -> Callable[..., Any]:
    def expect(x: Any, indices: Any, updates: Any) -> Any:
        result = np.moveaxis(x, axis, 0).copy()
        rank = indices.ndim
        source = np.moveaxis(updates, range(axis, axis + rank), range(rank))
        for place in np.ndindex(*indices.shape):
            target = int(indices[place])
            result[target] = COMBINE[combine](result[target], source[place])
        return np.moveaxis(result, 0, axis)

    return expect


def elements(axis: int, combine: str = "set") -> Callable[..., Any]:
    def expect(x: Any, indices: Any, updates: Any) -> Any:
        result = x.copy()
        for place in np.ndindex(*indices.shape):
            target = (*place[:axis], int(indices[place]), *place[axis + 1 :])
            result[target] = COMBINE[combine](result[target], updates[place])
        return result

    return expect


SOME = ("n >= 1",)

for _dtype in ALL_DTYPES:
    CASES.add(
        "scatter", f"rows {_dtype}", (f"{_dtype}[n, 3]", "i64[m]", f"{_dtype}[m, 3]"),
        emit("scatter", axis=0), (f"{_dtype}[n, 3]",), slices(0), domain=SOME, fill=indices_for(0),
    )  # fmt: skip
    CASES.add(
        "scatter_along", f"columns {_dtype}", (f"{_dtype}[b, n]", "i64[b, m]", f"{_dtype}[b, m]"),
        emit("scatter_along", axis=1), (f"{_dtype}[b, n]",), elements(1), domain=SOME,
        fill=indices_for(1),
    )  # fmt: skip
for _dtype in INTEGERS:
    CASES.add(
        "scatter", f"with {_dtype} indices", ("f32[n]", f"{_dtype}[m]", "f32[m]"),
        emit("scatter", axis=0), ("f32[n]",), slices(0), domain=SOME, fill=indices_for(0),
        sizes=({"n": 300, "m": 50},),
    )  # fmt: skip
for _dtype in (f32, f64, i32, u8):
    for _combine in ("add", "mul", "max", "min"):
        CASES.add(
            "scatter", f"{_combine} {_dtype}",
            (f"{_dtype}[b, n, 5]", "i32[m]", f"{_dtype}[b, m, 5]"),
            emit("scatter", axis=1, combine=_combine), (f"{_dtype}[b, n, 5]",),
            slices(1, _combine), domain=SOME, fill=indices_for(1), tolerance=accumulated(64),
        )  # fmt: skip
        CASES.add(
            "scatter_along", f"{_combine} {_dtype}",
            (f"{_dtype}[n, 5]", "i64[m, k]", f"{_dtype}[m, k]"),
            emit("scatter_along", axis=0, combine=_combine), (f"{_dtype}[n, 5]",),
            elements(0, _combine), ("k <= 5",), domain=SOME, fill=indices_for(0),
            tolerance=accumulated(64), sizes=({"n": 3, "m": 11, "k": 4},),
        )  # fmt: skip
CASES.add(
    "scatter", "indices of rank 2", ("f32[n, 2]", "i64[b, m]", "f32[b, m, 2]"),
    emit("scatter", axis=0, combine="add"), ("f32[n, 2]",), slices(0, "add"), domain=SOME,
    fill=indices_for(0), tolerance=accumulated(64),
)  # fmt: skip
