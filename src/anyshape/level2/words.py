"""The numbers of level 2, as data: what the shape program computes, each once, by its index.

A number is a dim, or one of three things that a dim cannot say:

    Estimate     a dim whose value may be too large for 64 bits: it is the largest number then
    Cheapest     which of several estimates is the least
    OfCheapest   the number that belongs to the least of several estimates

What belongs to a kernel is said in sizes of the kernel's own (`InOwnSizes`): steps with the same
kernel have the same formulas, which then are one function of level 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from anyshape.sym import Dim, Symbol
from anyshape.sym.rebuild import Substitution

Sizes = tuple[tuple[Symbol, Dim], ...]
"""A kernel's own sizes, and the dims of the graph that they stand for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A dim that nothing but a choice depends on. No size is refused for its sake."""

    dim: Dim


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The index of the least cost, of equal ones the first."""

    costs: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class OfCheapest:
    """`values[i]`, where i is the index of the least cost."""

    costs: tuple[Dim, ...]
    values: tuple[Dim | Estimate, ...]


Formula = Dim | Estimate | Cheapest | OfCheapest


@dataclass(frozen=True, slots=True)
class InOwnSizes:
    """A number in terms of sizes that stand for dims of the graph."""

    formula: Formula
    sizes: Sizes


Number = Formula | InOwnSizes


def in_own_sizes(formula: Formula, sizes: Sizes) -> Number:
    """A formula of the graph's own sizes, if there are no others, is a number as it is."""
    return InOwnSizes(formula, sizes) if sizes else formula


def in_graph_sizes(number: Number) -> Formula:
    """The number without sizes of a kernel's own."""
    if isinstance(number, InOwnSizes):
        return substituted(number.formula, Substitution(dict(number.sizes)))
    return number


def symbols_in(formula: Formula) -> tuple[Symbol, ...]:
    """In an order that depends on their names alone."""
    found: set[Symbol] = set()
    for dim in _dims(formula):
        found |= dim.symbols
    return tuple(sorted(found, key=lambda symbol: symbol.sort_key))


def _dims(formula: Formula) -> Iterator[Dim]:
    match formula:
        case Dim():
            yield formula
        case Estimate(dim):
            yield dim
        case Cheapest(costs):
            yield from costs
        case OfCheapest(costs, values):
            yield from costs
            yield from (value if isinstance(value, Dim) else value.dim for value in values)
        case _:
            assert_never(formula)


def substituted(formula: Formula, dims: Mapping[Symbol, Dim]) -> Formula:
    """The formula with symbols replaced."""
    match formula:
        case Dim():
            return formula.substitute(dims)
        case Estimate(dim):
            return Estimate(dim.substitute(dims))
        case Cheapest(costs):
            return Cheapest(tuple(cost.substitute(dims) for cost in costs))
        case OfCheapest(costs, values):
            chosen = tuple(_value(value, dims) for value in values)
            return OfCheapest(tuple(cost.substitute(dims) for cost in costs), chosen)
        case _:
            assert_never(formula)


def _value(value: Dim | Estimate, dims: Mapping[Symbol, Dim]) -> Dim | Estimate:
    if isinstance(value, Dim):
        return value.substitute(dims)
    return Estimate(value.dim.substitute(dims))


@dataclass
class Words:
    """The numbers of a program by index. `meaning` is that of symbols that stand for dims."""

    numbers: dict[Number, int] = field(default_factory=dict[Number, int])
    meaning: Mapping[Symbol, Dim] = field(default_factory=dict[Symbol, Dim])

    def word(self, number: Number) -> int:
        return self.numbers.setdefault(number, len(self.numbers))
