"""Consequences of multiplying inequalities, for the nonlinear monomials that a question contains.

Where `f >= l` and `g >= m`, also `(f - l)*(g - m) >= 0`: a linear inequality about the monomial
`f*g` (McCormick's envelope). Likewise a known row `e >= 0` times a bound of a symbol. Only products
whose monomials occur already are of use, and only a limited number is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from anyshape.sym.decide.interval import Interval
from anyshape.sym.dim import Dim
from anyshape.sym.monomial import Monomial, divide, multiply

Ask = Callable[[Dim], Interval]

_MAX_PRODUCTS = 60


def bound_rows(dim: Dim, interval: Ask) -> list[Dim]:
    """`dim - lo` and `hi - dim`, both >= 0, where the bounds are finite."""
    lo, hi = interval(dim)
    rows = [dim - lo] if isinstance(lo, int) else []
    return [*rows, hi - dim] if isinstance(hi, int) else rows


def product_rows(rows: list[Dim], interval: Ask) -> list[Dim]:
    """Dims that are >= 0 because they are products of two such dims."""
    nonlinear = _nonlinear(rows)
    found: dict[Dim, None] = {}
    for row in _envelopes(nonlinear, interval):
        found[row] = None
    for row in _multiplied(rows, nonlinear, interval):
        if len(found) >= _MAX_PRODUCTS:
            break
        found[row] = None
    return list(found)


def _nonlinear(rows: Iterable[Dim]) -> dict[Monomial, None]:
    return {
        monomial: None
        for row in rows
        for monomial, _ in row.terms
        if len(monomial) > 1 or (monomial and monomial[0][1] > 1)
    }


def _envelopes(nonlinear: Iterable[Monomial], interval: Ask) -> Iterator[Dim]:
    for monomial in nonlinear:
        for factor, _ in monomial:
            rest = divide(monomial, ((factor, 1),))
            assert rest is not None
            for one in bound_rows(Dim.of_factor(factor), interval):
                for other in bound_rows(Dim.of_terms({rest: 1}), interval):
                    yield one * other


def _multiplied(rows: list[Dim], nonlinear: dict[Monomial, None], interval: Ask) -> Iterator[Dim]:
    factors = {factor: None for monomial in nonlinear for factor, _ in monomial}
    for factor in factors:
        bounds = bound_rows(Dim.of_factor(factor), interval)
        for row in rows:
            if any(m and multiply(m, ((factor, 1),)) in nonlinear for m, _ in row.terms):
                for bound in bounds:
                    yield row * bound
