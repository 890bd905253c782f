"""Bindings that satisfy the facts.

A predicate that holds for one witness and fails for another is UNKNOWN beyond doubt, and one that
holds for all of them needs no attempt to refute it. Both spare the search its expensive cases. The
sampling is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isinf
from random import Random

from anyshape.base.errors import DimError
from anyshape.base.lazy import lazy_property
from anyshape.sym.axis import Axis
from anyshape.sym.decide.interval import Interval
from anyshape.sym.decide.system import System
from anyshape.sym.dim import Dim
from anyshape.sym.predicate import Predicate
from anyshape.sym.symbol import Symbol

Binding = dict[Symbol, int]

_ATTEMPTS = 64
_ENOUGH = 16
_FEW = 8
_SPANS = (0, 200, 3, 9, 1000, 1, 40, 1 << 30)
"""How far from their least value sizes are, by turns: the least ones decide most questions about
small sizes, small numbers satisfy the most equalities, some must be beyond a tile, and one beyond
every number that is compared with a size."""


class Witnesses:
    """A few bindings that satisfy the facts; maybe none. `older` are those of fewer facts.

    They are looked for while questions need them.
    """

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
        self._symbols = _in_order(axes, predicates)
        self._rows: dict[Symbol, list[Dim]] = {}  # inequalities by symbol
        for row in system.nonnegative:
            for symbol in row.symbols:
                self._rows.setdefault(symbol, []).append(row)
        self._lines = older._lines if older else dict[tuple[Dim, Symbol], _Line | None]()
        self._found = self._surviving(older) if older else []
        # Where even fewer facts had no witness, a long search is wasted.
        attempts = _ATTEMPTS if older is None or older._found else _FEW
        self._samples = filter(None, map(self._sample, range(attempts)))

    def verdicts(self, predicate: Predicate) -> set[bool]:
        """What the predicate is for witnesses for which it has a value, until both answers are."""
        found: set[bool] = set()
        for seed, witness in enumerate(self._all()):
            with suppress(DimError):
                found.add(predicate.holds(_completed(witness, predicate.symbols, seed)))
            if len(found) == 2:
                break
        return found

    def _all(self) -> Iterator[Binding]:
        """Those found before, then more of them, up to a limit."""
        yield from self._found
        while len(self._found) < _ENOUGH:
            sample = next(self._samples, None)
            if sample is None:
                return
            self._found.append(sample)
            yield sample

    def _surviving(self, older: Witnesses) -> list[Binding]:
        """Facts are only ever appended, so what is older was tested already."""
        news = self._predicates[len(older._predicates) :]
        extended = (self._extended(witness, seed) for seed, witness in enumerate(older._found))
        return [sizes for sizes in extended if sizes and self._satisfies(sizes, news)]

    def _extended(self, witness: Binding, seed: int) -> Binding | None:
        """The witness with sizes for new symbols."""
        sizes, random = dict(witness), Random(seed)
        try:
            for symbol in (symbol for symbol in self._symbols if symbol not in witness):
                value = self._system.reduce(Dim.of(symbol))
                if value.symbols <= sizes.keys():
                    sizes[symbol] = value.evaluate(sizes)
                elif value.symbol is symbol:
                    sizes[symbol] = _pick(self._range(symbol, sizes), random, seed)
        except DimError:
            return None
        return _completed(sizes, self._symbols, seed)

    @lazy_property
    def _reduced(self) -> dict[Symbol, Dim]:
        return {symbol: self._system.reduce(Dim.of(symbol)) for symbol in self._symbols}

    def _sample(self, seed: int) -> Binding | None:
        """One size after the other, each within what those before it leave."""
        random = Random(seed)
        reduced = self._reduced
        values: Binding = {}
        try:
            for dim in reduced.values():
                for symbol in sorted(dim.symbols - values.keys(), key=lambda s: s.sort_key):
                    values[symbol] = _pick(self._range(symbol, values), random, seed)
            sizes = {symbol: dim.evaluate(values) for symbol, dim in reduced.items()}
        except DimError:
            return None
        return sizes if self._satisfies(sizes, self._predicates) else None

    def _range(self, symbol: Symbol, values: Binding) -> Interval:
        """The sizes that known inequalities allow, given the values of other symbols."""
        lo, hi = self._system.symbol_range(symbol)
        for row in self._rows.get(symbol, ()):
            line = self._line(row, symbol)
            if line is not None and all(other in values for other in line.others):
                slope, rest = line.slope.evaluate(values), line.rest.evaluate(values)
                if slope > 0:
                    lo = max(lo, -(rest // slope))
                elif slope < 0:
                    hi = min(hi, rest // -slope)
        return Interval(lo, max(lo, hi))

    def _line(self, row: Dim, symbol: Symbol) -> _Line | None:
        key = row, symbol
        if key not in self._lines:
            self._lines[key] = _Line.of(row, symbol)
        return self._lines[key]

    def _satisfies(self, sizes: Binding, predicates: Sequence[Predicate]) -> bool:
        try:
            return (
                all(size >= 0 for size in sizes.values())
                and all(axis.contains(sizes[symbol]) for symbol, axis in self._axes.items())
                and all(predicate.holds(sizes) for predicate in predicates)
            )
        except DimError:
            return False


def _in_order(axes: Sequence[Axis], predicates: Sequence[Predicate]) -> list[Symbol]:
    """Symbols in the order they are met: what bounds an index is mostly stated before it."""
    found = {axis.symbol: None for axis in axes}
    for predicate in predicates:
        found.update((s, None) for s in sorted(predicate.symbols, key=lambda s: s.sort_key))
    return list(found)


@dataclass(frozen=True, slots=True)
class _Line:
    """A row that is linear in a symbol: `slope * symbol + rest`."""

    slope: Dim
    rest: Dim
    others: frozenset[Symbol]

    @staticmethod
    def of(row: Dim, symbol: Symbol) -> _Line | None:
        factors = [item for monomial, _ in row.terms for item in monomial]
        if any(symbol in f.symbols for f, _ in factors if not isinstance(f, Symbol)):
            return None
        if any(power > 1 for f, power in factors if f is symbol):
            return None
        rest = row.substitute({symbol: 0})
        slope = row.substitute({symbol: 1}) - rest
        return _Line(slope, rest, row.symbols - {symbol})


def _completed(witness: Binding, symbols: Iterable[Symbol], seed: int) -> Binding:
    """A binding with sizes for symbols of which nothing is known, too."""
    missing = [symbol for symbol in symbols if symbol not in witness]
    if not missing:
        return witness
    random = Random(seed)
    missing.sort(key=lambda symbol: symbol.sort_key)
    return witness | {symbol: random.choice((1, 0, 2, 3, 5, 8, 16)) for symbol in missing}


def _pick(bounds: Interval, random: Random, seed: int) -> int:
    low = -4 if isinf(bounds.lo) else int(bounds.lo)
    high = low + _SPANS[seed % len(_SPANS)]
    return random.randint(low, high if isinf(bounds.hi) else min(high, int(bounds.hi)))
