"""What becomes of a compound factor when its symbols are replaced or given values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import TYPE_CHECKING

from anyshape.base.errors import DimError
from anyshape.sym.choice import broadcast_of, maximum_of, minimum_of
from anyshape.sym.factor import Bcast, CompoundFactor, Factor, FloorDiv, Max, Min, Mod
from anyshape.sym.monomial import Monomial
from anyshape.sym.symbol import Symbol

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim


class Substitution(dict[Symbol, "Dim"]):
    """Replacements that remember what became of dims: those that share parts are rebuilt once."""

    def __init__(self, replacements: Mapping[Symbol, Dim]) -> None:
        super().__init__(replacements)
        self.dims: dict[Dim, Dim] = {}
        self.factors: dict[Factor, Dim] = {}


def substituted(dim: Dim, replacements: Substitution) -> Dim:
    """`dim` with symbols replaced, all at once, and simplified again."""

    def replace(factor: Factor) -> Dim:
        if isinstance(factor, Symbol):
            return dim.of(replacements.get(factor, factor))
        if factor.symbols.isdisjoint(replacements):
            return dim.of_factor(factor)
        if factor not in replacements.factors:
            args = [arg.substitute(replacements) for arg in factor.args]
            replacements.factors[factor] = with_args(factor, args)
        return replacements.factors[factor]

    if dim not in replacements.dims:
        replacements.dims[dim] = map_factors(dim, replace)
    return replacements.dims[dim]


def map_factors(dim: Dim, change: Callable[[Factor], Dim]) -> Dim:
    """`dim` with every factor of every monomial replaced by `change(factor)`."""
    changed = [[change(factor) for factor, _ in monomial] for monomial, _ in dim.terms]
    if all(map(_is_same, dim.terms, changed)):  # as most dims are that a prover looks at
        return dim
    total: dict[Monomial, int] = {}
    for (monomial, coefficient), news in zip(dim.terms, changed, strict=True):
        term = dim.of(coefficient)
        for (_, power), new in zip(monomial, news, strict=True):
            for _ in range(power):
                term *= new
        for product, times in term.terms:
            total[product] = total.get(product, 0) + times
    return dim.of_terms(total)


def _is_same(term: tuple[Monomial, int], factors: list[Dim]) -> bool:
    return all(new.factor is old for (old, _), new in zip(term[0], factors, strict=True))


def with_args(factor: CompoundFactor, args: list[Dim]) -> Dim:
    """The same operation on other arguments, simplified."""
    if len(args) == len(factor.args) and all(map(is_, args, factor.args)):
        return args[0].of_factor(factor)
    match factor:
        case FloorDiv():
            return args[0] // args[1]
        case Mod():
            return args[0] % args[1]
        case Min():
            return minimum_of(args)
        case Max():
            return maximum_of(args)
        case Bcast():
            return broadcast_of(args)


def evaluated(factor: Factor, binding: Mapping[Symbol, int]) -> int:
    """The value of a factor; DimError where it has none."""
    if isinstance(factor, Symbol):
        size = binding.get(factor)
        if size is None:
            raise DimError(str(factor), "no size is bound to this axis", f"bind '{factor}'")
        return size
    values = [arg.evaluate(binding) for arg in factor.args]
    match factor:
        case FloorDiv() | Mod() if values[1] == 0:
            text = str(factor.num.of_factor(factor))
            fix = "pass sizes with which the divisor is not 0"
            raise DimError(text, f"division by zero: {factor.den} is 0", fix)
        case FloorDiv():
            return values[0] // values[1]
        case Mod():
            return values[0] % values[1]
        case Min():
            return min(values)
        case Max():
            return max(values)
        case Bcast():
            return _broadcast(factor, values)


def _broadcast(factor: Bcast, values: list[int]) -> int:
    sizes = sorted(set(values) - {1})
    if len(sizes) > 1:
        text = str(factor.args[0].of_factor(factor))
        problem = f"sizes {sizes[0]} and {sizes[1]} do not broadcast"
        raise DimError(text, problem, "pass sizes that are equal, or one of them 1")
    return sizes[0] if sizes else 1
