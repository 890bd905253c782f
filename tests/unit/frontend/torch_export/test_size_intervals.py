"""Sizes around one for which a condition holds, against trying all of them."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from torch.utils._sympy.functions import (
    CeilToInt,
    FloatPow,
    FloorDiv,
    IntTrueDiv,
    Mod,
    RoundToInt,
    ToFloat,
    TruncToInt,
)

from anyshape.frontend.torch_export.size_intervals import holds_at, interval_around

N: Any = sympy.Symbol("n", integer=True, nonnegative=True)
M: Any = sympy.Symbol("m", integer=True, nonnegative=True)
HALF = TruncToInt(0.5 * ToFloat(N))
ROOT = TruncToInt(FloatPow(ToFloat(N), 0.5))
CONDITIONS: list[Any] = [
    sympy.Eq(HALF, 3),
    sympy.Eq(ROOT, 2),
    sympy.Eq(ROOT, 0),
    sympy.Eq(CeilToInt(IntTrueDiv(N, 3)), 2),
    sympy.Eq(RoundToInt(0.3 * ToFloat(N)), 2),
    sympy.Gt(IntTrueDiv(N, 2), 3.5),
    sympy.Le(IntTrueDiv(N, 2), 3.5),
    sympy.Eq(FloorDiv(N, 4), 1),
    sympy.Ne(N, 5),
    sympy.Or(sympy.Eq(N, 6), sympy.Eq(N, 7)),
    sympy.Ne(Mod(N, 3), 0),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_intervals_are_those_found_by_trying(condition: Any) -> None:
    for size in range(40):
        interval = interval_around(condition, N, size)
        if not holds_at(condition, {N: size}):
            assert interval is None
            continue
        assert interval is not None
        low, high = interval
        inside = range(low, 1000 if high is None else high + 1)
        assert size in inside
        assert all(holds_at(condition, {N: each}) for each in inside)
        assert low == 0 or not holds_at(condition, {N: low - 1})
        assert high is None or high > 1000 or not holds_at(condition, {N: high + 1})


def test_what_grows_without_end_has_no_end() -> None:
    assert interval_around(sympy.Gt(IntTrueDiv(N, 2), 3.5), N, 9) == (8, None)
    assert interval_around(sympy.Eq(ROOT, 1000), N, 1_000_000) == (1_000_000, 1_002_000)


def test_a_division_by_nothing_holds_nowhere() -> None:
    assert not holds_at(sympy.Eq(FloorDiv(M, N), 0), {M: 3, N: 0})


def test_a_root_of_less_than_0_is_compared_with_nothing() -> None:
    condition = FloatPow(ToFloat(N - 3), 0.5) > 2.0
    assert holds_at(condition, {N: 8})
    assert not holds_at(condition, {N: 0})
    assert interval_around(condition, N, 8) is not None
