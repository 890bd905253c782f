"""Cumulative ops: element by element in f64 or in Python's integers, one step after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, Fill, Rng, emit
from tests.compliance.expect import wrapped
from tests.compliance.inputs import values
from tests.compliance.tolerance import ANY_ZERO, Tolerance, accumulated

from anyshape.ir import DType
from anyshape.ir.types import NUMERIC, f32

CASES = Collection()

Step = Callable[[Any, Any], Any]
Start = Callable[[DType], Any]

SHAPES = [
    # axis, exclusive, reverse, operand
    (1, False, False, "[batch, seq]"),
    (0, True, False, "[seq, batch]"),
    (1, False, True, "[batch, seq//2 + 1, 5]"),
    (2, True, True, "[batch, 2, seq]"),
    (0, False, False, "[seq]"),
]


def _walked(
    step: Callable[[Any, Any], Any],
    start: Callable[[DType], Any],
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> Callable[..., Any]:
    """A loop over each row, as the definition says."""

    def expect(x: Any) -> Any:
        dtype = next(d for d in NUMERIC if d.numpy == x.dtype) if x.dtype.kind in "iu" else f32
        rows = np.moveaxis(x if dtype.is_float else x.astype(object), axis, -1)
        out = np.empty(rows.shape, rows.dtype)
        for place in np.ndindex(rows.shape[:-1]):
            total = start(dtype)
            order = range(rows.shape[-1])
            for i in reversed(order) if reverse else order:
                before, total = total, step(total, rows[(*place, i)])
                out[(*place, i)] = before if exclusive else total
        found = np.moveaxis(out, -1, axis)
        return found if dtype.is_float else wrapped(found, x.dtype)

    return expect


def _larger(a: Any, b: Any) -> Any:
    return a if a != a or a > b else b  # noqa: PLR0124  NaN stays


def _smaller(a: Any, b: Any) -> Any:
    return a if a != a or a < b else b  # noqa: PLR0124  NaN stays


def _sprinkled(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    return [values(rng, shapes[0], dtypes[0], special=True)]


def _near_one(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Factors whose product neither overflows nor vanishes on the way; integers wrap around."""
    if not dtypes[0].is_float:
        return [values(rng, shapes[0], dtypes[0])]
    factors = rng.uniform(0.8, 1.25, shapes[0]) * rng.choice([-1, 1], shapes[0])
    return [factors.astype(dtypes[0].numpy)]


def _zero(_: DType) -> int:
    return 0


def _one(_: DType) -> int:
    return 1


OPS: dict[str, tuple[Step, Start, Tolerance, Fill | None]] = {
    "cumsum": (operator.add, _zero, accumulated(512), None),
    "cumprod": (operator.mul, _one, accumulated(0, ulps=1024), _near_one),
    "cummax": (_larger, lambda dtype: dtype.lowest, ANY_ZERO, _sprinkled),
    "cummin": (_smaller, lambda dtype: dtype.highest, ANY_ZERO, _sprinkled),
}

for _op, (_step, _start, _tolerance, _fill) in OPS.items():
    for _dtype in NUMERIC:
        for _axis, _exclusive, _reverse, _shape in SHAPES if _dtype is f32 else SHAPES[1:3]:
            CASES.add(
                _op, f"{_dtype}{_shape} along {_axis}", (f"{_dtype}{_shape}",),
                emit(_op, axis=_axis, exclusive=_exclusive, reverse=_reverse),
                (f"{_dtype}{_shape}",),
                _walked(_step, _start, _axis, exclusive=_exclusive, reverse=_reverse),
                tolerance=_tolerance, fill=_fill,
            )  # fmt: skip
