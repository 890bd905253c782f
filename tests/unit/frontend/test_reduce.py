"""Reductions against NumPy: axes of every form, sizes of 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import bools, check, floats, integers, run

import anyshape as ash

AXES: list[Any] = [None, 0, 1, -1, (0, 2), (-1, 0), ()]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    options = {"axis": axis, "keepdims": keepdims}
    ours, theirs = getattr(ash, name), getattr(np, name)
    check(lambda x: ours(x, **options), lambda x: theirs(x, **options), floats(2, 3, 4))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_methods(name: str) -> None:
    check(lambda x: getattr(x, name)(axis=-1), lambda x: getattr(x, name)(axis=-1), floats(2, 3))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_empty_sums_are_zero(shape: tuple[int, ...]) -> None:
    check(lambda x: x.sum(axis=0), lambda x: x.sum(axis=0), floats(*shape))


def test_an_empty_maximum_is_minus_infinity() -> None:
    np.testing.assert_array_equal(run(lambda x: x.max(axis=0), floats(0, 2)), [-np.inf, -np.inf])


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_any_and_all(axis: Any) -> None:
    x = bools(2, 3, 4)
    check(lambda x: x.any(axis), lambda x: x.any(axis), x)
    check(lambda x: x.all(axis), lambda x: x.all(axis), x)
    check(lambda x: ash.any(x, axis), lambda x: np.any(x, axis), integers(2, 3, 4))


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reductions(axis: int | None, keepdims: bool) -> None:
    x = integers(3, 4, 5)  # small integers: ties
    check(lambda x: x.argmax(axis, keepdims), lambda x: x.argmax(axis, keepdims=keepdims), x)
    check(lambda x: x.argmin(axis, keepdims), lambda x: x.argmin(axis, keepdims=keepdims), x)


def test_integer_sums_are_wide() -> None:
    x = np.full(4, 100, np.int8)
    check(ash.sum, np.sum, x)
    check(ash.sum, np.sum, x.astype(np.uint8))
    check(ash.sum, np.sum, bools(5))
    assert run(ash.mean, x).dtype == np.float32


@pytest.mark.parametrize("correction", [0, 1])
def test_variance_with_correction(correction: int) -> None:
    check(
        lambda x: ash.var(x, axis=1, correction=correction),
        lambda x: np.var(x, axis=1, ddof=correction),
        floats(3, 5),
    )


def test_logsumexp_does_not_overflow() -> None:
    x = floats(3, 4) + 1000
    check(
        lambda x: ash.logsumexp(x, axis=-1),
        lambda x: np.log(np.exp(x.astype(np.float64) - 1000).sum(-1)) + 1000,
        x,
    )
    assert run(ash.logsumexp, np.full(3, -np.inf, np.float32)) == -np.inf
