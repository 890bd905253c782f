"""Equalities in solved form.

An equality `p == 0` is used in one of three ways:
  - solved for a symbol that it contains once, with coefficient 1: the symbol is eliminated;
  - when all coefficients are larger, the Omega test's substitution: the symbol with the smallest
    coefficient is replaced by a private unknown that takes up the whole multiples of the others,
    which leaves smaller coefficients, and so on down to 1 or to a contradiction of divisors;
  - otherwise its deepest, greatest monomial becomes a rewrite rule (`a*b -> c*d`), so that it is
    used inside products too: `a*b*e == c*d*e`.

Invariants: values of `solved` contain no solved symbol; replacements nest no deeper than what they
replace and come later in the monomial order, so rewriting ends. Private unknowns have names that
no user can write by accident, and never leave the prover.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from anyshape.base.errors import DimError, DimTooLargeError
from anyshape.sym.dim import Dim
from anyshape.sym.factor import Compound, Factor, Mod
from anyshape.sym.monomial import Monomial, divide
from anyshape.sym.rebuild import map_factors, with_args
from anyshape.sym.symbol import Symbol

_PRIVATE = "\0"
_MAX_REWRITES = 64
_MAX_STEPS = 40


class Contradiction(Exception):  # noqa: N818 - not an error: the outcome of a refutation
    """What was added cannot hold together with what was known."""


def is_private(symbol: Symbol) -> bool:
    return symbol.name.startswith(_PRIVATE)


@dataclass(slots=True)
class Consequences:
    """What adding an equality did, for the keeper of ranges and inequalities to follow up."""

    eliminated: list[tuple[Symbol, Dim]] = field(default_factory=list[tuple[Symbol, Dim]])
    rules: list[tuple[Monomial, Dim]] = field(default_factory=list[tuple[Monomial, Dim]])
    unsolved: list[Dim] = field(default_factory=list[Dim])


class Equalities:
    """The solved form of a set of equalities, and reduction by it."""

    def __init__(self) -> None:
        self.solved: dict[Symbol, Dim] = {}
        self.rules: dict[Monomial, Dim] = {}
        self._privates = 0
        self._named: set[Monomial] = set()
        self._memo: dict[Dim, Dim] = {}
        self._origin: Equalities | None = None  # what this is a copy of, as long as that helps
        self._eliminated: set[Symbol] = set()  # since it was copied

    def copy(self) -> Equalities:
        """A copy that learns by itself; the original must not, from then on."""
        other = Equalities()
        other.solved = dict(self.solved)
        other.rules = dict(self.rules)
        other._privates = self._privates
        other._named = set(self._named)
        other._origin = self
        return other

    def is_still(self, origin: Equalities) -> bool:
        """Whether this is a copy of `origin` that has learnt nothing."""
        return self._origin is origin and not self._eliminated

    def private(self) -> Symbol:
        """A new unknown of the solver: an integer of either sign."""
        self._privates += 1
        return Symbol(f"{_PRIVATE}{self._privates}")

    # --- reducing -------------------------------------------------------------------------------

    def reduce(self, dim: Dim) -> Dim:
        """The form of `dim` in which known equalities are the same expression.

        Contradiction when it has no value under them: whatever mentions it cannot hold.
        """
        known = self._memo.get(dim)
        if known is not None:
            return known
        known = self._inherited(dim)
        if known is None:
            try:
                known = self._rewrite(dim.substitute(self.solved))
            except DimTooLargeError:  # it has a value, which we cannot write down
                raise
            except DimError as error:
                raise Contradiction from error
        self._memo[dim] = known
        return known

    def _inherited(self, dim: Dim) -> Dim | None:
        """What the original makes of it, unless something has become known about that."""
        if self._origin is None:
            return None
        known = self._origin.reduce(dim)
        return known if known.symbols.isdisjoint(self._eliminated) else None

    def _rewrite(self, dim: Dim) -> Dim:
        if any(isinstance(factor, Compound) for monomial, _ in dim.terms for factor, _ in monomial):
            dim = map_factors(dim, self._rewrite_factor)
        for _ in range(_MAX_REWRITES if self.rules else 0):
            step = self._rewrite_once(dim)
            if step is None:
                break
            dim = step
        return dim

    def _rewrite_factor(self, factor: Factor) -> Dim:
        if isinstance(factor, Symbol):
            return Dim.of_factor(factor)
        args = [self._rewrite(arg) for arg in factor.args]
        if isinstance(factor, Mod):  # x % y == x - y*(x//y) leaves one thing less to reason about
            num, den = args
            return num - den * (num // den)
        return with_args(factor, args)

    def _rewrite_once(self, dim: Dim) -> Dim | None:
        for monomial, coefficient in dim.terms:
            for lead, replacement in self.rules.items():
                part = divide(monomial, lead)
                if part is not None:
                    change = Dim.of_terms({part: 1}) * (replacement - Dim.of_terms({lead: 1}))
                    return dim + coefficient * change
        return None

    # --- solving --------------------------------------------------------------------------------

    def add(self, zero: Dim) -> Consequences:
        """Learns `zero == 0`; raises Contradiction when no integers satisfy it."""
        consequences = Consequences()
        pending = [zero]
        for _ in range(_MAX_STEPS):
            if not pending:
                break
            dim = _without_content(self.reduce(pending.pop()))
            if dim.constant is None:
                pending += self._use(dim, consequences)
        consequences.unsolved += pending
        return consequences

    def _use(self, zero: Dim, consequences: Consequences) -> list[Dim]:
        """Uses one equality; returns equalities that have to be added (again)."""
        lone = lone_symbols(zero)
        unit = [symbol for symbol in lone if abs(lone[symbol]) == 1]
        if unit:
            symbol = min(unit, key=_elimination_order)
            value = Dim.of(symbol) - lone[symbol] * zero
            return self._eliminate(symbol, value, consequences)
        if lone:
            symbol = min(lone, key=lambda s: (abs(lone[s]), _elimination_order(s)))
            step = self._smaller(zero, symbol, lone[symbol])
            if step is not None:
                return [*self._eliminate(symbol, step, consequences), zero]
        return self._orient(zero, consequences)

    def _smaller(self, zero: Dim, symbol: Symbol, coefficient: int) -> Dim | None:
        """symbol == t - (multiples of the other monomials), or None when there are no multiples."""
        others = zero - coefficient * Dim.of(symbol)
        whole = Dim.of_terms({m: _nearest(c, coefficient) for m, c in others.terms})
        return None if whole.is_constant else Dim.of(self.private()) - whole

    def _eliminate(self, symbol: Symbol, value: Dim, consequences: Consequences) -> list[Dim]:
        self._memo.clear()
        self._eliminated.add(symbol)
        single = {symbol: value}
        touched = {m: r for m, r in self.rules.items() if _mentions(m, r, symbol)}
        for monomial in touched:
            del self.rules[monomial]
            self._origin = None
        old, self.solved = self.solved, single
        self.solved = {s: self.reduce(v) for s, v in old.items()} | single
        self._memo.clear()
        consequences.eliminated.append((symbol, value))
        return [Dim.of_terms({lead: 1}) - replacement for lead, replacement in touched.items()]

    def _orient(self, zero: Dim, consequences: Consequences) -> list[Dim]:
        lead, coefficient = max(zero.terms, key=lambda term: _depth(term[0]))
        if abs(coefficient) == 1:
            replacement = Dim.of_terms({lead: 1}) - coefficient * zero
            return self._add_rule(lead, replacement, consequences)
        if len(lead) == 1 and isinstance(lead[0][0], Compound) and lead not in self._named:
            # x - 8*(x//8) == 6 becomes solvable for x once the quotient has a name of its own.
            self._named.add(lead)
            return [*self._add_rule(lead, Dim.of(self.private()), consequences), zero]
        consequences.unsolved.append(zero)
        return []

    def _add_rule(self, lead: Monomial, replacement: Dim, consequences: Consequences) -> list[Dim]:
        self._memo.clear()
        self._origin = None
        touched = {m: r for m, r in self.rules.items() if divide(m, lead) is not None}
        for monomial in touched:
            del self.rules[monomial]
        self.rules[lead] = replacement
        self.solved = {symbol: self.reduce(value) for symbol, value in self.solved.items()}
        self._memo.clear()
        consequences.rules.append((lead, replacement))
        return [Dim.of_terms({m: 1}) - r for m, r in touched.items()]


def _nearest(num: int, den: int) -> int:
    """The integer nearest to num / den."""
    return (2 * num + den) // (2 * den)


def tightened(nonnegative: Dim) -> Dim:
    """`2*x - 3 >= 0` is `x - 2 >= 0` over the integers."""
    shared = gcd(*(coefficient for monomial, coefficient in nonnegative.terms if monomial))
    if shared <= 1:
        return nonnegative
    return Dim.of_terms({monomial: c // shared for monomial, c in nonnegative.terms})


def _without_content(zero: Dim) -> Dim:
    """Divides by the greatest common divisor; a constant it does not divide is a contradiction."""
    shared = gcd(*(coefficient for monomial, coefficient in zero.terms if monomial))
    if (shared or 1) == 1 and zero.constant in (None, 0):
        return zero
    if shared == 0 or zero.coefficient(()) % shared:
        raise Contradiction
    return Dim.of_terms({monomial: c // shared for monomial, c in zero.terms})


def lone_symbols(dim: Dim) -> dict[Symbol, int]:
    """Symbols that occur once, bare, with their coefficients: those one can solve for."""
    bare: dict[Symbol, int] = {}
    elsewhere: set[Symbol] = set()
    for monomial, coefficient in dim.terms:
        match monomial:
            case ((Symbol() as symbol, 1),):
                bare[symbol] = coefficient
            case _:
                for factor, _ in monomial:
                    elsewhere |= {factor} if isinstance(factor, Symbol) else factor.symbols
    return {symbol: c for symbol, c in bare.items() if symbol not in elsewhere}


def _elimination_order(symbol: Symbol) -> tuple[bool, bool, tuple[int, ...]]:
    """Private unknowns go first, then fresh symbols, then names from the end of the alphabet."""
    backwards = tuple(-ord(character) for character in symbol.name)
    return not is_private(symbol), not symbol.is_fresh, backwards


def _depth(monomial: Monomial) -> int:
    """How deeply quotients and their like nest; `max` keeps the first, greatest of equal depth."""
    args = (arg for f, _ in monomial if not isinstance(f, Symbol) for arg in f.args)
    return max((1 + _depth(inner) for arg in args for inner, _ in arg.terms), default=0)


def _mentions(lead: Monomial, replacement: Dim, symbol: Symbol) -> bool:
    return symbol in replacement.symbols or symbol in Dim.of_terms({lead: 1}).symbols
