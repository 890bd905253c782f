"""Monomials: sorted products of factors with positive powers. The empty product is 1.

Invariant: factors are sorted by their `sort_key`, each appears once. The order of monomials is
graded lexicographic, which is what makes polynomial long division terminate, and is independent
of hash seeds and of the order in which things were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from anyshape.sym.factor import Factor, SortKey

Monomial = tuple[tuple[Factor, int], ...]

ONE: Monomial = ()


def _make(powers: dict[Factor, int]) -> Monomial:
    kept = ((factor, power) for factor, power in powers.items() if power)
    return tuple(sorted(kept, key=lambda item: item[0].sort_key))


@lru_cache(maxsize=1 << 14)
def monomial_key(monomial: Monomial) -> SortKey:
    """Higher degrees first, constants last."""
    if len(monomial) == 1:  # most are: spare the generators
        ((factor, power),) = monomial
        return (-power, ((factor.sort_key, -power),))
    degree = sum(power for _, power in monomial)
    return (-degree, tuple((factor.sort_key, -power) for factor, power in monomial))


def multiply(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for factor, power in right:
        powers[factor] = powers.get(factor, 0) + power
    return _make(powers)


def divide(whole: Monomial, part: Monomial) -> Monomial | None:
    """`whole / part`, or None when that is no monomial."""
    if not part:
        return whole
    powers = dict(whole)
    for factor, power in part:
        left = powers.get(factor, 0) - power
        if left < 0:
            return None
        powers[factor] = left
    return _make(powers)


def divisors(monomial: Monomial) -> Iterator[Monomial]:
    """Every monomial that divides this one, 1 and itself included."""
    choices = ([(factor, p) for p in range(power + 1)] for factor, power in monomial)
    for chosen in product(*choices):
        yield tuple((factor, power) for factor, power in chosen if power)


def common(monomials: Iterable[Monomial]) -> Monomial:
    """The greatest monomial that divides all of them."""
    first, *others = monomials
    powers = dict(first)
    for other in others:
        theirs = dict(other)
        powers = {factor: min(power, theirs.get(factor, 0)) for factor, power in powers.items()}
    return _make(powers)
