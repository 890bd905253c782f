"""Products that facts settle are replaced in dims, and nothing else changes."""

import random

import pytest

from anyshape.sym import Dim, Fact, Facts, Symbol, parse_predicate
from anyshape.sym.product_rules import ProductsReplaced, product_rules


def facts_of(*statements: str) -> Facts:
    return Facts((), tuple(Fact(parse_predicate(text)) for text in statements))


REPLACED = [
    (("a*b == 24",), "a*b", "24"),
    (("a*b == 24",), "a*b*c + 1", "24*c + 1"),
    (("a*b == 24",), "3*a*b*n", "72*n"),
    (("a*b == 24",), "a + b", "a + b"),
    (("a*b == 24",), "(a*b*n)//5", "(24*n)//5"),
    (("a*b == 24",), "min(a*b, c)", "min(c, 24)"),
    (("a*b == c*d",), "a*b", "c*d"),
    (("a*b == c*d",), "c*d", "c*d"),
    (("a*b == c*d", "c*d == 24"), "a*b + c", "c + 24"),
    (("a*a == 16",), "a*a*b", "16*b"),
    (("2*a*b == 24",), "a*b", "a*b"),
    (("a*b == c + d",), "a*b", "a*b"),
    (("a*b <= 24",), "a*b", "a*b"),
]


@pytest.mark.parametrize(("statements", "dim", "expected"), REPLACED)
def test_replaced(statements: tuple[str, ...], dim: str, expected: str) -> None:
    change = ProductsReplaced(product_rules(facts_of(*statements)))
    assert change(Dim.of(dim)) == Dim.of(expected)


def test_sizes_that_the_graph_computes_stay() -> None:
    assert not product_rules(facts_of("a*late == 24"), {Symbol("late")})


def test_the_reason_is_the_fact_with_its_source() -> None:
    (rule,) = product_rules(facts_of("a*b == 24"))
    assert str(rule) == "a*b is 24: a*b == 24 (user)"


def test_values_stay_wherever_the_facts_hold() -> None:
    rng = random.Random(0)
    facts = facts_of("a*b == 24", "a*c == b*d", "c*d == d*e")
    change = ProductsReplaced(product_rules(facts))
    bindings = [
        {Symbol(name): size for name, size in zip("abcde", sizes, strict=True)}
        for sizes in ((4, 6, 6, 4, 6), (6, 4, 8, 12, 8), (1, 24, 24, 1, 24), (24, 1, 0, 0, 5))
    ]
    assert all(fact.holds(binding) for fact in facts.facts for binding in bindings)
    for _ in range(200):
        terms = ["*".join(rng.choices("abcde23", k=rng.randint(1, 4))) for _ in range(3)]
        dim = Dim.of(f"({terms[0]} + {terms[1]})//{rng.randint(1, 5)} + min({terms[2]}, a*b)")
        for binding in bindings:
            assert change(dim).evaluate(binding) == dim.evaluate(binding)
