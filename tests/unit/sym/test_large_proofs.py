"""A step of a proof that would be too large to write down makes the answer unknown: no error."""

import pytest

from anyshape.sym import Answer, Dim, Predicate, Prover, parse_predicate, product

SUMS = [parse_predicate(f"n{i} == a{i} + b{i}") for i in range(20)]
PRODUCT = product([Dim.of(f"n{i}") for i in range(20)])
"""A million terms, if every factor is written as the sum that it is."""


@pytest.mark.parametrize("question", ["{} == m", "{} <= 5", "m < {}", "{} != 3", "{} % m == 0"])
def test_questions(question: str):
    predicate = parse_predicate(question.format(PRODUCT))
    assert Prover([], SUMS).proves(predicate) is Answer.UNKNOWN


def test_bounds_and_normal_forms():
    prover = Prover([], SUMS)
    assert prover.bounds(PRODUCT) in ((None, None), (0, None))
    assert prover.normalize(PRODUCT) is PRODUCT
    assert not prover.is_contradictory


def test_facts():
    facts: list[Predicate] = [*SUMS, parse_predicate(f"{PRODUCT} == 7")]
    prover = Prover([], facts)
    assert prover.proves(parse_predicate("n3 <= m")) is Answer.UNKNOWN
    assert prover.proves(parse_predicate("n3 == a3 + b3")) is Answer.TRUE
    more = prover.extended([], [parse_predicate(f"{PRODUCT} <= m")])
    assert more.proves(parse_predicate("0 <= m")) is Answer.TRUE
