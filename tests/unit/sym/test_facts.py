"""Facts as a value and as text."""

from itertools import pairwise

import pytest

from anyshape.base.lexer import Cursor
from anyshape.sym import Axis, Dim, Fact, Facts, Origin, Symbol, parse_predicate, read_facts

FACTS = Facts(
    (Axis("batch", min=1, max=64), Axis("seq", min=1, max=512, multiple_of=8, likely=[128])),
    (
        Fact(parse_predicate("out == seq - 2"), Origin.USER, "out == seq-2", "conv.py:12"),
        Fact(parse_predicate("seq % heads == 0"), Origin.OP, "split"),
        Fact(parse_predicate("a*b == c*d"), Origin.OP, "reshape"),
        Fact(parse_predicate("n <= 7"), Origin.USER, "by design"),
    ),
)
TEXT = """\
axes { batch: 1..64   seq: 1..512 multiple_of 8 likely [128] }
facts {
  out == seq - 2    # user: out == seq-2 @ conv.py:12
  seq % heads == 0  # op: split
  a*b == c*d        # op: reshape
  n <= 7            # user: by design
}"""


def test_text_is_read_back() -> None:
    assert FACTS.as_text() == TEXT
    again = read_facts(Cursor(TEXT))
    assert again == FACTS
    assert [fact.where for fact in again.facts] == ["conv.py:12", "", "", ""]


def test_empty_facts_have_no_text() -> None:
    assert Facts().as_text() == ""
    assert read_facts(Cursor("")) == Facts()


def test_reading_stops_behind_the_blocks() -> None:
    cursor = Cursor(TEXT + "\ngraph f() {")
    read_facts(cursor)
    assert cursor.at("graph")


def test_hand_written_comments_are_words_of_the_user() -> None:
    (fact,) = read_facts(Cursor("facts { a == b # by design\n }")).facts
    assert (fact.origin, fact.words) == (Origin.USER, "by design")


def test_undeclared_axes_allow_any_size() -> None:
    assert FACTS.axis(Symbol("other")) == Axis("other")
    assert FACTS.axis(Symbol("batch")).max == 64


def test_substitution_drops_what_became_trivial() -> None:
    facts = Facts((), (Fact(parse_predicate("n <= m")), Fact(parse_predicate("n % 4 == 0"))))
    replaced = facts.substitute({Symbol("n"): Dim.of(8)})
    assert [str(fact) for fact in replaced.facts] == ["8 <= m"]


def test_substitution_keeps_what_a_declaration_said() -> None:
    facts = Facts((Axis("n", min=1, max=64, multiple_of=8),))
    replaced = facts.substitute({Symbol("n"): Dim.of("2*m")})
    assert replaced.axes == ()
    assert [str(fact) for fact in replaced.facts] == ["1 <= 2*m", "2*m <= 64", "(2*m) % 8 == 0"]


@pytest.mark.parametrize("where", ["", "model.py:3"])
@pytest.mark.parametrize(
    "words", ["", "plain", "a @ b", "two\nlines", '"quoted"', " spaced ", "user: x", "back\\slash"]
)
def test_provenance_is_read_back_whatever_its_words(words: str, where: str) -> None:
    fact = Fact(parse_predicate("a == b"), Origin.OP, words, where)
    (again,) = read_facts(Cursor(Facts((), (fact,)).as_text())).facts
    assert (again, again.where) == (fact, where)


def test_facts_within_symbols_concern_nothing_else() -> None:
    seq, heads = Symbol("seq"), Symbol("heads")
    within = FACTS.within({heads, seq})
    assert [axis.name for axis in within.axes] == ["seq"]
    assert [str(fact) for fact in within.facts] == ["seq % heads == 0"]
    assert FACTS.within(frozenset()) == Facts()


def test_facts_within_keep_their_order() -> None:
    names = [f"a{n}" for n in range(40)]
    facts = [Fact(parse_predicate(f"{a} <= {b}")) for a, b in pairwise(names)]
    whole = Facts(tuple(map(Axis, names)), tuple(facts))
    assert whole.within({Symbol(name) for name in reversed(names)}) == whole
    few = whole.within({Symbol(name) for name in ("a7", "a6", "a5", "a20")})
    assert [axis.name for axis in few.axes] == ["a5", "a6", "a7", "a20"]
    assert [str(fact) for fact in few.facts] == ["a5 <= a6", "a6 <= a7"]


def test_of_two_declarations_the_first_counts() -> None:
    facts = Facts((Axis("n", min=3), Axis("n", min=5)))
    assert facts.axis(Symbol("n")).min == 3
