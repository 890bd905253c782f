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


# --- in parts -------------------------------------------------------------------------------------


def merged(axis: int, kept: int | str, descending: bool, length: int) -> Callable[..., Any]:
    """Parts and what they are merged to, as passes make them."""

    def make(b: Builder, x: Value) -> tuple[Value, ...]:
        parts = f"{x.tensor.shape[axis]}//{length} + 1"
        attrs: dict[str, object] = {"axis": axis, "kept": kept, "descending": descending}
        attrs |= {"parts": parts, "length": length}
        first, second = lookup("sort_parts"), lookup("merge_parts")
        given = b.node(first, [x], make_attrs("sort_parts", first.attrs, attrs)).results
        made = make_attrs("merge_parts", second.attrs, attrs)
        return b.node(second, [x, *given], made).results

    return make


def cut(axis: int, kept: int, descending: bool, length: int) -> Callable[..., Any]:
    """Each piece of a row by itself."""

    def expect(x: Any) -> tuple[Any, Any]:
        x = np.moveaxis(x, axis, 1)
        parts, width = x.shape[1] // length, min(kept, length)
        values, places = np.zeros((2, parts, len(x), width))
        for part in range(parts):
            inside = x[:, part * length : (part + 1) * length]
            found = in_order(1, descending, min(width, inside.shape[1]))(inside)
            values[part, :, : found[0].shape[1]] = found[0]
            places[part, :, : found[1].shape[1]] = found[1] + part * length
        return values, places.astype(np.int64)

    return expect


for _dtype in ALL_DTYPES:
    CASES.add(
        "merge_parts", f"rows {_dtype}", (f"{_dtype}[b, n]",), merged(1, "n", False, 3),
        (f"{_dtype}[b, n]", "i64[b, n]"), in_order(1, False), fill=few_values,
    )  # fmt: skip
CASES.add(
    "merge_parts", "the greatest of a middle axis", ("f32[a, n, 3]",), merged(1, 2, True, 4),
    ("f32[a, 2, 3]", "i64[a, 2, 3]"), in_order(1, True, 2), domain=("2 <= n",), fill=few_values,
    sizes=({"a": 2, "n": 9}, {"a": 3, "n": 40}),
)  # fmt: skip
CASES.add(
    "merge_parts", "columns, down", ("f32[n, 3]",), merged(0, "n", True, 5),
    ("f32[n, 3]", "i64[n, 3]"), in_order(0, True), fill=few_values,
)  # fmt: skip
for _axis, _kept, _down, _length in ((1, 3, True, 4), (0, 2, False, 2)):
    CASES.add(
        "sort_parts", f"the first {_kept} of {_length}",
        ("f32[b, n]",) if _axis else ("f32[n, b]",),
        both("sort_parts", axis=_axis, kept=_kept, descending=_down, parts=f"n//{_length}",
             length=_length),
        (f"f32[n//{_length}, b, {min(_kept, _length)}]",
         f"i64[n//{_length}, b, {min(_kept, _length)}]"),
        cut(_axis, _kept, _down, _length), domain=(f"n % {_length} == 0",), fill=few_values,
        sizes=({"b": 2, "n": 8}, {"b": 1, "n": 40}),
    )  # fmt: skip
