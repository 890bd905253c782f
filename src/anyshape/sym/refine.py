"""Sizes that the facts of a scope settle: which symbols are another size for every legal binding.

    a == b                        b is a
    c == 3*a                      c is 3*a
    broadcastable(a, 10), 2 <= a  a is 10
    n: 5..5                       n is 5
    a*b == a*c, 1 <= a            c is b

Every replacement follows from facts that are checked before anything runs. What is learnt of one
symbol may settle another, so facts are looked at again when a symbol of theirs is replaced, and
only then: the work grows with the mentions of symbols, and with questions to the prover about
inequalities and broadcasts. What the declaration of a replaced axis says goes over to the axes that
it is made of, or stays as facts about them.

Sizes that the graph computes are left alone, in both directions: they are born at their nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import gcd

from anyshape.base.errors import DimError, DimTooLargeError
from anyshape.sym.axis import Axis
from anyshape.sym.decide import Answer, Prover
from anyshape.sym.decide.decider import structural
from anyshape.sym.decide.equalities import lone_symbols
from anyshape.sym.dim import Dim
from anyshape.sym.factor import Bcast
from anyshape.sym.facts import Fact, Facts
from anyshape.sym.monomial import Monomial, common, divide
from anyshape.sym.narrowed import Line, narrowed
from anyshape.sym.origin import Origin
from anyshape.sym.predicate import (
    Broadcastable,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)
from anyshape.sym.rebuild import Substitution
from anyshape.sym.symbol import Symbol

MOST_TERMS = 8
"""A size with more terms replaces no symbol: the name is the simpler of the two."""

_ONE = Dim.of(1)


@dataclass(frozen=True, slots=True)
class Refinement:
    """A symbol, the size that it always has, and the statement that says so."""

    symbol: Symbol
    size: Dim
    because: str

    def __str__(self) -> str:
        return f"{self.symbol} is {self.size}: {self.because}"


@dataclass(frozen=True, slots=True)
class RefinedFacts:
    """Facts without the symbols that have been replaced, and what stands in place of these."""

    facts: Facts
    refinements: tuple[Refinement, ...]

    @property
    def sizes(self) -> dict[Symbol, Dim]:
        return {step.symbol: step.size for step in self.refinements}


def refined_facts(facts: Facts, late: Set[Symbol] = frozenset()) -> RefinedFacts:
    """What the facts settle, to a fixpoint; `late` symbols stay."""
    return _Refiner(facts, late).refined()


class _Refiner:
    def __init__(self, facts: Facts, late: Set[Symbol]) -> None:
        self._given = facts
        self._late = late
        self._axes = {axis.symbol: axis for axis in facts.axes}
        self._prover: Prover | None = None
        self._sizes: dict[Symbol, Dim] = {}  # in the order of replacement; each of later symbols
        self._because: dict[Symbol, str] = {}
        self._left: list[Fact] = []  # what declarations say that no axis can
        self._differences: set[Dim] = set()  # dims that inequalities hold at 0 or below
        self._mentions: dict[Symbol, list[int]] = {}  # facts by number
        self._used: set[int] = set()  # facts that have nothing more to say

    def refined(self) -> RefinedFacts:
        self._take_constants()
        self._follow_facts()
        sizes = self._resolved()
        steps = (Refinement(s, size, self._because[s]) for s, size in sizes.items())
        facts = self._facts(Substitution(sizes)) if sizes else self._given
        if sizes and _contradict(facts):
            # No sizes satisfy them, and of what holds nowhere nothing can be proven. What was
            # declared says so to every caller.
            return RefinedFacts(self._given, ())
        return RefinedFacts(facts, tuple(steps))

    # --- what is learnt -----------------------------------------------------------------------

    def _take_constants(self) -> None:
        for axis in self._given.axes:
            if axis.symbol not in self._late and axis.min == axis.max:
                self._replace(axis.symbol, Dim.of(axis.min), f"axis {axis}")

    def _follow_facts(self) -> None:
        facts = [f for f in self._given.facts if not f.predicate.symbols & self._late]
        for number, fact in enumerate(facts):
            for symbol in fact.predicate.symbols:
                self._mentions.setdefault(symbol, []).append(number)
        queue = deque(range(len(facts)))
        while queue:
            number = queue.popleft()
            replaced = self._learn(facts[number])
            if replaced is not None:
                self._used.add(number)
                queue.extend(self._handed_on(replaced))

    def _handed_on(self, replaced: Symbol) -> list[int]:
        """The facts that mention a symbol, which now are about those that it is made of."""
        mentions = self._mentions.pop(replaced, [])
        open_facts = [number for number in mentions if number not in self._used]
        for symbol in self._sizes[replaced].symbols:
            self._mentions.setdefault(symbol, []).extend(open_facts)
        return open_facts

    def _learn(self, fact: Fact) -> Symbol | None:
        """The symbol that the fact settles, replaced from now on."""
        try:
            predicate = self._current(fact.predicate)
            if structural(predicate) is not None:
                return None
            equal = self._equality(predicate)
            solved = self._solved(equal) if equal is not None else self._fixed(predicate)
        except (DimError, DimTooLargeError):  # it has no value, or one that nobody can write down
            return None
        apart = " and neither is 1" if isinstance(predicate, Broadcastable) else ""
        if solved is None or not self._replace(*solved, f"{fact}{apart} ({fact.source})"):
            return None
        return solved[0]

    def _current(self, predicate: Predicate) -> Predicate:
        while not predicate.symbols.isdisjoint(self._sizes):
            predicate = predicate.substitute(self._sizes)
        return predicate

    def _equality(self, predicate: Predicate) -> Equal | None:
        """The equality that a predicate is, where sizes of 1 are excluded or both ends meet."""
        match predicate:
            case Equal(lhs, rhs):
                part = self._without_broadcast(lhs, rhs)
                return predicate if part is None else part
            case Broadcastable(lhs, rhs):
                apart = self._is_not_one(lhs) and self._is_not_one(rhs)
                return Equal(lhs, rhs) if apart else None
            case LessEqual(lhs, rhs):
                return self._both_ways(lhs, rhs)
            case Less(lhs, rhs):
                return self._both_ways(lhs + 1, rhs)
            case _:
                return None

    def _without_broadcast(self, lhs: Dim, rhs: Dim) -> Equal | None:
        """`bcast(a, n) == n` says that a is n, unless it is 1."""
        for whole, size in ((lhs, rhs), (rhs, lhs)):
            factor = whole.factor
            if isinstance(factor, Bcast) and len(factor.args) == 2 and size in factor.args:
                (part,) = (arg for arg in factor.args if arg is not size)
                return Equal(part, size) if self._is_not_one(part) else None
        return None

    def _both_ways(self, lhs: Dim, rhs: Dim) -> Equal | None:
        """Two inequalities that leave nothing between them."""
        self._differences.add(lhs - rhs)
        return Equal(lhs, rhs) if rhs - lhs in self._differences else None

    def _is_not_one(self, dim: Dim) -> bool:
        return self._asked.proves(NotEqual(dim, _ONE)) is Answer.TRUE

    @property
    def _asked(self) -> Prover:
        """Knows all facts from the start, so that nothing it is asked depends on their order."""
        if self._prover is None:
            predicates = (fact.predicate for fact in self._given.facts)
            self._prover = Prover(self._given.axes, predicates)
        return self._prover

    # --- what it settles ----------------------------------------------------------------------

    def _solved(self, equal: Equal) -> tuple[Symbol, Dim] | None:
        """A symbol of an equality and the size that this gives it. Of two names the later one in
        the alphabet is replaced; no name is replaced by a size that has none."""
        equal = self._cancelled(equal)
        zero = equal.lhs - equal.rhs
        line = Line.of(zero)
        if line is not None:
            size = line.solve(0)
            return None if size is None else (line.symbol, Dim.of(size))
        lone = {s: c for s, c in lone_symbols(zero).items() if abs(c) == 1}
        fresh = [symbol for symbol in lone if symbol.is_fresh]
        bare = [side.symbol for side in equal.sides if side.symbol in lone]
        symbol = max(fresh or [s for s in bare if s], key=lambda s: s.sort_key, default=None)
        if symbol is None:
            return None
        size = Dim.of(symbol) - lone[symbol] * zero
        named = symbol.is_fresh or not any(other.is_fresh for other in size.symbols)
        return (symbol, size) if named and len(size.terms) <= MOST_TERMS else None

    def _cancelled(self, equal: Equal) -> Equal:
        """Both sides without the factors that all their terms have, and that are never 0."""
        zero = equal.lhs - equal.rhs
        shared = common(monomial for monomial, _ in zero.terms) if zero.terms else ()
        shared = tuple((f, power) for f, power in shared if self._is_positive(Dim.of_factor(f)))
        divisor = gcd(*(coefficient for _, coefficient in zero.terms))
        if not shared and divisor == 1:
            return equal
        sides: tuple[dict[Monomial, int], dict[Monomial, int]] = {}, {}
        for monomial, coefficient in zero.terms:
            rest = divide(monomial, shared)
            assert rest is not None, "it is a factor of all terms"
            sides[coefficient < 0][rest] = abs(coefficient) // divisor
        return Equal(*map(Dim.of_terms, sides))

    def _is_positive(self, dim: Dim) -> bool:
        return self._asked.proves(LessEqual(_ONE, dim)) is Answer.TRUE

    def _fixed(self, predicate: Predicate) -> tuple[Symbol, Dim] | None:
        """A symbol of an inequality that has one size only."""
        if not isinstance(predicate, LessEqual | Less | NotEqual):
            return None
        for symbol in sorted(predicate.symbols, key=lambda s: s.sort_key):
            lo, hi = self._asked.bounds(Dim.of(symbol))
            if lo is not None and lo == hi:
                return symbol, Dim.of(lo)
        return None

    def _replace(self, symbol: Symbol, size: Dim, because: str) -> bool:
        """Lets `size` stand for `symbol`, unless no axis could say what its declaration says."""
        if not self._hand_over(symbol, size):
            return False
        self._sizes[symbol] = size
        self._because[symbol] = because
        return True

    def _hand_over(self, symbol: Symbol, size: Dim) -> bool:
        axis = self._axes.get(symbol) or Axis(symbol.name)
        if size.constant is not None:
            return axis.contains(size.constant)
        line = Line.of(size)
        if line is None or line.symbol.is_fresh:
            has_no_gaps = len(axis.ranges) == 1
            self._left.extend(_said_of(size, axis) if has_no_gaps else ())
            return has_no_gaps
        narrow = narrowed(self._axis(line.symbol), axis, line)
        if narrow is None:
            return False
        if line.symbol in self._axes or narrow != Axis(narrow.name):
            self._axes[line.symbol] = narrow
        if line.offset and axis.multiple_of > 1:
            self._left.append(_divisible(size, axis))
        return True

    def _axis(self, symbol: Symbol) -> Axis:
        return self._axes.get(symbol) or Axis(symbol.name)

    # --- the result ---------------------------------------------------------------------------

    def _resolved(self) -> dict[Symbol, Dim]:
        """Sizes of symbols that are not replaced. Each was made of symbols that were replaced
        later, if at all, so the last come first."""
        resolved: dict[Symbol, Dim] = {}
        for symbol, size in reversed(self._sizes.items()):
            known = {s: resolved[s] for s in size.symbols if s in resolved}
            resolved[symbol] = size.substitute(known) if known else size
        return {symbol: resolved[symbol] for symbol in self._sizes}

    def _facts(self, sizes: Mapping[Symbol, Dim]) -> Facts:
        axes = tuple(axis for symbol, axis in self._axes.items() if symbol not in sizes)
        stated = (fact.substitute(sizes) for fact in (*self._left, *self._given.facts))
        kept = {f.predicate: f for f in stated if structural(f.predicate) is not Answer.TRUE}
        return Facts(axes, tuple(kept.values()))


def _contradict(facts: Facts) -> bool:
    return Prover(facts.axes, [fact.predicate for fact in facts.facts]).is_contradictory


def _said_of(size: Dim, axis: Axis) -> Iterator[Fact]:
    """What a declaration says about the size that takes its place: it is not negative, too."""
    words = f"axis {axis}"
    least = Prover().bounds(size)[0]
    if least is None or least < axis.min:
        yield Fact(LessEqual(Dim.of(axis.min), size), Origin.USER, words)
    if axis.max is not None:
        yield Fact(LessEqual(size, Dim.of(axis.max)), Origin.USER, words)
    if axis.multiple_of > 1:
        yield _divisible(size, axis)


def _divisible(size: Dim, axis: Axis) -> Fact:
    return Fact(Divisible(size, Dim.of(axis.multiple_of)), Origin.USER, f"axis {axis}")
