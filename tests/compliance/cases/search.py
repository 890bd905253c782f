"""Binary search, by counting what comes before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng, emit

from anyshape.ir import DType
from anyshape.ir.types import INTEGERS, f32, f64

CASES = Collection()


def _sorted(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Few numbers, so that many are equal; some are none."""
    low = 0 if dtypes[0].kind == "uint" else -4
    ordered, x = (rng.integers(low, 9, shape).astype(dtypes[0].numpy) for shape in shapes)
    if dtypes[0].is_float:
        x = np.where(rng.random(x.shape) < 0.1, np.array(np.nan, x.dtype), x)
    return [np.sort(ordered, -1), x]


def _before(right: bool) -> Callable[[Any, Any], Any]:
    def expect(ordered: Any, x: Any) -> Any:
        numbers, limits = ordered[..., None, :], x[..., None]
        before = numbers <= limits if right else numbers < limits
        count = (before | np.isnan(limits.astype(np.float64))).sum(-1)
        return np.reshape(count, x.shape)

    return expect


for _dtype in (f32, f64, *INTEGERS):
    CASES.add(
        "search_sorted", f"rows {_dtype}", (f"{_dtype}[b, n]", f"{_dtype}[b, m]"),
        emit("search_sorted", right=_dtype in (f32, *INTEGERS[::2])), ("i64[b, m]",),
        _before(_dtype in (f32, *INTEGERS[::2])), fill=_sorted,
        sizes=({"b": 2, "n": 40, "m": 3000},),
    )  # fmt: skip
for _right in (False, True):
    CASES.add(
        "search_sorted", f"one row, right {_right}", ("f32[n]", "f32[b, m]"),
        emit("search_sorted", right=_right), ("i64[b, m]",), _before(_right), fill=_sorted,
    )  # fmt: skip
CASES.add(
    "search_sorted", "a number", ("f32[n]", "f32[]"), emit("search_sorted"), ("i64[]",),
    _before(False), fill=_sorted,
)  # fmt: skip
