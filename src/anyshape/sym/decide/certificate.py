"""Quick proofs that a dim is >= 0: a sum of known rows, each times something that is >= 0.

    n*m - i*m - j - 1  ==  m*(n - i - 1) + (m - j - 1)

is >= 0 because both rows and `m` are. Such a sum is found by removing one negative term after the
other: a row that has the same negative term, perhaps times a monomial, is subtracted. Bounds of
indices are nearly always of this kind, and take a millisecond instead of a refutation's hundred.

Finding a sum is a proof. Finding none says nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from anyshape.sym.decide.define import compounds, definition
from anyshape.sym.decide.effort import Effort
from anyshape.sym.decide.equalities import tightened
from anyshape.sym.decide.system import System
from anyshape.sym.dim import Dim
from anyshape.sym.factor import CompoundFactor, FloorDiv, Max, Min
from anyshape.sym.monomial import ONE, Monomial, divide, divisors

_MAX_ROWS = 120
_MAX_MORE_ROWS = 40
"""How many a question or another fact may add to those that are known."""

_MAX_STEPS = 48
_MAX_DEPTH = 10
_FEW_ROWS = 3
"""Tried first: where a row leads away, a short proof would not be found before the steps are up."""

FEW_ROWS_STEPS = 500
_FEW_FACTORS = 4
"""A monomial with more of them has too many divisors to try each."""


@dataclass(frozen=True, slots=True)
class _Multiple:
    """A dim that is >= 0; `has_lead`: not only its number, which matches any term."""

    dim: Dim
    has_lead: bool


class Certificates:
    """The rows of a system, opened up; `older` are those of fewer inequalities."""

    def __init__(self, system: System, older: Certificates | None = None) -> None:
        self._system = system
        known = older._rows if older else {}
        self._rows = _opened_up(system, known, system.nonnegative, Effort())

    def proves_nonnegative(self, dim: Dim, effort: Effort | None = None) -> bool:
        """Whether `dim`, which is reduced, is certainly >= 0 wherever it has a value.

        What its quotients mean is known for this question only: elsewhere they need not exist.
        Raises Exhausted when that takes too many steps.
        """
        effort = effort or Effort()
        own = (*_definitions(dim, self._system, set()), *_lower_bounds(dim, self._system))
        rows = _opened_up(self._system, self._rows, own, effort)
        with effort.part(FEW_ROWS_STEPS) as part:
            if _Search(self._system, rows, part).proves(dim, _FEW_ROWS):
                return True
        return _Search(self._system, rows, effort).proves(dim, _MAX_DEPTH)


class _Search:
    """The search for a sum of rows."""

    def __init__(self, system: System, rows: Iterable[Dim], effort: Effort) -> None:
        self._system = system
        self._rows = _strongest(rows)
        self._effort = effort
        self._steps = _MAX_STEPS
        self._with_lead: dict[Monomial, list[tuple[int, int, int]]] = {}
        for at, row in enumerate(self._rows):
            for number, (lead, share) in enumerate(row.terms):
                if share < 0:
                    self._with_lead.setdefault(lead, []).append((at, number, share))

    def proves(self, dim: Dim, depth: int) -> bool:
        self._effort.spend(len(dim.terms))
        if self._system.interval(dim).lo >= 0:
            return True
        if depth == 0 or self._steps <= 0:
            return False
        self._steps -= 1
        rests = sorted(self._without_a_term(dim), key=_difficulty)
        if any(self.proves(rest, depth - 1) for rest in rests):
            return True
        cases = _cases(dim)
        return bool(cases) and all(self.proves(case, depth - 1) for case in cases)

    def _without_a_term(self, dim: Dim) -> Iterator[Dim]:
        """`dim` less a multiple of a row, such that its first negative term is gone."""
        term = next((term for term in dim.terms if term[1] < 0), None)
        for multiple in self._multiples_with(*term) if term is not None else ():
            if multiple.has_lead or _covers(dim, multiple.dim):
                yield dim - multiple.dim

    def _multiples_with(self, monomial: Monomial, coefficient: int) -> Iterator[_Multiple]:
        """Multiples of rows that have at least as much of a negative term."""
        few = sum(power for _, power in monomial) <= _FEW_FACTORS
        leads = divisors(monomial) if few else self._with_lead
        found = (
            (at, number, share, lead)
            for lead in leads
            for at, number, share in self._with_lead.get(lead, ())
        )
        for at, _, share, lead in sorted(found, key=lambda item: item[:2]):
            part = divide(monomial, lead)
            if part is not None and self._is_nonnegative(part):
                times = -(coefficient // -share)  # rounded up: what is left is positive
                self._effort.spend(len(self._rows[at].terms))
                yield _Multiple(Dim.of_terms({part: times}) * self._rows[at], bool(lead))

    def _is_nonnegative(self, monomial: Monomial) -> bool:
        return self._system.interval(Dim.of_terms({monomial: 1})).lo >= 0


def _opened_up(
    system: System, known: Iterable[Dim], more: Iterable[Dim], effort: Effort
) -> dict[Dim, None]:
    """Known rows and more, what follows from them about the parts of minima, and what these mean.

    An ordered set.
    """
    rows, waiting = dict.fromkeys(known), deque(more)
    defined: set[CompoundFactor] = set()
    most = max(_MAX_ROWS, len(rows) + _MAX_MORE_ROWS)
    while waiting and len(rows) < most:
        row = tightened(system.reduce(waiting.popleft()))
        effort.spend(len(row.terms))
        if row not in rows and not row.is_constant:
            rows[row] = None
            waiting += [*_opened(row, system), *_definitions(row, system, defined)]
    return rows


def _strongest(rows: Iterable[Dim]) -> list[Dim]:
    """Rows without those that others imply: `n - 2*i - 2 >= 0` says `n - 2*i - 1 >= 0`, which would
    lead the search astray."""
    found: dict[tuple[tuple[Monomial, int], ...], Dim] = {}
    for row in rows:
        rest = tuple(term for term in row.terms if term[0])
        known = found.get(rest)
        if known is None or row.coefficient(ONE) < known.coefficient(ONE):
            found[rest] = row
    return list(found.values())


def _covers(dim: Dim, part: Dim) -> bool:
    """Whether subtracting `part` makes no positive term negative."""
    return all(dim.coefficient(m) >= c for m, c in part.terms if c > 0)


def _difficulty(dim: Dim) -> tuple[int, int]:
    """What is left to remove, and how much there is."""
    return sum(coefficient < 0 for _, coefficient in dim.terms), len(dim.terms)


def _definitions(dim: Dim, system: System, defined: set[CompoundFactor]) -> Iterator[Dim]:
    """What the factors of a dim mean, except those that are defined already."""
    for factor in compounds(dim):
        if factor not in defined:
            defined.add(factor)
            yield from definition(factor, system.interval).nonnegative


def _lower_bounds(dim: Dim, system: System) -> Iterator[Dim]:
    for symbol in sorted(dim.symbols, key=lambda symbol: symbol.sort_key):
        lo = system.symbol_range(symbol).lo
        if isinstance(lo, int) and lo > 0:
            yield Dim.of(symbol) - lo


def _opened(row: Dim, system: System) -> Iterator[Dim]:
    """Rows that follow: `min(a, b) >= x` says `a >= x`, and `a//6 >= x` says `a >= 6*x`."""
    for monomial, coefficient in row.terms:
        match monomial:
            case ((Min() as factor, 1),) if coefficient > 0:
                yield from _replaced(row, factor, coefficient, factor.args)
            case ((Max() as factor, 1),):
                args = factor.args if coefficient < 0 else _greatest(factor, system)
                yield from _replaced(row, factor, coefficient, args)
            case ((FloorDiv() as factor, 1),) if coefficient > 0:
                yield from _multiplied(row, factor, coefficient, factor.num)
            case _:
                pass


def _cases(dim: Dim) -> list[Dim]:
    """If all of these are >= 0, so is `dim`: `min(a, b) - x` is one of `a - x` and `b - x`.

    That says as much as `dim` does where a minimum is added or a maximum subtracted, which come
    first. `x - min(a, b)` may be >= 0 where `x - a` is not; rows say what can be said of it.
    """
    for exact in (True, False):
        for monomial, coefficient in dim.terms:
            match monomial:
                case ((Min() | Max() as factor, 1),) if exact == _is_exact(factor, coefficient):
                    return list(_replaced(dim, factor, coefficient, factor.args))
                case ((FloorDiv() as factor, 1),) if not exact:
                    down = factor.num - factor.den + 1 if coefficient > 0 else factor.num
                    if made := list(_multiplied(dim, factor, coefficient, down)):
                        return made
                case _:
                    pass
    return []


def _is_exact(factor: Min | Max, coefficient: int) -> bool:
    """Whether a dim with this term is >= 0 only if it is with each argument in its place."""
    return isinstance(factor, Min) == (coefficient > 0)


def _greatest(factor: Max, system: System) -> tuple[Dim, ...]:
    """The argument that is always the greatest, if ranges tell."""
    found = (a for a in factor.args if all(system.interval(a - b).lo >= 0 for b in factor.args))
    return tuple(islice(found, 1))


def _replaced(dim: Dim, factor: Min | Max, coefficient: int, args: Iterable[Dim]) -> Iterator[Dim]:
    rest = dim - coefficient * Dim.of_factor(factor)
    return (rest + coefficient * arg for arg in args)


def _multiplied(dim: Dim, factor: FloorDiv, coefficient: int, num: Dim) -> Iterator[Dim]:
    """`dim` times a constant divisor, with `num` in place of the quotient times the divisor."""
    if (factor.den.constant or 0) > 0:
        yield (dim - coefficient * Dim.of_factor(factor)) * factor.den + coefficient * num
