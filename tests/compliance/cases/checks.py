"""Checks of values: the first element outside, found by a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Rng, emit

from anyshape.ir import DType
from anyshape.ir.types import INTEGERS

CASES = Collection()


def some_outside(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Mostly in range, and no earlier offence."""
    signed = dtypes[0].kind == "int"
    x = rng.integers(-1 if signed else 0, 9, shapes[0])
    rare = rng.random(shapes[0]) < 0.2
    return [np.where(rare, x, 0).astype(dtypes[0].numpy), np.array([-1, 0, 0, 0])]


def found_before(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    return [some_outside(rng, shapes, dtypes)[0], np.array([2, 5, -7, 3])]


def first(size: int | None, number: int, low: int, live: bool = True) -> Callable[..., Any]:
    """A size of None is that of `x`."""

    def expect(x: Any, earlier: Any) -> Any:
        if earlier[0] >= 0:
            return earlier
        end = x.shape[0] if size is None else size
        for position, element in enumerate(x.reshape(-1).tolist()):
            if live and not (-end if low else 0) <= element < end:
                return np.array([number, position, element, end])
        return np.array([-1, 0, 0, 0])

    return expect


for _dtype in INTEGERS:
    CASES.add(
        "first_outside", f"rows of {_dtype}", (f"{_dtype}[n, m]", "i64[4]"),
        emit("first_outside", size=5, number=1, live=1), ("i64[4]",), first(5, 1, 0),
        fill=some_outside,
    )  # fmt: skip
CASES.add(
    "first_outside", "of bool", ("bool[n]", "i64[4]"),
    emit("first_outside", size=1, number=0, live=1), ("i64[4]",), first(1, 0, 0), fill=some_outside,
)  # fmt: skip
CASES.add(
    "first_outside", "from the end, a symbolic size", ("i64[n]", "i64[4]"),
    emit("first_outside", size="n", number=3, live=1, from_end=True), ("i64[4]",),
    first(None, 3, 1), fill=some_outside,
)  # fmt: skip
CASES.add(
    "first_outside", "of nothing that counts", ("i64[n]", "i64[4]"),
    emit("first_outside", size=2, number=3, live=0), ("i64[4]",), first(2, 3, 0, live=False),
    fill=some_outside,
)  # fmt: skip
CASES.add(
    "first_outside", "after another one", ("i64[n]", "i64[4]"),
    emit("first_outside", size=2, number=3, live=1), ("i64[4]",), first(2, 3, 0), fill=found_before,
)  # fmt: skip
