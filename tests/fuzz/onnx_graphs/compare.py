"""Whether our results are onnxruntime's, as far as rounding allows.

Bounds are of a dtype: what sums of dozens of numbers and functions of a few units in the last place
add up to. Where that is too little, noise in the model says how far rounding moves an element.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.program import Array

TOLERANCE = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-9}
NOISE = 20
"""By how much our error may exceed what noise shows: it moves results by a part of its bound."""

Spread = Callable[[], "list[Any] | None"]


def difference(given: list[Any], references: list[list[Any]], spread: Spread) -> str | None:
    """In words: to all references. None if one of them is near."""
    asked = cache(spread)
    found = [_to_one(given, reference, asked) for reference in references]
    return None if None in found else found[0]


def _to_one(given: list[Any], wanted: list[Any], spread: Spread) -> str | None:
    if len(given) != len(wanted):
        return f"{len(given)} results instead of {len(wanted)}"
    for number, pair in enumerate(zip(given, wanted, strict=True)):
        if _unlike(*pair, None) is None:
            continue
        problem = _unlike(*pair, _of_result(spread(), number))
        if problem is not None:
            return f"result {number}: {problem}"
    return None


def _of_result(spreads: list[Any] | None, number: int) -> Any:
    if spreads is None:
        return None
    return "anything" if spreads[number] is None else spreads[number]


def _unlike(given: Any, wanted: Any, spread: Any) -> str | None:
    if isinstance(wanted, list):
        return _unlike_lists(given, wanted, spread)
    if not isinstance(given, np.ndarray):
        return f"{given!r} instead of an array"
    if given.dtype != wanted.dtype:
        return f"{given.dtype} instead of {wanted.dtype}"
    if isinstance(spread, str):
        return None  # rounding decides the shape
    if given.shape != wanted.shape:
        return f"shape {given.shape} instead of {wanted.shape}"
    near = _near(given, wanted, np.zeros(wanted.shape) if spread is None else spread)
    if near.all():
        return None
    at = tuple(int(n) for n in np.argwhere(~near)[0])
    return (
        f"{int((~near).sum())} of {near.size} elements of {wanted.dtype} {wanted.shape}, "
        f"first at {list(at)}: {given[at]} instead of {wanted[at]}"
    )


def _unlike_lists(given: Any, wanted: list[Any], spread: Any) -> str | None:
    if not isinstance(given, list) or len(given) != len(wanted):
        return f"{given!r} instead of a list of {len(wanted)}"
    each = spread if isinstance(spread, list) else [spread] * len(wanted)
    found = (
        _unlike(a, b, "anything" if isinstance(spread, list) and c is None else c)
        for a, b, c in zip(given, wanted, each, strict=True)
    )
    return next(filter(None, found), None)


def _near(given: Array, wanted: Array, spread: Array) -> Array:
    with np.errstate(all="ignore"):
        if wanted.dtype.kind != "f":
            return (given == wanted) | np.isinf(spread)
        left, right = given.astype(np.float64), wanted.astype(np.float64)
        bound = TOLERANCE[wanted.dtype.name] * (1 + np.abs(right)) + NOISE * spread
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return same | (np.abs(left - right) <= bound) | np.isinf(spread)
