"""Dims: construction, canonical form, printing, values."""

import copy
import gc
import pickle

import numpy as np
import pytest

from anyshape.base.errors import DimError, TextError
from anyshape.base.lexer import Cursor
from anyshape.sym import (
    HOLE,
    Dim,
    Symbol,
    bcast,
    ceildiv,
    maximum,
    minimum,
    parse_dim,
    parse_predicate,
    product,
    read_dim,
    total,
)
from anyshape.sym.dim import MOST_RECENT

# text as written -> canonical text
CANONICAL = {
    # sums and products
    "1 + n*2": "2*n + 1",
    "3 - n": "3 - n",
    "-n": "-n",
    "-m*n": "-m*n",
    "n - n": "0",
    "(a + b)*(a - b)": "a*a - b*b",
    "n*m*n - 3*m": "m*n*n - 3*m",
    "out - 2": "out - 2",
    # division by constants
    "7//2": "3",
    "-7//2": "-4",
    "n//1": "n",
    "seq//2 + 1": "seq//2 + 1",
    "(9*n + 5)//4": "2*n + (n + 1)//4 + 1",
    "(-9*n)//4": "(-n)//4 - 2*n",
    "(n - 1)//4": "(n + 3)//4 - 1",
    "(2*n + 1)//4": "n//2",
    "(n//2)//3": "n//6",
    "(n//2 + 3)//4": "(n + 6)//8",
    "n//-3": "(-n)//3",
    "2*(n//2)": "2*(n//2)",
    "-(n//2)": "-(n//2)",
    "-n//2": "(-n)//2",
    # division by symbols
    "(a*b*c)//(a*b)": "c",
    "(a*b*c + x)//(a*b)": "c + x//(a*b)",
    "(a*n + a)//(n + 1)": "a",
    "(6*a)//(4*a*b)": "3//(2*b)",
    "n//(b - a)": "(-n)//(a - b)",
    "0//n": "0",
    # remainders
    "7 % 3": "1",
    "-7 % 3": "2",
    "n % 1": "0",
    "(8*n) % 8": "0",
    "(-n) % 4": "(3*n) % 4",
    "(9*n + 5) % 4": "(n + 1) % 4",
    "(4*n + 3) % 8": "4*(n % 2) + 3",
    "(x % 8 + 1) % 4": "(x + 1) % 4",
    "n % -3": "-((2*n) % 3)",
    "(a*b) % b": "0",
    "(a*x) % (a*b)": "a*(x % b)",
    "(a % b) % b": "a % b",
    "c*(a % b)": "c*(a % b)",
    # minima and maxima
    "min(3, 5)": "3",
    "min(n)": "n",
    "min(n, n + 1, 5, 7)": "min(n, 5)",
    "max(max(a, b), a, 2, b)": "max(a, b, 2)",
    "max(min(b, a), min(a, b) + 1)": "min(a, b) + 1",
    # broadcasts
    "bcast(a, 1)": "a",
    "bcast(1, 1)": "1",
    "bcast(a, bcast(b, a))": "bcast(a, b)",
    "bcast(a, 512)": "512",
    "bcast(a, 0)": "0",
    # rounding up
    "ceildiv(n, 16)*16": "16*((n + 15)//16)",
    "ceildiv(16*n, 16)": "n",
    "ceildiv(n, m)": "(n - 1)//m + 1",
    # names
    "?3 * 2": "2*?3",
    "`DynamicDimension.0` + `min`": "`DynamicDimension.0` + `min`",
}


@pytest.mark.parametrize(("written", "canonical"), CANONICAL.items())
def test_canonical_form(written: str, canonical: str) -> None:
    dim = parse_dim(written)
    assert str(dim) == canonical
    assert parse_dim(canonical) is dim


