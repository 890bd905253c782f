"""The simplest form of a dim under the facts.

Beyond representatives of equal symbols: minima and maxima lose the arguments that never win,
broadcasts those that are 1, quotients and remainders are resolved where divisibility or ranges
decide them, and `8*(seq//8)` is `seq` where 8 divides it. Only symbols of the user appear.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from anyshape.base.errors import DimError
from anyshape.sym.decide.answer import Answer
from anyshape.sym.decide.effort import Effort, Exhausted
from anyshape.sym.decide.representatives import Representatives
from anyshape.sym.dim import Dim
from anyshape.sym.division import exact_quotient
from anyshape.sym.factor import Bcast, Factor, FloorDiv, Max, Min, Mod
from anyshape.sym.monomial import ONE, divide
from anyshape.sym.predicate import Divisible, Equal, LessEqual, NotEqual, Predicate
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.symbol import Symbol


class Knowledge(Protocol):
    """What simplification asks of a prover."""

    def proves(self, predicate: Predicate, effort: Effort) -> Answer: ...
    def bounds(self, dim: Dim) -> tuple[int | None, int | None]: ...


def normalized(
    dim: Dim, representatives: Representatives, knowledge: Knowledge, effort: Effort
) -> Dim:
    """When the steps are used up, what is left stays as it is: still an equal dim."""
    try:
        return _Simplifier(knowledge, effort).simplified(representatives.of(dim))
    except DimError:  # it has no value wherever the facts hold
        return dim


class _Simplifier:
    def __init__(self, knowledge: Knowledge, effort: Effort) -> None:
        self._knowledge = knowledge
        self._effort = effort

    def simplified(self, dim: Dim) -> Dim:
        if all(isinstance(f, Symbol) for monomial, _ in dim.terms for f, _ in monomial):
            return self._constant(dim)
        return self._constant(self._without_exact(map_factors(dim, self._factor)))

    def _holds(self, predicate: Predicate) -> bool:
        if self._effort.left < 0:
            return False
        with suppress(Exhausted):
            return self._knowledge.proves(predicate, self._effort) is Answer.TRUE
        return False

    def _constant(self, dim: Dim) -> Dim:
        lo, hi = self._knowledge.bounds(dim)
        return Dim.of(lo) if lo is not None and lo == hi else dim

    def _factor(self, factor: Factor) -> Dim:
        if isinstance(factor, Symbol):
            return Dim.of_factor(factor)
        args = [self.simplified(arg) for arg in factor.args]
        match factor:
            case FloorDiv():
                return self._quotient(*args)
            case Mod():
                return self._remainder(*args)
            case Min() | Max():
                return with_args(factor, self._contenders(args, isinstance(factor, Min)))
            case Bcast():
                return with_args(factor, self._broadcast(args))

    def _contenders(self, args: list[Dim], least: bool) -> list[Dim]:
        """Those of several dims that can be the least (or the greatest)."""
        kept: list[Dim] = []
        for arg in args:
            if not any(self._beats(other, arg, least) for other in kept):
                kept = [other for other in kept if not self._beats(arg, other, least)]
                kept.append(arg)
        return kept

    def _beats(self, winner: Dim, loser: Dim, least: bool) -> bool:
        return self._holds(LessEqual(winner, loser) if least else LessEqual(loser, winner))

    def _broadcast(self, args: list[Dim]) -> list[Dim]:
        one = Dim.of(1)
        for arg in args:  # every other argument is 1 or the same
            if self._holds(NotEqual(arg, one)):
                return [arg]
        kept: list[Dim] = []
        for arg in args:
            if not self._holds(Equal(arg, one)) and not any(
                self._holds(Equal(arg, other)) for other in kept
            ):
                kept.append(arg)
        return kept or [one]

    def _quotient(self, num: Dim, den: Dim) -> Dim:
        """(x + c)//d == x//d + c//d where d divides x: what is even needs no rounding up."""
        offset = Dim.of(num.coefficient(ONE))
        if den.is_constant and offset.constant and self._holds(Divisible(num - offset, den)):
            return (num - offset) // den + offset // den
        return num // den

    def _remainder(self, num: Dim, den: Dim) -> Dim:
        if self._holds(Divisible(num, den)):
            return Dim.of(0)
        if self._holds(LessEqual(Dim.of(0), num)) and self._holds(LessEqual(num, den - 1)):
            return num
        return num % den

    def _without_exact(self, dim: Dim) -> Dim:
        """k*d*(x//d) is k*x where d divides x."""
        for monomial, coefficient in dim.terms:
            for factor, _ in monomial:
                if isinstance(factor, FloorDiv):
                    rest = divide(monomial, ((factor, 1),))
                    others = Dim.of_terms({rest: coefficient} if rest is not None else {})
                    times = exact_quotient(others, factor.den)
                    if times is not None and self._holds(Divisible(factor.num, factor.den)):
                        shorter = dim - others * Dim.of_factor(factor) + times * factor.num
                        return self._without_exact(shorter)
        return dim
