"""Fourier-Motzkin elimination with integer tightening: do these inequalities have a solution?

A row is `sum(coefficient * unknown) + constant >= 0`, the unknowns being the monomials of its dim.
Eliminating an unknown adds each row that bounds it from below to each that bounds it from above.
Every row is divided by the common divisor of its coefficients with the constant rounded down, which
is what makes 2*x == 2*y + 1 fail. Saying "infeasible" is always right; giving up says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from anyshape.sym.decide.effort import Effort
from anyshape.sym.dim import Dim
from anyshape.sym.monomial import Monomial

Row = tuple[tuple[int, int], ...]  # (unknown, coefficient), sorted by unknown

_MAX_ROWS = 240
_MAX_PAIRS = 160


class TooManyRows(Exception):  # noqa: N818 - an answer: fewer rows may have one
    """Eliminating any unknown would make more rows than there may be."""


class _Infeasible(Exception):  # noqa: N818 - the outcome that is looked for
    pass


class _Tableau:
    """Rows keyed by their coefficients, with the tightest constant of each."""

    def __init__(self, effort: Effort) -> None:
        self.rows: dict[Row, int] = {}
        self._effort = effort

    def add(self, coefficients: dict[int, int], constant: int) -> None:
        self._effort.spend(1 + len(coefficients))
        shared = gcd(*coefficients.values())
        if shared == 0:
            if constant < 0:
                raise _Infeasible
            return
        row = tuple(sorted((u, c // shared) for u, c in coefficients.items()))
        constant //= shared
        if constant >= self.rows.get(row, constant + 1):
            return
        opposite = self.rows.get(tuple((u, -c) for u, c in row))
        if opposite is not None and opposite + constant < 0:
            raise _Infeasible
        self.rows[row] = constant

    def cheapest(self) -> int | None:
        """The unknown whose elimination adds the fewest rows."""
        lower: dict[int, int] = {}
        upper: dict[int, int] = {}
        self._effort.spend(len(self.rows))
        for row in self.rows:
            for unknown, coefficient in row:
                side = lower if coefficient > 0 else upper
                side[unknown] = side.get(unknown, 0) + 1
        costs = {u: lower.get(u, 0) * upper.get(u, 0) for u in {**lower, **upper}}
        if not costs:
            return None
        return min(costs, key=lambda unknown: (costs[unknown], unknown))

    def eliminate(self, unknown: int) -> None:
        """Removes an unknown. Raises TooManyRows when that would make too many."""
        lower: list[tuple[dict[int, int], int]] = []
        upper: list[tuple[dict[int, int], int]] = []
        kept: dict[Row, int] = {}
        for row, constant in self.rows.items():
            coefficients = dict(row)
            side = coefficients.get(unknown, 0)
            if side:
                (lower if side > 0 else upper).append((coefficients, constant))
            else:
                kept[row] = constant
        if len(lower) * len(upper) > _MAX_PAIRS:
            raise TooManyRows
        self.rows = kept
        for low in lower:
            for high in upper:
                self.add(*_combined(low, high, unknown))
        if len(self.rows) > _MAX_ROWS:
            raise TooManyRows


def _combined(
    low: tuple[dict[int, int], int], high: tuple[dict[int, int], int], unknown: int
) -> tuple[dict[int, int], int]:
    """The positive combination of two rows in which `unknown` cancels."""
    of_high, of_low = low[0][unknown], -high[0][unknown]
    shared = gcd(of_low, of_high)
    of_low, of_high = of_low // shared, of_high // shared
    total = {u: of_low * c for u, c in low[0].items()}
    for u, c in high[0].items():
        total[u] = total.get(u, 0) + of_high * c
    return {u: c for u, c in total.items() if c}, of_low * low[1] + of_high * high[1]


def infeasible(nonnegative: Iterable[Dim], effort: Effort | None = None) -> bool:
    """Whether it is certain that no integers make all of these dims >= 0. May raise TooManyRows."""
    unknowns: dict[Monomial, int] = {}
    tableau = _Tableau(effort or Effort())
    try:
        for dim in nonnegative:
            row = {unknowns.setdefault(m, len(unknowns)): c for m, c in dim.terms if m}
            tableau.add(row, dim.coefficient(()))
        while (unknown := tableau.cheapest()) is not None:
            tableau.eliminate(unknown)
    except _Infeasible:
        return True
    return False
