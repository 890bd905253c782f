"""Indexing against NumPy, at dynamic and static sizes, with many forms of index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import bools, check, floats, integers, run

import anyshape as ash
from anyshape.sym import maximum

SLICES = [
    slice(None), slice(1, None), slice(None, 2), slice(-2, None), slice(None, -1), slice(1, -1),
    slice(0, 100), slice(-100, 2), slice(3, 1), slice(None, None, 2), slice(1, None, 3),
    slice(None, None, -1), slice(None, None, -2), slice(3, 0, -1), slice(-1, -4, -1),
    slice(100, None, -3), slice(1, 3, -1), slice(0, None, -1), slice(None, 1, -2), slice(3, -2, 2),
]  # fmt: skip


@pytest.mark.parametrize("index", SLICES, ids=str)
@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
def test_slices(index: slice, size: int) -> None:
    check(lambda x: x[index], lambda x: x[index], floats(size))


FORMS: list[Any] = [
    0, -1, (1, 2), (0, -1, 1), ..., (..., 0), (0, ...), (slice(None), 1), (..., slice(None, -1)),
    None, (None, 0), (0, None), (slice(1), None, slice(2, None), None), (..., None), (1, ..., None),
    (slice(None, None, -1), slice(None, None, 2), -1), (slice(0, 0),), (),
]  # fmt: skip


@pytest.mark.parametrize("index", FORMS, ids=str)
def test_basic_forms(index: Any) -> None:
    check(lambda x: x[index], lambda x: x[index], floats(3, 4, 5))


ARRAYS: list[Any] = [
    [0, 2, 1], [-1, 0], np.array([[0, 1], [2, -3]]), (slice(None), [1, 1]), ([0, 1], [2, 3]),
    ([0, 1], slice(None), [2, 3]), (..., [0, 4]), (0, slice(None), [1, 2]), ([0, 1], 2),
    (slice(None), 1, [0, 1]), ([[0], [1]], [2, 3, -1]), (None, [0, 1]), ([0, 2], None, [1, 1]),
    np.zeros((0,), np.int64), (slice(None, None, -1), [3, 0]), (slice(1, 3), [1, 0], [0, 0]),
]  # fmt: skip


@pytest.mark.parametrize("index", ARRAYS, ids=str)
def test_index_arrays(index: Any) -> None:
    check(lambda x: x[index], lambda x: x[index], floats(3, 4, 5))


def test_traced_index_tensors() -> None:
    x, rows, columns = floats(4, 6), integers(3, low=-4, high=4), integers(3, low=-6, high=6)
    check(lambda x, i: x[i], lambda x, i: x[i], x, rows)
    check(lambda x, i, j: x[i, j], lambda x, i, j: x[i, j], x, rows, columns)
    check(lambda x, i: x[:, i], lambda x, i: x[:, i], x, columns)
    check(lambda x, i: x[i], lambda x, i: x[i], x, rows.astype(np.int32))
    check(lambda x, i: x[i[0], 1:], lambda x, i: x[i[0], 1:], x, rows)


def test_last_token_of_each_sequence() -> None:
    x, lengths = floats(4, 7, 2), np.array([1, 7, 3, 2])
    last = lambda xp: lambda x, n: x[xp.arange(x.shape[0]), n - 1]  # noqa: E731
    check(last(ash), last(np), x, lengths)


def test_an_index_out_of_range_is_an_error_even_when_merging_would_hide_it() -> None:
    with pytest.raises(ash.errors.EvaluationError, match="gather"):
        run(lambda x, i, j: x[i, j], floats(3, 4), np.array([0]), np.array([5]))
    with pytest.raises(ash.errors.EvaluationError, match="gather"):
        run(lambda x, i: x[i], floats(3, 4), np.array([-4]))


def test_an_integer_index_out_of_range_is_found_at_trace_time() -> None:
    with pytest.raises(ash.errors.RequirementError, match=r"slice.*test_index\.py"):
        run(lambda x: x[3], floats(3), static=True)


def test_dims_as_bounds() -> None:
    check(lambda x, k: x[: k.shape[0]], lambda x, k: x[: len(k)], floats(5), floats(3))
    check(lambda x, k: x[-k.shape[0] :], lambda x, k: x[-len(k) :], floats(5), floats(3))
    check(lambda x, k: x[x.shape[0] - 2], lambda x, k: x[-2], floats(5), floats(3))


SIGNED: dict[str, Any] = {
    "a start of either sign": lambda x, k: x[k.shape[0] - 3 :],
    "a stop of either sign": lambda x, k: x[: k.shape[0] - 3],
    "a difference of axes": lambda x, k: x[: x.shape[0] - k.shape[0]],
    "the last k, or all": lambda x, k: x[-k.shape[0] :],
    "all but the last k, or none": lambda x, k: x[: -k.shape[0]],
    "a half, which may be none": lambda x, k: x[-(k.shape[0] // 2) :],
    "all but the last": lambda x, k: x[1:] - x[: x.shape[0] - 1],
    "from the last backwards": lambda x, k: x[x.shape[0] - 1 :: -1],
    "both ends": lambda x, k: x[k.shape[0] - 4 : x.shape[0] - 2 : 2],
    "backwards from it": lambda x, k: x[k.shape[0] - 3 :: -1],
    "backwards to it": lambda x, k: x[: k.shape[0] - 3 : -2],
    "from the end and reversed": lambda x, k: x[::-1][-k.shape[0] :],
}


@pytest.mark.parametrize("function", SIGNED.values(), ids=SIGNED)
@pytest.mark.parametrize(("size", "k"), [(5, 3), (5, 0), (5, 2), (1, 1), (0, 2), (2, 7), (7, 7)])
def test_a_bound_whose_sign_sizes_decide_is_what_python_makes_of_its_value(
    function: Any, size: int, k: int
) -> None:
    check(function, function, floats(size), floats(k))


def test_a_bound_that_is_zero_by_the_facts_is_a_position() -> None:
    """It is not negative either, and must not count from the end."""

    def after(x: Any, k: Any) -> Any:
        return x[maximum(0, 1 - k.shape[0]) :]

    after.__annotations__.update(x=ash.f32["n"], k=ash.f32["rows"])
    traced = ash.jit(axes=[ash.Axis("rows", min=1)], executor="reference")(after)
    found = traced(floats(5), floats(3))
    np.testing.assert_array_equal(found, floats(5))


def test_a_traced_mask_selects_with_where_or_nonzero() -> None:
    x, mask = floats(6), bools(6)
    check(lambda x, m: x[ash.nonzero(m)], lambda x, m: x[m], x, mask)


def _trimmed(x: Any) -> Any:
    for _ in range(30):
        x = x[1:-1]
    return x


@pytest.mark.parametrize("size", [0, 1, 59, 60, 61, 70])
def test_ends_that_are_cut_off_again_and_again(size: int) -> None:
    """Sizes that clamp each other do not grow with each slice."""
    check(_trimmed, _trimmed, floats(size))
