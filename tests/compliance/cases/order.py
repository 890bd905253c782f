"""Sorting: stable, NaN greatest. The expectation is torch's, which sorts so too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng

from anyshape.ir import Builder, DType, Value
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup
from anyshape.ir.types import ALL_DTYPES

CASES = Collection()


def both(op: str, **attrs: object) -> Callable[..., tuple[Value, ...]]:
    """Both results of a sort."""

    def make(b: Builder, x: Value) -> tuple[Value, ...]:
        entry = lookup(op)
        return b.node(entry, [x], make_attrs(op, entry.attrs, attrs)).results

    return make


def few_values(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Many equal elements, zeros of both signs, NaN and infinities."""
    numbers = rng.integers(0, 6, shapes[0])
    if dtypes[0].is_float:
        table = np.array([-1.5, -0.0, 0.0, 2.5, np.nan, np.inf])
        return [table[numbers].astype(dtypes[0].numpy)]
    return [numbers.astype(dtypes[0].numpy)]


def in_order(axis: int, descending: bool, kept: int | None = None) -> Callable[..., Any]:
    """By Python's own sort, which is stable."""

    def expect(x: Any) -> tuple[Any, Any]:
        count = x.shape[axis] if kept is None else kept
        rows = np.moveaxis(x, axis, -1)
        places = np.zeros((*rows.shape[:-1], count), np.int64)
        for row in np.ndindex(*rows.shape[:-1]):
            numbers = [_key(value, descending) for value in rows[row]]
            places[row] = sorted(range(len(numbers)), key=numbers.__getitem__)[:count]
        return (
            np.moveaxis(np.take_along_axis(rows, places, -1), -1, axis),
            np.moveaxis(places, -1, axis),
        )

    return expect


def _key(value: Any, descending: bool) -> tuple[int, float]:
    nan = bool(np.isnan(float(value)))
    number = 0.0 if nan else float(value)
    return (-int(nan), -number) if descending else (int(nan), number)


for _dtype in ALL_DTYPES:
    CASES.add(
        "sort", f"rows {_dtype}", (f"{_dtype}[b, n]",), both("sort", axis=1),
        (f"{_dtype}[b, n]", "i64[b, n]"), in_order(1, False), fill=few_values,
    )  # fmt: skip
    CASES.add(
        "topk", f"rows {_dtype}", (f"{_dtype}[b, n]",), both("topk", axis=1, k=2),
        (f"{_dtype}[b, 2]", "i64[b, 2]"), in_order(1, True, 2), ("2 <= n",), fill=few_values,
        sizes=({"b": 3, "n": 40},),
    )  # fmt: skip
for _axis, _descending in ((0, True), (1, True), (1, False), (2, True)):
    CASES.add(
        "sort", f"axis {_axis} {'down' if _descending else 'up'}", ("f32[a, n, 3]",),
        both("sort", axis=_axis, descending=_descending), ("f32[a, n, 3]", "i64[a, n, 3]"),
        in_order(_axis, _descending), fill=few_values,
    )  # fmt: skip
CASES.add(
    "topk", "least of a middle axis", ("f32[a, n, 3]",), both("topk", axis=1, k=3, largest=False),
    ("f32[a, 3, 3]", "i64[a, 3, 3]"), in_order(1, False, 3), ("3 <= n",), fill=few_values,
    sizes=({"a": 2, "n": 9},),
)  # fmt: skip
CASES.add(
    "topk", "all of them", ("f32[n]",), both("topk", axis=0, k="n"),
    ("f32[n]", "i64[n]"), in_order(0, True), fill=few_values,
)  # fmt: skip
