"""Sizes that are of no known case: found where they are, and never where there are none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from anyshape.frontend.imported.case_search import cases_left, uncovered_sizes
from anyshape.frontend.imported.cases import is_in
from anyshape.sym import Axis, Fact, Facts, Origin, Symbol, parse_predicate

B, N = Symbol("b"), Symbol("n")
AXES = (Axis("b"), Axis("n"))
USUAL = {B: 4, N: 6}


def case(*texts: str) -> list[Fact]:
    return [Fact(parse_predicate(text), Origin.MODEL) for text in texts]


def found(axes: Sequence[Axis], left: list[Fact], *known: list[Fact]) -> dict[Symbol, int] | None:
    return uncovered_sizes(Facts(tuple(axes)), USUAL, left, [left, *known])


@pytest.mark.parametrize(
    "texts",
    [
        ["b <= 4"], ["4 < b"], ["b == 17"], ["b != 17"], ["n % 2 == 0"], ["n % 7 != 3"],
        ["b < n"], ["b == n"], ["b*n != 0"], ["b <= 4", "n <= 1000"], ["1 < b", "b <= 100000"],
        ["n <= 3*((n + 3)//4)"], ["b*n <= 20"], ["broadcastable(b, n)"],
    ],
)  # fmt: skip
def test_sizes_that_break_the_last_condition(texts: list[str]) -> None:
    left = case(*texts)
    sizes = found(AXES, left)
    assert sizes is not None
    assert is_in(left[:-1], sizes)
    assert not is_in(left, sizes)


def test_sizes_that_no_condition_mentions_are_the_usual_ones() -> None:
    assert found(AXES, case("b <= 4")) == {B: 5, N: 6}


def test_sizes_that_say_nothing_about_others_come_first() -> None:
    assert found(AXES, case("b != n", "1 < n")) in ({B: 2, N: 1}, {B: 4, N: 1}, {B: 3, N: 1})
    sizes = found(AXES, case("n <= b"))
    assert sizes is not None
    assert sizes[B] >= 2


@pytest.mark.parametrize(
    ("axes", "left", "known"),
    [
        (AXES, case("b <= 4"), case("4 < b")),
        (AXES, case("n % 2 == 0"), case("n % 2 != 0")),
        (AXES, case("b < n"), case("n <= b")),
        ((Axis("b", max=4), Axis("n")), case("b <= 4"), case("b == 77")),
        ((Axis("b", multiple_of=2), Axis("n")), case("b % 2 == 0"), case("b == 77")),
    ],
)
def test_nothing_is_found_where_nothing_is(
    axes: Sequence[Axis], left: list[Fact], known: list[Fact]
) -> None:
    assert found(axes, left, known) is None


@pytest.mark.parametrize(
    ("axes", "known", "left"),
    [
        (AXES, [case("b <= 4")], 1),
        (AXES, [case("b <= 4"), case("4 < b")], 0),
        (AXES, [case("n % 2 == 0", "n % 3 == 0", "n % 5 == 0")], 3),
        (AXES, [case("n % 2 == 0", "n % 4 == 0"), case("n % 2 != 0")], 1),
        (AXES, [case("n % 4 == 0", "n % 2 == 0")], 1),  # what the first says, the second need not
        (AXES, [case("b <= 4", "n <= 4"), case("4 < b", "n <= 8")], 2),
        ((Axis("b", max=4), Axis("n")), [case("b <= 4", "n <= 4")], 1),
        (AXES, [case("n % 2 == 0", "n % 3 == 0", "n % 5 == 0", "n % 7 == 0", "n % 11 == 0")], 4),
    ],
)
def test_cases_are_counted(axes: Sequence[Axis], known: list[list[Fact]], left: int) -> None:
    assert cases_left(Facts(tuple(axes)), USUAL, known, enough=4) == left
