"""Sums of integer-weighted monomials: the arithmetic below `Dim`.

Invariant of `Terms`: sorted by `monomial_key`, no monomial twice, no coefficient 0; no terms at
all is the number 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from anyshape.sym.factor import Factor, SortKey
from anyshape.sym.monomial import ONE, Monomial, monomial_key, multiply
from anyshape.sym.symbol import Symbol

Terms = tuple[tuple[Monomial, int], ...]
Coefficients = dict[Monomial, int]


def sorted_terms(coefficients: Mapping[Monomial, int]) -> Terms:
    kept = [(monomial, c) for monomial, c in coefficients.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda term: monomial_key(term[0]))
    return tuple(kept)


def plus(left: Terms, right: Terms, scale: int) -> Coefficients:
    """left + scale * right."""
    coefficients = dict(left)
    for monomial, coefficient in right:
        coefficients[monomial] = coefficients.get(monomial, 0) + scale * coefficient
    return coefficients


def times(left: Terms, right: Terms) -> Coefficients:
    coefficients: Coefficients = {}
    for one, first in left:
        for other, second in right:
            monomial = multiply(one, other)
            coefficients[monomial] = coefficients.get(monomial, 0) + first * second
    return coefficients


def constant_of(terms: Terms) -> int | None:
    """The number, when there are no symbols."""
    if not terms:
        return 0
    return terms[0][1] if len(terms) == 1 and terms[0][0] == ONE else None


def factor_of(terms: Terms) -> Factor | None:
    """The factor, when the sum is one bare factor."""
    match terms:
        case ((((factor, 1),), 1),):
            return factor
        case _:
            return None


def symbols_of(terms: Terms) -> frozenset[Symbol]:
    found: set[Symbol] = set()
    for monomial, _ in terms:
        for factor, _ in monomial:
            found.update((factor,) if isinstance(factor, Symbol) else factor.symbols)
    return frozenset(found)


def factors_of(terms: Terms) -> Iterator[Factor]:
    """Every factor of every monomial, not looking inside factors."""
    return (factor for monomial, _ in terms for factor, _ in monomial)


def terms_key(terms: Terms) -> SortKey:
    return tuple((monomial_key(monomial), coefficient) for monomial, coefficient in terms)
