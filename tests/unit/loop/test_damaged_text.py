"""However a text is damaged, reading it gives a kernel that prints, or a TextError with a place."""

from collections.abc import Callable
from random import Random

import pytest
from tests.unit.codegen.emit import examples

from anyshape.base.errors import TextError
from anyshape.base.lexer import Cursor
from anyshape.loop.parser import parse_kernel

MATRICES = """
kernel (n0, n1; x: f32[n0, n1], y: f32[n0, n1] strides [1, n0] written) tasks t < n0//6 {
  axis n0: 1..64 | 96..96 multiple_of 2 likely [8]
  fact n0 % n1 == 0
  fact broadcastable(n0, n1)
  scratch s: f32[6, 64]
  streams if n0*n1//100
  stack 64 bytes
  b = index (t//n1 % 2) < n0
  prepare for b {
    s[:min(n0 - 6*b, 6), :64] = x[2*n0: row + 6*b of n0 by n1, column of n1 by 1]
  }
  s[:6, :64] = x[row of n0 by n1, column of n1 by 1] @ x[row of n1 by 1, column of n0 by n1] \
padded over max(n1, 3) - 1
  for i < 6 with best: f32 maximum, hits: bool logical_or {
    v = if i < n0 and i != 3 then s[i, 0] else f32 -inf
    best <- f32 add(v, f32 1e-05)
    hits <- bool lt(v, f32 0.0)
  }
  y[b, 0] = best
}
"""
TEXTS = [MATRICES, *(made.as_text() for made in examples.ALL.values())]


def tokens_of(text: str) -> list[str]:
    cursor, found = Cursor(text), list[str]()
    while not cursor.at_end:
        found.append(cursor.next().text)
    return found


TOKENS = [tokens_of(text) for text in TEXTS]
WORDS = sorted(
    {token for tokens in TOKENS for token in tokens} | {"?", "``", "`t`", '"a"', "0", "."}
)


def without(random: Random, tokens: list[str]) -> None:
    del tokens[random.randrange(len(tokens))]


def more(random: Random, tokens: list[str]) -> None:
    tokens.insert(random.randrange(len(tokens) + 1), random.choice(WORDS))


def other(random: Random, tokens: list[str]) -> None:
    tokens[random.randrange(len(tokens))] = random.choice(WORDS)


def twice(random: Random, tokens: list[str]) -> None:
    start = random.randrange(len(tokens))
    tokens[start:start] = tokens[start : start + random.randrange(1, 20)]


def shorter(random: Random, tokens: list[str]) -> None:
    start = random.randrange(len(tokens))
    del tokens[start : start + random.randrange(1, 40)]


DAMAGE: tuple[Callable[[Random, list[str]], None], ...] = (without, more, other, twice, shorter)


def _is_placed(error: TextError, lines: list[str]) -> bool:
    """It points into the text, and says what to do."""
    if not 1 <= error.line <= len(lines):
        return False
    return 1 <= error.column <= len(lines[error.line - 1]) + 1 and "\nfix: " in str(error)


def outcome(text: str) -> str:
    """What became of a text; anything else is an exception that gets out."""
    try:
        read = parse_kernel(text)
    except TextError as error:
        return "refused" if _is_placed(error, text.split("\n")) else str(error)
    assert parse_kernel(read.as_text()) == read
    return "read"


def test_the_texts_are_whole() -> None:
    for text, tokens in zip(TEXTS, TOKENS, strict=True):
        assert outcome(text) == outcome(" ".join(tokens).replace("< -", "<-")) == "read"


@pytest.mark.parametrize("block", range(4))
def test_damaged_tokens(block: int) -> None:
    random = Random(block)
    outcomes: set[str] = set()
    for _ in range(700):
        tokens = list(random.choice(TOKENS))
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            random.choice(DAMAGE)(random, tokens)
        outcomes.add(outcome(random.choice((" ", "\n")).join(tokens)))
    assert outcomes == {"read", "refused"}


def test_damaged_characters() -> None:
    random = Random(7)
    for _ in range(700):
        text = random.choice(TEXTS)
        start = random.randrange(len(text))
        end = start + random.randrange(3)
        put = "".join(random.choice("()[]{}<>-=:;,.?`'\"#\\ \n0e9nπ²\x00") for _ in range(2))
        assert outcome(text[:start] + put + text[end:]) in ("read", "refused")
