"""The one tokenizer of anyshape's text: dims, predicates, facts and graphs.

Invariants: a token knows its line and column (both from 1), so every parse error carries a caret;
comments are no tokens but stay reachable by line, because the trailing comment of a fact is its
provenance. `%`, `@` and `-` are plain punctuation: `seq % 8` and `%0` differ for the parser only.
`inf` and `nan` are names, and numbers carry no sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from anyshape.base.errors import TextError


class TokenKind(Enum):
    """What a token is."""

    NAME = auto()
    QUOTED = auto()  # `any text` in backquotes: a name that is no identifier
    FRESH = auto()  # ? and ?3
    INTEGER = auto()
    FLOAT = auto()
    STRING = auto()
    DIGEST = auto()  # sha256:3e5f…, one token because its tail looks like a number
    PUNCTUATION = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text; `value` is the text without quotes and escapes."""

    kind: TokenKind
    text: str
    value: str
    line: int
    column: int

    @property
    def is_symbol(self) -> bool:
        """Whether it can stand for an axis (unless the parser reserves the word)."""
        return self.kind in (TokenKind.NAME, TokenKind.QUOTED, TokenKind.FRESH)

    def touches(self, following: Token) -> bool:
        """Whether `following` comes without a gap: `%0`, `@w3`."""
        end = self.column + len(self.text)
        return self.line == following.line and end == following.column

    def describe(self) -> str:
        return "end of text" if self.kind is TokenKind.END else f"'{self.text}'"


MAX_DIGITS = 40
"""More than any integer we have; Python itself refuses to read some thousands."""

_NAME = r"[^\W\d]\w*"
_PATTERN = re.compile(
    "|".join(
        f"(?P<{group}>{pattern})"
        for group, pattern in {
            "SKIP": r"[ \t\r\n]+",
            "COMMENT": r"\#[^\n]*",
            "DIGEST": r"sha256:[0-9a-f]+",
            "NAME": _NAME,
            "QUOTED": r"`(?:[^`\\\n]|\\[^\n])*`",
            "STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
            "FRESH": r"\?[0-9]*",
            # A dot needs a digit behind it, so that `1..512` is a range.
            "FLOAT": r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)",
            "INTEGER": r"[0-9]+",
            "PUNCTUATION": r"->|//|==|!=|<=|>=|\.\.|[()\[\]{}<>,:;=+\-*/%@|.&!^~$]",
        }.items()
    )
)
_NAME_PATTERN = re.compile(_NAME)
_ESCAPED = {"\n": "n", "\t": "t", "\r": "r"}
_UNESCAPED = {short: character for character, short in _ESCAPED.items()}


def is_name(text: str) -> bool:
    """Whether `text` would be read as one NAME token."""
    return _NAME_PATTERN.fullmatch(text) is not None


def quoted(text: str, quote: str = '"') -> str:
    """`text` between quotes, as the tokenizer reads it back: `"` for strings, "`" for names."""

    def escape(match: re.Match[str]) -> str:
        return "\\" + _ESCAPED.get(match[0], match[0])

    return quote + re.sub(rf"[\\\n\t\r{quote}]", escape, text) + quote


def unquoted(text: str) -> str:
    """What stands between quotes, escapes resolved."""
    return re.sub(r"\\(.)", lambda match: _UNESCAPED.get(match[1], match[1]), text[1:-1])


class Cursor:
    """Walks over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._comments: dict[int, str] = {}
        self._tokens = self._tokenize(text)
        self._index = 0

    def _tokenize(self, text: str) -> list[Token]:
        tokens: list[Token] = []
        line, line_start, position = 1, 0, 0
        while position < len(text):
            column = position - line_start + 1
            match = _PATTERN.match(text, position)
            if match is None:
                self._refuse(text[position], line, column)
            position = match.end()
            group, piece = match.lastgroup, match[0]
            if group == "INTEGER" and len(piece) > MAX_DIGITS:
                problem = f"a number of {len(piece)} digits is no size"
                raise TextError(problem, line, column, self._lines[line - 1])
            if group == "COMMENT":
                self._comments[line] = piece[1:].strip()
            elif group == "SKIP":
                if "\n" in piece:
                    line += piece.count("\n")
                    line_start = match.start() + piece.rindex("\n") + 1
            else:
                kind = TokenKind[str(group)]
                value = unquoted(piece) if piece[0] in '`"' else piece
                tokens.append(Token(kind, piece, value, line, column))
        tokens.append(Token(TokenKind.END, "", "", line, position - line_start + 1))
        return tokens

    def _refuse(self, character: str, line: int, column: int) -> NoReturn:
        problem = f"unexpected character {character!r}"
        if character in '`"':
            problem = f"{character} is not closed on this line"
        raise TextError(problem, line, column, self._lines[line - 1])

    # --- moving ---------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` places after the next one, which stays unread."""
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        token = self.peek()
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    @property
    def last(self) -> Token:
        """The token read most recently (the first one when nothing was read)."""
        return self._tokens[max(self._index - 1, 0)]

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these words or punctuation marks."""
        token = self.peek()
        return token.text in texts and token.kind in (TokenKind.NAME, TokenKind.PUNCTUATION)

    @property
    def at_end(self) -> bool:
        return self.peek().kind is TokenKind.END

    def accept(self, *texts: str) -> Token | None:
        """Reads the next token if it is one of `texts`."""
        return self.next() if self.at(*texts) else None

    def expect(self, text: str, hint: str = "") -> Token:
        if not self.at(text):
            self.fail(f"expected '{text}', found {self.peek().describe()}", hint)
        return self.next()

    def expect_kind(self, kind: TokenKind, what: str, hint: str = "") -> Token:
        if self.peek().kind is not kind:
            self.fail(f"expected {what}, found {self.peek().describe()}", hint)
        return self.next()

    def expect_integer(self, what: str = "an integer", hint: str = "") -> int:
        return int(self.expect_kind(TokenKind.INTEGER, what, hint).text)

    def expect_end(self, hint: str = "") -> None:
        if not self.at_end:
            self.fail(f"unexpected {self.peek().describe()}", hint)

    def comment(self, line: int | None = None) -> str:
        """The comment on a line, by default the line of the token read last; or ''."""
        return self._comments.get(self.last.line if line is None else line, "")

    def fail(self, problem: str, hint: str = "", token: Token | None = None) -> NoReturn:
        """Raises TextError with a caret under `token`, by default the next one."""
        place = token or self.peek()
        raise TextError(problem, place.line, place.column, self._lines[place.line - 1], hint)
