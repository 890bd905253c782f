"""The grammar of dims and predicates, as plain syntax trees.

    predicate := sum ('==' | '!=' | '<=' | '<' | '>=' | '>') sum
               | 'broadcastable' '(' sum ',' sum ')'
    sum       := term (('+' | '-') term)*
    term      := unary (('*' | '//' | '%') unary)*
    unary     := '-' unary | atom
    atom      := INTEGER | symbol | call | '(' sum ')'
    call      := ('min' | 'max' | 'ceildiv' | 'bcast') '(' sum (',' sum)* ')'

Trees stand between text and `Dim` so that neither has to know the other: `Dim.of("n//2")` needs a
reader, and a reader that made dims would need `Dim`. Reading stops at the first token that cannot
continue the expression, which is what lets graphs embed dims.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.base.lexer import Cursor, TokenKind
from anyshape.sym.symbol import RESERVED

_COMPARISONS = ("==", "!=", "<=", "<", ">=", ">")
_CALLS = {"min": None, "max": None, "bcast": None, "ceildiv": 2}
_HINT = "a dim is an integer, an axis name, + - * // %, min, max, ceildiv or bcast"


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Tree, ...]


Tree = Number | Name | Binary | Call


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate: `operator` is a comparison or `broadcastable`."""

    operator: str
    left: Tree
    right: Tree


def read_tree(cursor: Cursor) -> Tree:
    """Reads one size expression."""
    tree = _term(cursor)
    while operator := cursor.accept("+", "-"):
        tree = Binary(operator.text, tree, _term(cursor))
    return tree


def read_comparison(cursor: Cursor) -> Comparison:
    """Reads one predicate."""
    if cursor.accept("broadcastable"):
        left, right = _arguments(cursor, "broadcastable", 2)
        return Comparison("broadcastable", left, right)
    left = read_tree(cursor)
    operator = cursor.accept(*_COMPARISONS)
    if operator is None:
        hint = "a predicate is 'a == b', '!=', '<=', '<', '>=', '>' or 'broadcastable(a, b)'"
        cursor.fail(f"expected a comparison, found {cursor.peek().describe()}", hint)
    return Comparison(operator.text, left, read_tree(cursor))


def _term(cursor: Cursor) -> Tree:
    tree = _unary(cursor)
    while operator := cursor.accept("*", "//", "%"):
        tree = Binary(operator.text, tree, _unary(cursor))
    return tree


def _unary(cursor: Cursor) -> Tree:
    if cursor.accept("-"):
        return Binary("-", Number(0), _unary(cursor))
    return _atom(cursor)


def _atom(cursor: Cursor) -> Tree:
    if cursor.accept("("):
        tree = read_tree(cursor)
        cursor.expect(")")
        return tree
    token = cursor.peek()
    if token.kind is TokenKind.INTEGER:
        return Number(int(cursor.next().text))
    if token.kind is TokenKind.NAME and token.text in RESERVED:
        return _call(cursor)
    if not token.is_symbol or not token.value:
        cursor.fail(f"expected a dim, found {token.describe()}", _HINT)
    return Name(cursor.next().value)


def _call(cursor: Cursor) -> Call:
    function = cursor.peek().text
    if function not in _CALLS:
        cursor.fail(f"'{function}' is a predicate, not a dim", _HINT)
    cursor.next()
    return Call(function, _arguments(cursor, function, _CALLS[function]))


def _arguments(cursor: Cursor, function: str, count: int | None) -> tuple[Tree, ...]:
    opening = cursor.expect("(", f"an axis of that name is written `{function}`, in backquotes")
    arguments = [read_tree(cursor)]
    while cursor.accept(","):
        arguments.append(read_tree(cursor))
    cursor.expect(")")
    if count is not None and len(arguments) != count:
        cursor.fail(f"{function} takes {count} arguments, found {len(arguments)}", token=opening)
    return tuple(arguments)
