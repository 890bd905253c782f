"""The numbers of level 2, as data: what the shape program computes, each once, by its index.

A number is a dim, or one of three things that a dim cannot say:

    Estimate     a dim whose value may be too large for 64 bits: it is the largest number then
    Cheapest     which of several estimates is the least
    OfCheapest   the number that belongs to the least of several estimates
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anyshape.sym import Dim, Symbol


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


Number = Dim | Estimate | Cheapest | OfCheapest


@dataclass
class Words:
    """The numbers of a program by index. `meaning` is that of symbols that stand for dims."""

    numbers: dict[Number, int] = field(default_factory=dict[Number, int])
    meaning: Mapping[Symbol, Dim] = field(default_factory=dict[Symbol, Dim])

    def word(self, number: Number) -> int:
        return self.numbers.setdefault(number, len(self.numbers))
