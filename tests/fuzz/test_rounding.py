"""How far rounding may move results: enough for what it does, and no more."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.fuzz.rounding import Rounding

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.ir.types import Array

RUNS = 8
EPS = 2.0**-23


def rounding(function: Callable[..., Any], *inputs: Array) -> Rounding:
    graph = ash.jit(function).graph
    return Rounding(graph, inputs, evaluate(graph, *inputs))


def relative_room(function: Callable[..., Any], *inputs: Array) -> Array:
    found = rounding(function, *inputs)
    return found.room(0, RUNS) / np.abs(found.wanted[0].astype(np.float64))


def column(*numbers: float, dtype: Any = np.float32) -> Array:
    return np.array(numbers, dtype)


def gated(x: ash.f32["n"]) -> Any:
    return ash.gelu(x) * 400.0


def test_what_cancels_inside_a_compound_counts() -> None:
    """A gelu far below 0 is 1 - 0.9999997 of something, and a gate of some hundreds shows it."""
    x = column(-5.0, 1.0)
    tail, usual = relative_room(gated, x)
    assert tail > 0.1
    assert usual < 50 * EPS
    (found,) = ash.compile(ash.jit(gated))(x)
    exact = rounding(gated, x)
    assert (np.abs(found - exact.wanted[0]) <= exact.room(0, RUNS)).all()


def test_what_cancels_between_ops_counts() -> None:
    def far(x: ash.f32["n"]) -> Any:
        return (x + 1e4) - 1e4

    def near(x: ash.f32["n"]) -> Any:
        return (x + 1.0) - 0.5

    x = column(0.25, 3.0)
    assert (relative_room(far, x) > 1e-4).all()
    assert (relative_room(near, x) < 50 * EPS).all()


def test_sums_are_as_far_off_as_their_terms_are_great() -> None:
    def total(x: ash.f32["n"]) -> Any:
        return x.sum()

    def mean(x: ash.f32["n"]) -> Any:
        return x.mean()

    for function in (total, mean):
        assert relative_room(function, column(1e6, -1e6, 1.0)) > 0.1
        assert relative_room(function, column(1.0, 2.0, 3.0)) < 50 * EPS


def test_products_are_as_far_off_as_their_terms_are_great() -> None:
    def product(x: ash.f32["n"], y: ash.f32["n"]) -> Any:
        return x @ y

    x, y = column(1e3, -1e3, 1.0), column(1e3, 1e3, 1.0)
    assert relative_room(product, x, y) > 0.1
    assert relative_room(product, x, x) < 30 * EPS


def test_products_of_denormals_are_rounded_one_by_one() -> None:
    def product(x: ash.f32["n"], y: ash.f32["n"]) -> Any:
        return x @ y

    found = rounding(product, column(0.3, 0.4, 0.3), np.full(3, 1e-42, np.float32))
    assert found.room(0, RUNS) >= 2.0**-149


def test_convolutions_are_as_far_off_as_their_terms_are_great() -> None:
    def convolved(x: ash.f32[1, 3, 1], w: ash.f32[1, 3, 1, 1]) -> Any:
        return ash.conv(x, w)

    w = np.ones((1, 3, 1, 1), np.float32)
    far, near = column(1e6, -1e6, 1.0), column(1.0, 2.0, 3.0)
    assert relative_room(convolved, far.reshape(1, 3, 1), w).max() > 0.1
    assert relative_room(convolved, near.reshape(1, 3, 1), w).max() < 50 * EPS


def test_what_is_moved_is_exact() -> None:
    def moved(x: ash.f16["n"]) -> Any:
        y = ash.concat([ash.maximum(x, 0.5), -x[::-1], abs(x)])
        return ash.where(y > 1, y, y.max()).astype(ash.f32)

    x = column(0.1, -3.0, np.inf, np.nan, -0.0, dtype=np.float16)
    assert (rounding(moved, x).room(0, RUNS) == 0).all()


def test_narrow_floats_are_rounded_narrowly() -> None:
    def twice(x: ash.f16["n"]) -> Any:
        return ash.exp(x) * 3.0

    room = relative_room(twice, column(0.5, 1.5, dtype=np.float16))
    assert ((room > 2.0**-10) & (room < 20 * 2.0**-10)).all()


def test_what_may_overflow_may_be_anything() -> None:
    def power(x: ash.f32["n"]) -> Any:
        return ash.exp(x * 3.0)

    x = column(88.722836 / 3, 40.0, 1.0)
    edge, beyond, usual = rounding(power, x).room(0, 32)
    assert (edge, beyond) == (np.inf, 0)
    assert 0 < usual < 1e-3


def test_what_overflows_on_the_way_may_be_anything() -> None:
    def ratio(x: ash.f32["n"], y: ash.f32["n"]) -> Any:
        return ash.log(x * x + y) - 1.0

    def narrow(x: ash.f16["n"]) -> Any:
        return (x * x) / (x != 0).astype(ash.f16) / 100.0

    x = column(1e30, np.inf, np.nan, 2.0)
    with np.errstate(all="ignore"):
        room = rounding(ratio, x, column(1.0, 1.0, 1.0, -np.inf)).room(0, RUNS)
        assert room.tolist() == [np.inf, 0, 0, 0]
        room = rounding(narrow, column(1e3, 6e4, 1.0, dtype=np.float16)).room(0, RUNS)
    assert room.tolist()[:2] == [np.inf, 0]
    assert 0 < room[2] < 1


@pytest.mark.parametrize("few", [1, 2])
def test_more_runs_give_no_less_room(few: int) -> None:
    found = rounding(gated, np.linspace(-6, 6, 50, dtype=np.float32))
    less = found.room(0, few)
    assert (found.room(0, RUNS) >= less).all()
