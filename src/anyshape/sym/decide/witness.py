"""Bindings that satisfy the facts.

A predicate that holds for one witness and fails for another is UNKNOWN beyond doubt, and one that
holds for all of them needs no attempt to refute it. Both spare the search its expensive cases. The
sampling is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import isinf
from random import Random

from anyshape.base.errors import DimError
from anyshape.sym.axis import Axis
from anyshape.sym.decide.interval import Interval
from anyshape.sym.decide.system import System
from anyshape.sym.dim import Dim
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol

Binding = dict[Symbol, int]

_ATTEMPTS = 64
_ENOUGH = 8
_FEW = 3


class Witnesses:
    """A few bindings that satisfy the facts; maybe none. `older` are those of fewer facts."""

    def __init__(
        self,
        system: System,
        axes: Sequence[Axis],
        predicates: Sequence[Predicate],
        older: Witnesses | None = None,
    ) -> None:
        self._system = system
        self._axes = {axis.symbol: axis for axis in axes}
        self._predicates = predicates
        symbols = set(self._axes).union(*(predicate.symbols for predicate in predicates))
        self._symbols = sorted(symbols, key=lambda symbol: symbol.sort_key)
        self._found = self._surviving(older) if older else []
        # Where even fewer facts had no witness, a long search is wasted.
        attempts = _ATTEMPTS if older is None or older._found else _ENOUGH
        if len(self._found) < _FEW:
            samples = (self._sample(seed) for seed in range(attempts))
            self._found += islice((b for b in samples if b is not None), _ENOUGH)

    def verdicts(self, predicate: Predicate) -> set[bool]:
        """What the predicate is for the witnesses for which it has a value."""
        found: set[bool] = set()
        for seed, witness in enumerate(self._found):
            try:
                found.add(predicate.holds(_completed(witness, predicate.symbols, seed)))
            except DimError:
                continue
        return found

    def _surviving(self, older: Witnesses) -> list[Binding]:
        """Facts are only ever appended, so what is older was tested already."""
        news = self._predicates[len(older._predicates) :]
        completed = (self._extended(witness, seed) for seed, witness in enumerate(older._found))
        return [sizes for sizes in completed if self._satisfies(sizes, news)]

    def _extended(self, witness: Binding, seed: int) -> Binding:
        """The sizes of new symbols follow from equalities, where they do."""
        sizes = dict(witness)
        for symbol in self._symbols:
            if symbol not in sizes:
                value = self._system.reduce(Dim.of(symbol))
                if value.symbols <= witness.keys():
                    sizes[symbol] = value.evaluate(witness)
        return _completed(sizes, self._symbols, seed)

    def _sample(self, seed: int) -> Binding | None:
        random = Random(seed)
        reduced = {symbol: self._system.reduce(Dim.of(symbol)) for symbol in self._symbols}
        free = set[Symbol]().union(*(dim.symbols for dim in reduced.values()))
        values = {
            symbol: _pick(self._system.symbol_range(symbol), random)
            for symbol in sorted(free, key=lambda symbol: symbol.sort_key)
        }
        try:
            sizes = {symbol: dim.evaluate(values) for symbol, dim in reduced.items()}
        except DimError:
            return None
        return sizes if self._satisfies(sizes, self._predicates) else None

    def _satisfies(self, sizes: Binding, predicates: Sequence[Predicate]) -> bool:
        try:
            return (
                all(size >= 0 for size in sizes.values())
                and all(axis.contains(sizes[symbol]) for symbol, axis in self._axes.items())
                and all(predicate.holds(sizes) for predicate in predicates)
            )
        except DimError:
            return False


def _completed(witness: Binding, symbols: Iterable[Symbol], seed: int) -> Binding:
    """A binding with sizes for symbols of which nothing is known, too."""
    missing = [symbol for symbol in symbols if symbol not in witness]
    if not missing:
        return witness
    random = Random(seed)
    missing.sort(key=lambda symbol: symbol.sort_key)
    return witness | {symbol: random.choice((1, 0, 2, 3, 5, 8, 16)) for symbol in missing}


def _pick(bounds: Interval, random: Random) -> int:
    """Small numbers mostly: they satisfy the most equalities."""
    low = -4 if isinf(bounds.lo) else int(bounds.lo)
    high = low + random.choice((1, 3, 9, 40))
    return random.randint(low, high if isinf(bounds.hi) else min(high, int(bounds.hi)))
