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

_ATTEMPTS = 160
_ENOUGH = 10


class Witnesses:
    """A few bindings that satisfy the facts, found once; maybe none."""

    def __init__(
        self, system: System, axes: Sequence[Axis], predicates: Sequence[Predicate]
    ) -> None:
        self._system = system
        self._axes = {axis.symbol: axis for axis in axes}
        self._predicates = predicates
        symbols = set(self._axes).union(*(predicate.symbols for predicate in predicates))
        self._symbols = sorted(symbols, key=lambda symbol: symbol.sort_key)
        found = (self._sample(seed) for seed in range(_ATTEMPTS))
        self._found = list(islice((b for b in found if b is not None), _ENOUGH))

    def verdicts(self, predicate: Predicate) -> set[bool]:
        """What the predicate is for the witnesses for which it has a value."""
        new = sorted(predicate.symbols.difference(self._symbols), key=lambda symbol: symbol.name)
        found: set[bool] = set()
        for seed, witness in enumerate(self._found):
            random = Random(seed)
            extra = {symbol: random.choice((1, 0, 2, 3, 5, 8, 16)) for symbol in new}
            try:
                found.add(predicate.holds({**witness, **extra}))
            except DimError:
                continue
        return found

    def _sample(self, seed: int) -> Binding | None:
        random = Random(seed)
        values: Binding = {}
        for symbol in self._free_symbols():
            values[symbol] = _pick(self._system.symbol_range(symbol), random)
        try:
            sizes = {s: self._system.reduce(Dim.of(s)).evaluate(values) for s in self._symbols}
            return sizes if self._satisfies(sizes) else None
        except DimError:
            return None

    def _free_symbols(self) -> Iterable[Symbol]:
        reduced = (self._system.reduce(Dim.of(symbol)).symbols for symbol in self._symbols)
        return sorted(set[Symbol]().union(*reduced), key=lambda symbol: symbol.sort_key)

    def _satisfies(self, sizes: Binding) -> bool:
        fits = all(axis.contains(sizes[symbol]) for symbol, axis in self._axes.items()) and all(
            size >= 0 for size in sizes.values()
        )
        return fits and all(predicate.holds(sizes) for predicate in self._predicates)


def _pick(bounds: Interval, random: Random) -> int:
    """Small numbers mostly: they satisfy the most equalities."""
    low = -4 if isinf(bounds.lo) else int(bounds.lo)
    high = low + random.choice((1, 3, 9, 40))
    return random.randint(low, high if isinf(bounds.hi) else min(high, int(bounds.hi)))
