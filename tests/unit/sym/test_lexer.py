"""The shared tokenizer."""

import pytest

from anyshape.base.errors import TextError
from anyshape.base.lexer import Cursor, TokenKind, is_name, quoted


def kinds(text: str) -> list[tuple[str, str]]:
    cursor = Cursor(text)
    found: list[tuple[str, str]] = []
    while not cursor.at_end:
        token = cursor.next()
        found.append((token.kind.name, token.value))
    return found


def test_every_kind_of_token() -> None:
    text = 'seq `a.b` ?3 ? 12 1.5 2e-3 "x\\ny" sha256:3e5f -> // == != <= >= .. %'
    assert kinds(text) == [
        ("NAME", "seq"),
        ("QUOTED", "a.b"),
        ("FRESH", "?3"),
        ("FRESH", "?"),
        ("INTEGER", "12"),
        ("FLOAT", "1.5"),
        ("FLOAT", "2e-3"),
        ("STRING", "x\ny"),
        ("DIGEST", "sha256:3e5f"),
        *(("PUNCTUATION", mark) for mark in ["->", "//", "==", "!=", "<=", ">=", "..", "%"]),
    ]


def test_range_is_no_float_and_special_floats_are_names() -> None:
    assert kinds("1..512") == [("INTEGER", "1"), ("PUNCTUATION", ".."), ("INTEGER", "512")]
    assert kinds("inf nan") == [("NAME", "inf"), ("NAME", "nan")]


@pytest.mark.parametrize("text", ["", "plain", 'a "b" \\ `c`', "tab\tline\nend\r", "é…"])
def test_quoting_is_read_back(text: str) -> None:
    assert Cursor(quoted(text)).next().value == text
    assert Cursor(quoted(text, "`")).next().value == text


def test_comments_are_kept_by_line() -> None:
    cursor = Cursor("a # first\n# alone\nb")
    assert (cursor.next().text, cursor.comment()) == ("a", "first")
    assert cursor.comment(2) == "alone"
    assert (cursor.next().text, cursor.comment()) == ("b", "")


def test_moving() -> None:
    cursor = Cursor("a + 3 )")
    assert cursor.peek(1).text == "+"
    assert cursor.accept("b") is None
    assert cursor.expect_kind(TokenKind.NAME, "a name").text == "a"
    assert cursor.accept("-", "+") is not None
    assert cursor.expect_integer() == 3
    assert cursor.last.text == "3"
    assert not cursor.at_end


def test_words_in_quotes_are_no_keywords() -> None:
    assert not Cursor('"facts"').at("facts")
    assert not Cursor("`facts`").at("facts")


def test_touching() -> None:
    cursor = Cursor("%0 % 0")
    percent, zero, other, last = (cursor.next() for _ in range(4))
    assert percent.touches(zero)
    assert not other.touches(last)


def test_names() -> None:
    assert is_name("seq_len2")
    assert not is_name("a.b")
    assert not is_name("2d")
    assert not is_name("")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n  é ¤", "line 2, column 5: unexpected character '¤'\n    é ¤\n      ^"),
        ('x "abc', 'line 1, column 3: " is not closed on this line\n  x "abc\n    ^'),
    ],
)
def test_malformed_text(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        Cursor(text)
    assert str(error.value) == message


def test_unexpected_token() -> None:
    with pytest.raises(TextError) as error:
        Cursor("a )").expect("(", "open it")
    expected = "line 1, column 1: expected '(', found 'a'\n  a )\n  ^\nfix: open it"
    assert str(error.value) == expected


def test_absurd_numbers_are_refused() -> None:
    with pytest.raises(TextError, match="a number of 5000 digits is no size"):
        Cursor("n + " + "9" * 5000)
