"""Sizes of slices: which of two is the smaller one, by their form alone."""

from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyshape as ash
from anyshape.sym import Dim, Symbol, clamp_form, is_at_most, maximum, minimum

N = Dim.of("n")
SIZES = (0, 1, 2, 3, 5, 8, 40)


def taken(start: int, stop: int) -> Dim:
    """The size of x[start:stop]."""
    return minimum(N, stop) - minimum(N, start)


def at(dim: Dim, n: int) -> int:
    return dim.evaluate({Symbol("n"): n})


@pytest.mark.parametrize(("start", "stop"), [(3, 4), (0, 5), (7, 7), (2, 9)])
def test_the_clamp_form_has_the_same_value(start: int, stop: int) -> None:
    dim = taken(start, stop)
    assert [at(clamp_form(dim), n) for n in SIZES] == [at(dim, n) for n in SIZES]


def test_a_slice_of_one_element_is_plainly_at_most_one() -> None:
    assert str(clamp_form(taken(3, 4))) == "min(max(0, n - 3), 1)"


@pytest.mark.parametrize("dim", [N, N - minimum(N, 3), minimum(N, 3), taken(3, 4) + 1])
def test_other_dims_keep_their_form(dim: Dim) -> None:
    assert clamp_form(dim) is dim


def test_later_slices_are_at_most_as_long() -> None:
    assert is_at_most(taken(50, 51), taken(3, 4))
    assert not is_at_most(taken(3, 4), taken(50, 51))


def _line(constant: int, slope: int) -> Dim:
    return N * slope + constant


def _slice(start: int, length: int) -> Dim:
    return taken(start, start + length)


def dims() -> st.SearchStrategy[Dim]:
    starts = st.integers(0, 6)
    plain = st.builds(_line, st.integers(-4, 4), st.integers(0, 1))
    slices = st.builds(_slice, starts, st.integers(0, 3))

    def chosen(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        return st.builds(minimum, inner, inner) | st.builds(maximum, inner, inner)

    return st.recursive(plain | slices, chosen, max_leaves=6)


@given(dims(), dims())
def test_what_is_said_holds_at_every_size(left: Dim, right: Dim) -> None:
    if is_at_most(left, right):
        assert all(at(left, n) <= at(right, n) for n in SIZES)
    assert all(at(clamp_form(left), n) == at(left, n) for n in SIZES)


@pytest.mark.parametrize("count", [4, 40])
def test_the_size_of_a_sum_of_slices_does_not_grow_with_their_number(count: int) -> None:
    def function(x: Any) -> Any:
        return reduce(add, [x[n : n + 1] for n in range(count)])

    function.__annotations__ = {"x": ash.f32["n"]}
    graph = ash.jit(function).graph
    assert graph.results[0].tensor.shape == (taken(count - 1, count),)
    assert not graph.facts.facts
