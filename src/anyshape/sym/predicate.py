"""Predicates: what can be said about dims.

A closed union of six frozen forms; product-equal, group-product-equal and affine-equal (seed 003)
are `Equal` over polynomials, told apart by `Equal.kind`. Sides stay as written, since users read
their own words in errors. There is no truth value: a prover decides, or `holds` with a binding.
`Dim` is imported for typing only; it builds predicates with its comparison operators.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from anyshape.sym.factor import Mod
from anyshape.sym.symbol import Symbol

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim


class _Relation(ABC):
    """What all predicates share: two sides, in the order of their fields."""

    __slots__ = ()

    @abstractmethod
    def __init__(self, first: Dim, second: Dim) -> None: ...

    @property
    @abstractmethod
    def sides(self) -> tuple[Dim, Dim]: ...

    @property
    def symbols(self) -> frozenset[Symbol]:
        first, second = self.sides
        return first.symbols | second.symbols

    def substitute(self, replacements: Mapping[Symbol, Dim | int]) -> Self:
        if self.symbols.isdisjoint(replacements):
            return self
        first, second = self.sides
        return type(self)(first.substitute(replacements), second.substitute(replacements))

    def _values(self, binding: Mapping[Symbol, int]) -> tuple[int, int]:
        first, second = self.sides
        return first.evaluate(binding), second.evaluate(binding)

    def __bool__(self) -> bool:
        raise TypeError(f"'{self}' has no truth value; ask a prover, or .holds(binding)")


@dataclass(frozen=True, slots=True)
class _Comparison(_Relation):
    """A relation that is written with a sign between its sides."""

    sign: ClassVar[str]
    test: ClassVar[Callable[[int, int], bool]]

    lhs: Dim
    rhs: Dim

    @property
    def sides(self) -> tuple[Dim, Dim]:
        return self.lhs, self.rhs

    def holds(self, binding: Mapping[Symbol, int]) -> bool:
        return type(self).test(*self._values(binding))

    def __str__(self) -> str:
        return f"{self.lhs} {self.sign} {self.rhs}"


@dataclass(frozen=True, slots=True)
class Equal(_Comparison):
    """lhs == rhs. `0 == x % 8` keeps its remainder on the right: turned around it is Divisible."""

    sign = "=="
    test = operator.eq

    def __post_init__(self) -> None:
        if isinstance(self.lhs.factor, Mod) and self.rhs.constant == 0:
            remainder, zero = self.lhs, self.rhs
            object.__setattr__(self, "lhs", zero)
            object.__setattr__(self, "rhs", remainder)

    @property
    def negation(self) -> NotEqual:
        return NotEqual(self.lhs, self.rhs)

    @property
    def kind(self) -> str:
        """`equal`, `product-equal`, `group-product-equal` or `affine-equal`."""
        degrees = sorted(map(_degree, self.sides))
        if degrees[1] >= 2 and all(len(side.terms) == 1 for side in self.sides):
            return "group-product-equal" if degrees[0] >= 2 else "product-equal"
        plain = all(side.is_constant or side.symbol for side in self.sides)
        return "affine-equal" if not plain and all(map(_is_affine, self.sides)) else "equal"


@dataclass(frozen=True, slots=True)
class NotEqual(_Comparison):
    """lhs != rhs."""

    sign = "!="
    test = operator.ne

    @property
    def negation(self) -> Equal:
        return Equal(self.lhs, self.rhs)


@dataclass(frozen=True, slots=True)
class LessEqual(_Comparison):
    """lhs <= rhs."""

    sign = "<="
    test = operator.le

    @property
    def negation(self) -> Less:
        return Less(self.rhs, self.lhs)


@dataclass(frozen=True, slots=True)
class Less(_Comparison):
    """lhs < rhs."""

    sign = "<"
    test = operator.lt

    @property
    def negation(self) -> LessEqual:
        return LessEqual(self.rhs, self.lhs)


@dataclass(frozen=True, slots=True)
class Divisible(_Relation):
    """There is an integer q with dim == q * divisor (so only 0 is divisible by 0)."""

    dim: Dim
    divisor: Dim

    @property
    def sides(self) -> tuple[Dim, Dim]:
        return self.dim, self.divisor

    @property
    def negation(self) -> NotEqual | None:
        """`dim % divisor != 0`, which has a meaning only where the divisor cannot be 0."""
        if not self.divisor.constant:
            return None
        return NotEqual(self.dim % self.divisor, self.dim.of(0))

    def holds(self, binding: Mapping[Symbol, int]) -> bool:
        dim, divisor = self._values(binding)
        return dim % divisor == 0 if divisor else dim == 0

    def __str__(self) -> str:
        return f"{self.dim.text_as_operand} % {self.divisor.text_as_operand} == 0"


@dataclass(frozen=True, slots=True)
class Broadcastable(_Relation):
    """The sides are equal, or one of them is 1."""

    lhs: Dim
    rhs: Dim

    @property
    def sides(self) -> tuple[Dim, Dim]:
        return self.lhs, self.rhs

    @property
    def negation(self) -> None:
        """It takes three predicates to deny it."""
        return None

    def holds(self, binding: Mapping[Symbol, int]) -> bool:
        lhs, rhs = self._values(binding)
        return lhs == rhs or 1 in (lhs, rhs)

    def __str__(self) -> str:
        return f"broadcastable({self.lhs}, {self.rhs})"


Predicate = Equal | NotEqual | LessEqual | Less | Divisible | Broadcastable


def _degree(dim: Dim) -> int:
    return max((sum(power for _, power in monomial) for monomial, _ in dim.terms), default=0)


def _is_affine(dim: Dim) -> bool:
    factors = (factor for monomial, _ in dim.terms for factor, _ in monomial)
    return _degree(dim) <= 1 and all(isinstance(factor, Symbol) for factor in factors)
