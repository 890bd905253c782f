"""Reductions: torch in f64 for floats, Python integers for integers, neutral where empty."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import torch
from tests.compliance.case import Collection, Rng, emit
from tests.compliance.expect import as_torch, wrapped
from tests.compliance.inputs import values
from tests.compliance.tolerance import ANY_ZERO, accumulated

from anyshape.ir import DType
from anyshape.ir.types import ALL_DTYPES, FLOATS, NUMERIC, f32

CASES = Collection()

SHAPES = [
    # axes, keepdims, operand, result
    ((1,), False, "[batch, seq]", "[batch]"),
    ((0, 2), True, "[batch, seq//2 + 1, seq]", "[1, seq//2 + 1, 1]"),
    ((2, 0), False, "[batch, 3, seq]", "[3]"),
    ((0, 1), False, "[?, 4]", "[]"),
    ((), False, "[batch]", "[batch]"),
    ((), True, "[]", "[]"),
]


def by_folding(step: Callable[[Any, Any], Any], start: Callable[[Any], Any]) -> Callable[..., Any]:
    """Folds integers one after the other, without overflow; the end wraps around."""

    def expect(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.astype(object).transpose(*kept, *axes)
        shape = rows.shape[: len(kept)]
        count = int(np.prod(rows.shape[len(kept) :]))
        folded = np.empty(shape, object)
        flat = rows.reshape((*shape, count))
        for place in np.ndindex(shape):
            folded[place] = reduce(step, flat[place], start(x.dtype))
        if keepdims:
            folded = folded.reshape([1 if axis in axes else n for axis, n in enumerate(x.shape)])
        return folded.astype(np.bool_) if x.dtype == np.bool_ else wrapped(folded, x.dtype)

    return expect


def by_torch_over(function: Callable[..., Any], empty: float) -> Callable[..., Any]:
    """`function(x, axis, keepdim)` of torch, along one merged axis; `empty` for no elements."""

    def expect(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        if not axes:
            return x
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.transpose(*kept, *axes)
        count = int(np.prod([x.shape[axis] for axis in axes]))
        rows = rows.reshape((*rows.shape[: len(kept)], count))
        shape = [
            1 if axis in axes else n for axis, n in enumerate(x.shape) if keepdims or axis in kept
        ]
        if not count:
            return np.full(shape, empty)
        return function(as_torch(rows), -1).numpy().reshape(shape)

    return expect


def _with_axes(expect: Callable[..., Any], axes: tuple[int, ...], keepdims: bool) -> Any:
    return lambda x: expect(x, axes, keepdims)


def _lowest(dtype: Any) -> int:
    return 0 if dtype == np.bool_ else np.iinfo(dtype).min


def _highest(dtype: Any) -> int:
    return 1 if dtype == np.bool_ else np.iinfo(dtype).max


def _sprinkled(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """NaN and infinities here and there."""
    return [values(rng, shapes[0], dtypes[0], special=True)]


def _near_one(rng: Rng, shapes: list[tuple[int, ...]], dtypes: list[DType]) -> list[Any]:
    """Factors whose product neither overflows nor vanishes on the way; integers wrap around."""
    if not dtypes[0].is_float:
        return [values(rng, shapes[0], dtypes[0])]
    factors = rng.uniform(0.8, 1.25, shapes[0]) * rng.choice([-1, 1], shapes[0])
    return [factors.astype(dtypes[0].numpy)]


REDUCTIONS = {
    "sum": (NUMERIC, by_torch_over(torch.sum, 0), by_folding(operator.add, lambda _: 0)),
    "prod": (NUMERIC, by_torch_over(torch.prod, 1), by_folding(operator.mul, lambda _: 1)),
    "max": (ALL_DTYPES, by_torch_over(torch.amax, -np.inf), by_folding(max, _lowest)),
    "min": (ALL_DTYPES, by_torch_over(torch.amin, np.inf), by_folding(min, _highest)),
    "mean": (FLOATS, by_torch_over(torch.mean, np.nan), by_folding(max, _lowest)),
}

# A product of n factors has n roundings, n up to two thousand here; so has a sum of order one.
TOLERANCES = {
    "sum": accumulated(512),
    "prod": accumulated(0, ulps=1024),
    "max": ANY_ZERO,
    "min": ANY_ZERO,
    "mean": accumulated(8),
}
FILLS = {"max": _sprinkled, "min": _sprinkled, "prod": _near_one}

for _op, (_dtypes, _floats, _integers) in REDUCTIONS.items():
    for _dtype in _dtypes:
        for _axes, _keep, _shape, _result in SHAPES if _dtype is f32 else SHAPES[:2]:
            CASES.add(
                _op, f"{_dtype}{_shape} over {_axes}", (f"{_dtype}{_shape}",),
                emit(_op, axes=_axes, keepdims=_keep), (f"{_dtype}{_result}",),
                _with_axes(_floats if _dtype.is_float else _integers, _axes, _keep),
                tolerance=TOLERANCES[_op], fill=FILLS.get(_op),
            )  # fmt: skip

CASES.add(
    "sum", "over NaN and infinities", ("f32[batch, seq]",), emit("sum", axes=(1,)), ("f32[batch]",),
    lambda x: as_torch(x).sum(1).numpy(), tolerance=accumulated(64),
    fill=lambda rng, shapes, dtypes: [
        np.where(rng.random(shapes[0]) < 0.1, np.float32(rng.choice([np.nan, np.inf, -np.inf])), 1)
        .astype(np.float32)
    ],
)  # fmt: skip


# --- arg-reductions -------------------------------------------------------------------------------


def _arg(better: Callable[[Any, Any], bool], axis: int, keepdims: bool) -> Callable[..., Any]:
    """The first place of the best; NaN is better than all."""

    def nan(number: Any) -> bool:
        return bool(np.isnan(np.float64(number)))

    def first_best(row: Any) -> int:
        best = 0
        for place, number in enumerate(row):
            if not nan(row[best]) and (nan(number) or better(number, row[best])):
                best = place
        return best

    def expect(x: Any) -> Any:
        rows = np.moveaxis(x, axis, -1)
        found = np.empty(rows.shape[:-1], np.int64)
        for place in np.ndindex(found.shape):
            found[place] = first_best(rows[place])
        return np.expand_dims(found, axis) if keepdims else found

    return expect


for _op, _better in (("argmax", operator.gt), ("argmin", operator.lt)):
    for _dtype in ALL_DTYPES:
        CASES.add(
            _op, str(_dtype), (f"{_dtype}[batch, seq]",), emit(_op, axis=1), ("i64[batch]",),
            _arg(_better, 1, False), ("1 <= seq",), tolerance=ANY_ZERO, fill=_sprinkled,
        )  # fmt: skip
    CASES.add(
        _op, "kept", ("f32[batch, seq//2 + 1, 3]",), emit(_op, axis=1, keepdims=True),
        ("i64[batch, 1, 3]",), _arg(_better, 1, True), tolerance=ANY_ZERO, fill=_sprinkled,
    )  # fmt: skip
    CASES.add(
        _op, "fresh", ("f32[?]",), emit(_op, axis=0), ("i64[]",), _arg(_better, 0, False),
        ("1 <= ?0",), tolerance=ANY_ZERO,
    )  # fmt: skip
