"""Worklists. The expectation places one row after the other, as the op's words have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng

from anyshape.ir import Builder, DType, Value
from anyshape.ir.attrs import make_attrs
from anyshape.ir.opdef import lookup

CASES = Collection()


def worklist(groups: int | str, capacity: int | str) -> Callable[..., tuple[Value, ...]]:
    def make(b: Builder, keys: Value) -> tuple[Value, ...]:
        entry = lookup("worklist")
        attrs = make_attrs("worklist", entry.attrs, {"groups": groups, "capacity": capacity})
        return b.node(entry, [keys], attrs).results

    return make


def keys_of(groups: int) -> Callable[..., list[Any]]:
    """Groups, and now and then a key that is none."""

    def fill(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
        return [rng.integers(-1, groups + 1, shapes[0]).astype(dtypes[0].numpy)]

    return fill


def placed(groups: int, capacity: int | None = None) -> Callable[..., Any]:
    def expect(keys: Any) -> tuple[Any, ...]:
        lists: list[list[int]] = [[] for _ in range(groups + 1)]
        for row, key in enumerate(keys.ravel().tolist()):
            taken = 0 <= key < groups and (capacity is None or len(lists[key]) < capacity)
            lists[key if taken else groups].append(row)
        order = [row for rows in lists for row in rows]
        ends = [sum(map(len, lists[: group + 1])) for group in range(groups)]
        position = [order.index(row) for row in range(len(order))]
        tokens = [int(np.unravel_index(row, keys.shape)[0]) for row in order]
        made = [np.array(numbers, np.int64) for numbers in (order, ends, position, tokens)]
        return made[0], made[1], made[2].reshape(keys.shape), made[3]

    return expect


for _dtype in ("i32", "i64"):
    CASES.add(
        "worklist", f"all rows {_dtype}", (f"{_dtype}[n]",), worklist(5, "n"),
        ("i64[n]", "i64[5]", "i64[n]", "i64[n]"), placed(5), fill=keys_of(5), sizes=({"n": 200},),
    )  # fmt: skip
CASES.add(
    "worklist", "two rows of each group", ("i64[n]",), worklist(3, 2),
    ("i64[n]", "i64[3]", "i64[n]", "i64[n]"), placed(3, 2), fill=keys_of(3), sizes=({"n": 30},),
)  # fmt: skip
CASES.add(
    "worklist", "no rows at all", ("i64[n]",), worklist(4, 0),
    ("i64[n]", "i64[4]", "i64[n]", "i64[n]"), placed(4, 0), fill=keys_of(4),
)  # fmt: skip
CASES.add(
    "worklist", "no groups", ("i32[n]",), worklist(0, "n"),
    ("i64[n]", "i64[0]", "i64[n]", "i64[n]"), placed(0), fill=keys_of(0),
)  # fmt: skip
CASES.add(
    "worklist", "three choices for each token", ("i32[n, 3]",), worklist(4, "3*n"),
    ("i64[3*n]", "i64[4]", "i64[n, 3]", "i64[3*n]"), placed(4), fill=keys_of(4),
)  # fmt: skip
CASES.add(
    "worklist", "three choices of full groups", ("i64[n, 3]",), worklist(4, 5),
    ("i64[3*n]", "i64[4]", "i64[n, 3]", "i64[3*n]"), placed(4, 5), fill=keys_of(4),
    sizes=({"n": 30},),
)  # fmt: skip
