"""The number of a case: as predicates say, in the interpreter of level 2."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.level2.cases import number_of_case, violation
from anyshape.level2.interpret import HOLDS, LARGEST, shape
from anyshape.level2.program import word_program
from anyshape.level2.words import Words
from anyshape.sym import Dim, Predicate, Symbol, parse_predicate

SYMBOLS = (Symbol("a"), Symbol("b"))
TEXTS = (
    "a <= b", "a < b", "a == b", "a != b", "a == 3", "a != 3", "a % 2 == 0", "a % b == 0",
    "broadcastable(a, b)", "2*b < a + 1", "a*b == 0", "a//2 <= b",
)  # fmt: skip


def number(cases: Sequence[Sequence[Predicate]], sizes: Sequence[int]) -> int:
    words = Words()
    words.word(number_of_case(cases))
    program = word_program(SYMBOLS, words)
    found = [0] * program.count
    assert shape(program, sizes, found) == HOLDS
    return found[0]


@pytest.mark.parametrize("text", TEXTS)
def test_a_violation_is_0_where_a_predicate_holds(text: str) -> None:
    predicate = parse_predicate(text)
    for a in range(6):
        for b in range(6):
            sizes = {SYMBOLS[0]: a, SYMBOLS[1]: b}
            if text == "a % b == 0" and b == 0:
                continue  # level 2 divides by 0 in its own way, see below
            assert violation(predicate).evaluate(sizes) == (not predicate.holds(sizes)), sizes


@given(
    st.lists(st.lists(st.sampled_from(TEXTS), max_size=3), max_size=4),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_the_first_case_that_holds(texts: list[list[str]], sizes: tuple[int, int]) -> None:
    cases = [[parse_predicate(text) for text in case] for case in texts]
    binding = dict(zip(SYMBOLS, sizes, strict=True))
    held = [all(predicate.holds(binding) for predicate in case) for case in cases]
    assert number(cases, sizes) == (held.index(True) if True in held else len(cases))


def test_numbers_that_do_not_fit_hold_for_nothing() -> None:
    large = [[parse_predicate("a*b*a*b <= 7")]]
    assert number(large, (LARGEST, 2)) == 1
    assert number(large, (1, 2)) == 0


def test_a_case_without_conditions_always_holds() -> None:
    assert number([[]], (0, 0)) == 0
    assert number([], (0, 0)) == 0
    assert violation(parse_predicate("a <= a")) == Dim.of(0)