def test_interning() -> None:
    n = Dim.of("n")
    assert n + 1 is 1 + n
    assert Dim.of(Symbol("n")) is n
    assert Symbol("n") is Symbol("n")
    assert Dim.of(n) is n
    assert pickle.loads(pickle.dumps(n // 3)) is n // 3
    assert copy.deepcopy(n * n) is n * n


def test_equality_is_of_expressions_and_of_integers() -> None:
    n = Dim.of("n")
    assert n == n + 0
    assert n != n + 1
    assert Dim.of(5) == 5
    assert hash(Dim.of(5)) == hash(5)
    assert {5: "five"}[Dim.of(5)] == "five"  # pyright: ignore[reportArgumentType]


def test_integers() -> None:
    assert int(Dim.of(7)) == 7
    assert list(range(3))[Dim.of(1)] == 1
    assert Dim.of(np.int64(4)) == 4
    assert (Dim.of("n").constant, Dim.of(3).is_constant) == (None, True)
    with pytest.raises(TypeError, match=r"dim 'n' is symbolic and has no integer value"):
        int(Dim.of("n"))


@pytest.mark.parametrize("value", [True, 1.0, None, [1]])
def test_what_is_no_dim(value: object) -> None:
    with pytest.raises(TypeError, match="a dim is an integer, a name or an expression"):
        Dim.of(value)  # pyright: ignore[reportArgumentType]


def test_no_truth_value_and_no_mutation() -> None:
    n = Dim.of("n")
    with pytest.raises(TypeError, match="has no truth value"):
        bool(n)
    with pytest.raises(AttributeError, match="immutable"):
        n.constant = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match="immutable"):
        Symbol("n").name = "m"


def test_symbols_and_fresh_symbols() -> None:
    dim = parse_dim("min(a, b//c) + ?2 % d")
    assert {symbol.name for symbol in dim.symbols} == {"a", "b", "c", "d", "?2"}
    assert Symbol("?2").is_fresh
    assert not Symbol("a").is_fresh
    assert Dim.of("a").symbol is Symbol("a")
    assert (Dim.of("a") + 1).symbol is None


def test_the_hole_takes_part_in_nothing() -> None:
    assert Dim.of("?") is HOLE
    problem = (
        "dim '?': an unnamed dim must be made fresh before it is used in an expression\n"
        "fix: give the axis a name"
    )
    for use in (lambda: HOLE + 1, lambda: 2 * HOLE, lambda: HOLE // 2, lambda: minimum(HOLE, 3)):
        with pytest.raises(DimError) as error:
            use()
        assert str(error.value) == problem


def test_constructors() -> None:
    n, m = Dim.of("n"), Dim.of("m")
    assert minimum("n", m, 3) is parse_dim("min(n, m, 3)")
    assert maximum(n, 0) is parse_dim("max(n, 0)")
    assert bcast(n, m) is parse_dim("bcast(n, m)")
    assert ceildiv(n, 4) is (n + 3) // 4
    assert product([n, 2, "m"]) is 2 * n * m
    assert product([]) == 1


def test_comparisons_make_predicates() -> None:
    n = Dim.of("n")
    assert str(n < 3) == "n < 3"
    assert str(3 < n) == "3 < n"  # noqa: SIM300
    assert str(n >= 3) == "3 <= n"
    assert str(n > 3) == "3 < n"
    assert n.divisible_by(8) == parse_predicate("n % 8 == 0")
    assert n.equals("m") == parse_predicate("n == m")
    assert n.not_equals(1) == parse_predicate("n != 1")


def test_substitution_is_simultaneous_and_simplifies() -> None:
    a, b = Symbol("a"), Symbol("b")
    assert parse_dim("a - b").substitute({a: Dim.of(b), b: Dim.of(a)}) is parse_dim("b - a")
    assert parse_dim("(a + 7)//8").substitute({a: 8 * Dim.of(b)}) is Dim.of(b)
    assert parse_dim("min(a, b)*a").substitute({a: 3}) is parse_dim("3*min(b, 3)")


def test_evaluation() -> None:
    a, b = Symbol("a"), Symbol("b")
    assert parse_dim("a*a//3 + min(a, b) % 4 - max(b, 2)").evaluate({a: 5, b: 7}) == 8 + 1 - 7
    assert parse_dim("bcast(a, b)").evaluate({a: 1, b: 0}) == 0


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("n + m", {"n": 1}, "dim 'm': no size is bound to this axis\nfix: bind 'm'"),
        (
            "n//m",
            {"n": 1, "m": 0},
            "dim 'n//m': division by zero: m is 0\nfix: pass sizes with which the divisor is not 0",
        ),
        (
            "bcast(n, m)",
            {"n": 3, "m": 2},
            "dim 'bcast(m, n)': sizes 2 and 3 do not broadcast\n"
            "fix: pass sizes that are equal, or one of them 1",
        ),
    ],
)
def test_evaluation_where_there_is_no_value(text: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(DimError) as error:
        parse_dim(text).evaluate({Symbol(name): size for name, size in sizes.items()})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(n + 1)//0", "dim '(n + 1)//0': division by zero\nfix: divide by a number other than 0"),
        ("n % 0", "dim 'n % 0': division by zero\nfix: divide by a number other than 0"),
        (
            "bcast(3, n, 2)",
            "dim 'bcast(3, n, 2)': sizes 2 and 3 do not broadcast\n"
            "fix: make them equal, or one of them 1",
        ),
    ],
)
def test_expressions_that_never_have_a_value(text: str, message: str) -> None:
    with pytest.raises(DimError) as error:
        parse_dim(text)
    assert str(error.value) == message


