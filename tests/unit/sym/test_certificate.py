"""Certificates: bounds of indices are proved without a search for a contradiction."""

from itertools import product
from random import Random

import pytest

from anyshape.sym import Answer, Dim, Prover, Symbol, maximum, minimum
from anyshape.sym.decide import decider as decider_module
from anyshape.sym.decide.certificate import Certificates
from anyshape.sym.decide.equalities import Contradiction
from anyshape.sym.decide.system import System
from anyshape.sym.predicate import LessEqual
from anyshape.sym.text import parse_predicate

TILES = """
    0 < n0; 0 < n1; 0 < (n2 + 95)//96; 0 < (n4 + 63)//64
    0 <= q; q < max(n0*n1, 1); 0 <= p; p < (n4 + 63)//64; 0 <= b; b < (n2 + 95)//96
    0 <= r; r < (min(n2 - 96*b, 96) + 5)//6; 0 <= i; i < min(n2 - 96*b - 6*r, 6)
    0 <= j; j < min(n4 - 64*p, 64)
"""
CUT = """
    0 < (n0 + 95)//96; 0 <= b; b < max((n0 + 95)//96, 1); 0 <= h; h < min(n0 - 96*b, 96) + 1
    0 <= r; r < (h + 5)//6; 0 <= i; i < min(h - 6*r, 6)
"""
ROWS = "0 <= t; t < n0; 0 <= i; i < n1 + n2"
BAND = """
    2 < n00 + 2; 0 <= (n00 + 3)//4 - 2; ((n00 + 3)//8)*((n01 + 15)//48) <= 2147483647
    120*n02*((n00 + 3)//8)*((n01 + 15)//48) == 120*n02*((n00 + 3)//8); 0 <= n06
    n06 < max(((n00 + 3)//4 - 1)//n04 + 1, 1); 0 <= n07; n07 < (n00 + 3)//4
    n08 < min(n04, (n00 + 3)//4 - n07) + 1; 0 <= n11; n11 < n08 - 3
    n09 < min(n08 - n10, max(0, (n00 + 3)//4 - 4)) + 1; n12 < (n00 + 3)//4 - 7
"""
PADDED = "0 <= t; t < n0 + 3; 0 <= j; j < n1 + 2; 1 <= t; t <= n0; 1 <= j; j <= n1"


def prover_of(facts: str) -> Prover:
    parts = (part.strip() for part in facts.replace("\n", ";").split(";"))
    return Prover((), [parse_predicate(part) for part in parts if part])


@pytest.mark.parametrize(
    ("facts", "question"),
    [
        (ROWS, "t*n1 + t*n2 + i < n0*n1 + n0*n2"),
        (TILES, "j + 64*p < n4"),
        (BAND, "n07 + n11 < (n00 + 3)//4"),
        (TILES, "96*b + 6*r + i < n2"),
        (TILES, "n2*n4*q + 96*b*n4 + i*n4 + 6*n4*r + j + 64*p < n0*n1*n2*n4"),
        (TILES, "0 <= min(n2 - 96*b, 96) + 5"),
        (CUT, "96*b + i + 6*r < n0"),
        (PADDED, "(t - 1)*n1 + j - 1 < n0*n1"),
        (PADDED, "0 <= (t - 1)*n1 + j - 1"),
        ("0 <= n", "min(n, 3) <= min(n, 4)"),
        ("0 <= n", "max(n, 3) - 1 <= max(n, 4)"),
    ],
)
def test_bounds_need_no_refutation(
    facts: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decider_module, "refuted", _refuse)
    assert prover_of(facts).proves(parse_predicate(question)) is Answer.TRUE


@pytest.mark.parametrize(
    "question",
    ["min(n4 - 64*p, 64) % 64 == 0", "min(n4 - 64*p, 64) == 64", "96*b + 6*r + i + 1 < n2"],
)
def test_witnesses_on_both_sides_end_the_search(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decider_module, "refuted", _refuse)
    assert prover_of(TILES).proves(parse_predicate(question)) is Answer.UNKNOWN


@pytest.mark.parametrize("number", [3, 400, 5000, 1 << 20])
def test_a_size_beyond_every_number_is_among_the_witnesses(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decider_module, "refuted", _refuse)
    question = parse_predicate(f"(n - min(n, {number}) + 1)//2 == 0")
    assert prover_of("0 <= n").proves(question) is Answer.UNKNOWN


def _refuse(*_: object) -> bool:
    raise AssertionError("a refutation was tried")


def test_a_quotient_exists_for_its_own_question_only() -> None:
    prover = prover_of("0 <= a")
    assert prover.proves(parse_predicate("(a//b)*b <= a")) is Answer.TRUE
    system = System()
    system.add(parse_predicate("0 <= a"))
    certificates = Certificates(system)
    assert certificates.proves_nonnegative(Dim.of("b - 1 - a + b*(a//b)"))
    assert not certificates.proves_nonnegative(Dim.of("b - 1"))
    assert prover.proves(parse_predicate("1 <= b")) is Answer.UNKNOWN


def test_what_is_certified_holds() -> None:
    """Random rows and questions, against every binding of a small box."""
    random, certified = Random(1), 0
    symbols = [Symbol(name) for name in "abc"]
    for _ in range(400):
        rows = [_random_dim(random) for _ in range(3)]
        question = _random_dim(random)
        system = System()
        try:
            for row in rows:
                system.add(LessEqual(Dim.of(0), row))
            proved = Certificates(system).proves_nonnegative(system.reduce(question))
        except Contradiction:
            continue
        certified += proved
        for sizes in product(range(5), repeat=3):
            binding = dict(zip(symbols, sizes, strict=True))
            if proved and all(row.evaluate(binding) >= 0 for row in rows):
                assert question.evaluate(binding) >= 0, (rows, question, binding)
    assert certified > 30


def _random_dim(random: Random) -> Dim:
    a, b, c = map(Dim.of, "abc")
    parts = (a, b, c, a * b, b * c, a // 2, (b + 1) // 3, minimum(a, c), maximum(b, c), Dim.of(1))
    chosen = random.sample(parts, 3)
    return sum((random.randint(-2, 3) * part for part in chosen), Dim.of(0))
