"""Cumulative ops against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import check, floats, integers, run

import anyshape as ash

THEIRS = {
    "cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
}  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", THEIRS)
def test_along_an_axis(name: str, axis: int) -> None:
    ours, theirs = getattr(ash, name), THEIRS[name]
    check(lambda x: ours(x, axis), lambda x: theirs.accumulate(x, axis), floats(3, 4))


def test_without_an_axis_over_all() -> None:
    check(ash.cumsum, np.cumsum, floats(3, 4))


def test_integers_are_64_bits_wide() -> None:
    found = run(lambda x: ash.cumsum(ash.asarray(x).astype(ash.i8), 0), integers(5) * 0 + 100)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [100, 200, 300, 400, 500])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"exclusive": True}, [0, 1, 3]),
        ({"reverse": True}, [6, 5, 3]),
        ({"exclusive": True, "reverse": True}, [5, 3, 0]),
    ],
    ids=str,
)
def test_where_it_starts(options: dict[str, Any], expected: list[int]) -> None:
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(run(lambda x: ash.cumsum(x, 0, **options), x), expected)
