"""Representatives: which of several equal dims is the one to show.

Unlike the solver's equalities these contain symbols of the user only. An equality eliminates a
fresh symbol if it can; else the symbol that stands alone on one side (`out_seq == seq - 2` shows
`seq - 2`), of two lone names the one later in the alphabet. A named axis never becomes a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyshape.base.errors import DimError
from anyshape.sym.decide.equalities import lone_symbols
from anyshape.sym.dim import Dim
from anyshape.sym.predicate import Equal, Predicate
from anyshape.sym.symbol import Symbol


class Representatives:
    """A triangular substitution over the user's symbols."""

    def __init__(self, facts: Iterable[Predicate] = ()) -> None:
        self._values: dict[Symbol, Dim] = {}
        self._learn(facts)

    def extended(self, facts: Iterable[Predicate]) -> Representatives:
        other = Representatives()
        other._values = dict(self._values)
        other._learn(facts)
        return other

    def of(self, dim: Dim) -> Dim:
        return dim.substitute(self._values)

    def _learn(self, facts: Iterable[Predicate]) -> None:
        for fact in facts:
            if isinstance(fact, Equal):
                try:
                    self._learn_equal(self.of(fact.lhs), self.of(fact.rhs))
                except DimError:  # a fact without a value: the solver sees the contradiction
                    continue

    def _learn_equal(self, lhs: Dim, rhs: Dim) -> None:
        zero = lhs - rhs
        lone = {symbol: c for symbol, c in lone_symbols(zero).items() if abs(c) == 1}
        fresh = [symbol for symbol in lone if symbol.is_fresh]
        bare = [side.symbol for side in (lhs, rhs) if side.symbol in lone]
        symbol = max(fresh or [s for s in bare if s], key=lambda s: s.sort_key, default=None)
        if symbol is None:
            return
        value = Dim.of(symbol) - lone[symbol] * zero
        if symbol.is_fresh or not any(other.is_fresh for other in value.symbols):
            single = {symbol: value}
            self._values = {s: v.substitute(single) for s, v in self._values.items()}
            self._values[symbol] = value