_HINT = "fix: a dim is an integer, an axis name, + - * // %, min, max, ceildiv or bcast"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n + * 3", f"line 1, column 5: expected a dim, found '*'\n  n + * 3\n      ^\n{_HINT}"),
        ("", f"line 1, column 1: expected a dim, found end of text\n  \n  ^\n{_HINT}"),
        ("n m", "line 1, column 3: unexpected 'm'\n  n m\n    ^"),
        ("(n", "line 1, column 3: expected ')', found end of text\n  (n\n    ^"),
        (
            "ceildiv(n)",
            "line 1, column 8: ceildiv takes 2 arguments, found 1\n  ceildiv(n)\n         ^",
        ),
        (
            "min + 1",
            "line 1, column 5: expected '(', found '+'\n  min + 1\n      ^\n"
            "fix: an axis of that name is written `min`, in backquotes",
        ),
    ],
)
def test_malformed_dims(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        parse_dim(text)
    assert str(error.value) == message


def test_reading_stops_where_the_dim_ends() -> None:
    cursor = Cursor("n//2 + 1, 384]")
    assert read_dim(cursor) is parse_dim("n//2 + 1")
    assert cursor.at(",")


def test_order_is_independent_of_creation() -> None:
    dims = [parse_dim(text) for text in ("b", "a", "a*b", "3", "a//2", "min(a, b)")]
    names = [str(dim) for dim in sorted(dims, key=lambda dim: dim.sort_key)]
    assert names == ["a*b", "a", "b", "a//2", "min(a, b)", "3"]


def test_a_total_is_the_sum_of_its_dims() -> None:
    dims = [Dim.of("n"), Dim.of("m//2"), Dim.of(3), Dim.of("n - m//2")]
    assert total(dims) is Dim.of("2*n + 3")
    assert total([]) is Dim.of(0)


def test_a_multiple_of_a_sum_may_be_as_long_as_the_sum() -> None:
    sum_ = total(f"a{n}" for n in range(5000))
    assert len((sum_ * Dim.of("n")).terms) == len((7 * sum_).terms) == 5000


# --- memory ---------------------------------------------------------------------------------------


def test_what_nobody_holds_goes_but_for_the_last() -> None:
    before = len(Dim._interned)
    for number in range(3 * MOST_RECENT):
        Dim.of("recent") + number
    gc.collect()
    assert len(Dim._recent) <= MOST_RECENT
    assert len(Dim._interned) <= before + MOST_RECENT


def test_a_dim_that_is_held_is_the_same_after_many_others() -> None:
    kept = Dim.of("kept") * 7 + 1
    for number in range(2 * MOST_RECENT):
        Dim.of(number)
    assert Dim.of("kept") * 7 + 1 is kept
