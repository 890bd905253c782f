"""Sums of integer-weighted monomials: the arithmetic below `Dim`.

Invariant of `Terms`: sorted by `monomial_key`, no monomial twice, no coefficient 0; no terms at
all is the number 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

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


def plus(left: Terms, right: Terms, scale: int) -> Terms:
    """left + scale * right."""
    coefficients = dict(left)
    in_order = True
    for monomial, coefficient in right:
        known = coefficients.get(monomial)
        if known is None:
            known, in_order = 0, in_order and monomial == ONE  # which is the last of all
        coefficients[monomial] = known + scale * coefficient
    if in_order:
        return tuple(term for term in coefficients.items() if term[1])
    return sorted_terms(coefficients)


def scaled(terms: Terms, factor: int) -> Terms:
    return tuple((monomial, factor * c) for monomial, c in terms) if factor else ()


def times(left: Terms, right: Terms) -> Terms:
    coefficients: Coefficients = {}
    for one, first in left:
        for other, second in right:
            monomial = multiply(one, other)
            coefficients[monomial] = coefficients.get(monomial, 0) + first * second
    return sorted_terms(coefficients)


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


class Extent(NamedTuple):
    """What a sum consists of. `length` counts terms and factors, `depth` factors in each other:
    symbols have nothing inside."""

    symbols: frozenset[Symbol]
    length: int
    depth: int


def extent_of(terms: Terms) -> Extent:
    """All of it in one walk: every dim that is made asks."""
    symbols: set[Symbol] = set()
    length, depth = len(terms), 0
    for monomial, _ in terms:
        for factor, _ in monomial:
            if isinstance(factor, Symbol):
                symbols.add(factor)
                length += 1
            else:
                symbols |= factor.symbols
                length += factor.length
                depth = max(depth, factor.depth)
    return Extent(frozenset(symbols), length, depth)


def factors_of(terms: Terms) -> Iterator[Factor]:
    """Every factor of every monomial, not looking inside factors."""
    return (factor for monomial, _ in terms for factor, _ in monomial)


def terms_key(terms: Terms) -> SortKey:
    return tuple((monomial_key(monomial), coefficient) for monomial, coefficient in terms)
