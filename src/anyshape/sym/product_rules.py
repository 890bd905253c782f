"""Products that facts settle: what takes their place in dims.

    a*b == 24       f32[a*b, 8]  is  f32[24, 8]
    a*b == c*d      f32[a*b]     is  f32[c*d]

No symbol goes away, so facts stay as they are. A product is replaced by what comes later in the
order of monomials, which multiplication preserves: replacing ends, whatever rules there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from anyshape.sym.dim import Dim
from anyshape.sym.factor import Factor
from anyshape.sym.facts import Fact, Facts
from anyshape.sym.monomial import Monomial, divide
from anyshape.sym.predicate import Equal
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.symbol import Symbol


@dataclass(frozen=True, slots=True)
class ProductRule:
    """A product of sizes, and the number or product that it always is."""

    product: Monomial
    size: Dim
    because: Fact

    def __str__(self) -> str:
        product = Dim.of_terms({self.product: 1})
        return f"{product} is {self.size}: {self.because} ({self.because.source})"


def product_rules(facts: Facts, late: Set[Symbol] = frozenset()) -> tuple[ProductRule, ...]:
    """What equalities say about products; those with `late` symbols are not asked."""
    return tuple(_rules(facts, late))


def _rules(facts: Facts, late: Set[Symbol]) -> Iterator[ProductRule]:
    seen: set[Monomial] = set()
    for fact in facts.facts:
        predicate = fact.predicate
        if not isinstance(predicate, Equal) or predicate.symbols & late:
            continue
        zero = predicate.lhs - predicate.rhs
        if not 1 <= len(zero.terms) <= 2 or not all(_is_of_symbols(m) for m, _ in zero.terms):
            continue
        product, coefficient = zero.terms[0]
        size = Dim.of_terms({product: 1}) - coefficient * zero
        if abs(coefficient) == 1 and _degree(product) > 1 and product not in seen:
            seen.add(product)
            yield ProductRule(product, size, fact)


def _is_of_symbols(monomial: Monomial) -> bool:
    return all(isinstance(factor, Symbol) for factor, _ in monomial)


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


class ProductsReplaced:
    """Dims with products replaced; each is looked at once."""

    def __init__(self, rules: Sequence[ProductRule]) -> None:
        self.rules = rules
        self._dims: dict[Dim, Dim] = {}

    def __call__(self, dim: Dim) -> Dim:
        if dim not in self._dims:
            self._dims[dim] = self._replaced(dim)
        return self._dims[dim]

    def _replaced(self, dim: Dim) -> Dim:
        dim = map_factors(dim, self._factor)
        while (simpler := self._once(dim)) is not None:
            dim = simpler
        return dim

    def _factor(self, factor: Factor) -> Dim:
        if isinstance(factor, Symbol):
            return Dim.of(factor)
        return with_args(factor, [self(arg) for arg in factor.args])

    def _once(self, dim: Dim) -> Dim | None:
        """With the first product replaced that a rule is about, if there is one."""
        for monomial, coefficient in dim.terms:
            for rule in self.rules:
                rest = divide(monomial, rule.product)
                if rest is not None:
                    difference = rule.size - Dim.of_terms({rule.product: 1})
                    return dim + coefficient * Dim.of_terms({rest: 1}) * difference
        return None
