"""Predicates: text, kinds, negation, truth under a binding."""

import pytest

from anyshape.base.errors import TextError
from anyshape.sym import (
    Dim,
    Divisible,
    Equal,
    LessEqual,
    Predicate,
    Symbol,
    affine_equal,
    group_product_equal,
    parse_dim,
    parse_predicate,
    product_equal,
)

# text as written -> printed text, negation
PREDICATES = {
    "a == b": ("a == b", "a != b"),
    "a != b + 1": ("a != b + 1", "a == b + 1"),
    "a <= b": ("a <= b", "b < a"),
    "a < b": ("a < b", "b <= a"),
    "a >= b": ("b <= a", "a < b"),
    "a > b": ("b < a", "a <= b"),
    "seq % 8 == 0": ("seq % 8 == 0", "seq % 8 != 0"),
    "(a + 1) % (b*c) == 0": ("(a + 1) % (b*c) == 0", "None"),
    "0 == x % 8": ("0 == x % 8", "0 != x % 8"),
    "x % 8 == 1": ("x % 8 == 1", "x % 8 != 1"),
    "broadcastable(a, b + 1)": ("broadcastable(a, b + 1)", "None"),
}


@pytest.mark.parametrize(("written", "expected"), PREDICATES.items())
def test_text_and_negation(written: str, expected: tuple[str, str]) -> None:
    predicate = parse_predicate(written)
    assert (str(predicate), str(predicate.negation)) == expected
    assert parse_predicate(str(predicate)) == predicate


def test_remainder_that_equals_zero_is_read_as_divisible() -> None:
    assert parse_predicate("seq % 8 == 0") == Divisible(Dim.of("seq"), Dim.of(8))
    turned = Equal(parse_dim("seq % 8"), Dim.of(0))
    assert str(turned) == "0 == seq % 8"
    assert parse_predicate(str(turned)) == turned


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a == b", "equal"),
        ("a == 3", "equal"),
        ("a == b//2", "equal"),
        ("a == b*c", "product-equal"),
        ("2*a*b == c", "product-equal"),
        ("a*b == c*d", "group-product-equal"),
        ("a == b + 2", "affine-equal"),
        ("2*a == 3*b", "affine-equal"),
    ],
)
def test_kinds_of_equality(text: str, kind: str) -> None:
    predicate = parse_predicate(text)
    assert isinstance(predicate, Equal)
    assert predicate.kind == kind


def test_named_forms() -> None:
    assert str(product_equal("a", ["b", "c"])) == "a == b*c"
    assert str(group_product_equal(["a", "b"], ["c", 4])) == "a*b == 4*c"
    assert str(affine_equal("out", {Symbol("seq"): 2}, -3)) == "out == 2*seq - 3"


HOLDS = [
    ("a == b", 2, 2, True),
    ("a != b", 2, 2, False),
    ("a <= b", 3, 2, False),
    ("a < b", 1, 2, True),
    ("a % b == 0", 6, 3, True),
    ("a % b == 0", 6, 4, False),
    ("a % b == 0", 0, 0, True),
    ("a % b == 0", 1, 0, False),
    ("broadcastable(a, b)", 1, 7, True),
    ("broadcastable(a, b)", 7, 7, True),
    ("broadcastable(a, b)", 0, 7, False),
]


@pytest.mark.parametrize(("text", "a", "b", "holds"), HOLDS)
def test_truth_under_a_binding(text: str, a: int, b: int, holds: bool) -> None:
    predicate = parse_predicate(text)
    assert predicate.holds({Symbol("a"): a, Symbol("b"): b}) is holds


def test_substitution_and_symbols() -> None:
    predicate = parse_predicate("a <= b//2")
    assert predicate.symbols == {Symbol("a"), Symbol("b")}
    assert str(predicate.substitute({Symbol("b"): 2 * Dim.of("c")})) == "a <= c"
    assert predicate.substitute({Symbol("z"): 1}) is predicate


def test_values() -> None:
    one: Predicate = Dim.of("a") <= Dim.of("b")
    assert one == LessEqual(Dim.of("a"), Dim.of("b"))
    assert len({one, parse_predicate("a <= b")}) == 1
    with pytest.raises(TypeError, match="'a <= b' has no truth value; ask a prover"):
        bool(one)


def test_malformed() -> None:
    with pytest.raises(TextError) as error:
        parse_predicate("a + b")
    assert str(error.value) == (
        "line 1, column 6: expected a comparison, found end of text\n"
        "  a + b\n"
        "       ^\n"
        "fix: a predicate is 'a == b', '!=', '<=', '<', '>=', '>' or 'broadcastable(a, b)'"
    )
