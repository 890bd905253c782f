"""Statements about symbols, in the order they were made, and which of them are near a question.

Two statements are neighbours when they share a symbol. Questions are about few symbols, and what is
far from them rarely matters; with thousands of statements, only the nearest are looked at.

A log is shared by provers that extend each other: each sees the statements up to its own number.
Only the first extension of the newest of them appends to it; others make a log of their own, so
that what a prover sees never changes, whoever goes on from it in whichever thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from anyshape.sym.axis import Axis
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol, SymbolKey

Statement = Axis | Predicate

NEAR = 16
"""How many statements a question sees where there are many."""


class Log:
    """Statements that are only ever appended."""

    def __init__(self, statements: Iterable[Statement] = ()) -> None:
        self.statements: list[Statement] = []
        self._mentions: dict[Symbol, list[int]] = {}
        self.append(statements)

    def append(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            number = len(self.statements)
            self.statements.append(statement)
            for symbol in symbols_of(statement):
                self._mentions.setdefault(symbol, []).append(number)

    def near(self, symbols: Iterable[Symbol], count: int) -> tuple[int, ...]:
        """The numbers of the nearest among the first `count` statements, in ascending order.

        Symbols with few statements come first: what is said of all axes says little of one. Of
        others, those that were mentioned first: which statements are near depends on no name.
        """
        near: set[int] = set()
        seen = set(symbols)
        ring = list(seen)
        while ring and len(near) < NEAR:
            following: set[Symbol] = set()
            ring.sort(key=lambda symbol: self._nearness(symbol, count))
            for symbol in ring:
                for number in self._mentions.get(symbol, ())[: self._visible(symbol, count)]:
                    if len(near) >= NEAR:
                        break
                    near.add(number)
                    following |= symbols_of(self.statements[number])
            ring = list(following - seen)
            seen |= following
        return tuple(sorted(near))

    def _nearness(self, symbol: Symbol, count: int) -> tuple[int, int, SymbolKey]:
        numbers = self._mentions.get(symbol, (count,))
        return self._visible(symbol, count), numbers[0], symbol.sort_key

    def about(self, symbols: Iterable[Symbol], count: int) -> Sequence[int]:
        """The first few statements about whichever of these symbols has the fewest."""
        by_symbol = (self._mentions.get(s, ())[: self._visible(s, count)] for s in symbols)
        return min(by_symbol, key=len, default=())

    def _visible(self, symbol: Symbol, count: int) -> int:
        """How many of the first statements about a symbol are considered."""
        numbers = self._mentions.get(symbol, ())
        return bisect_left(numbers, count, hi=min(len(numbers), NEAR))


def symbols_of(statement: Statement) -> frozenset[Symbol]:
    if isinstance(statement, Axis):
        return frozenset((statement.symbol,))
    return statement.symbols
