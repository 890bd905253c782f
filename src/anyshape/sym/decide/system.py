"""What is known, in the forms that refutation uses: the state behind a prover.

Invariants:
  - every dim stored here is reduced by the solved equalities;
  - a symbol has a range (sizes are >= 0; private unknowns start unbounded) unless it is solved,
    in which case the range has become inequalities of its value;
  - an inequality that the ranges already imply is not stored.
Adding what cannot hold raises Contradiction, and may leave the system in pieces: copy first.
"""

from __future__ import annotations

from math import isinf

from anyshape.sym.axis import Axis
from anyshape.sym.decide.define import Split, compounds, definition, one_of_ranges
from anyshape.sym.decide.effort import Effort
from anyshape.sym.decide.equalities import (
    Consequences,
    Contradiction,
    Equalities,
    is_private,
    tightened,
)
from anyshape.sym.decide.interval import EVERYTHING, SIZES, Interval, meet
from anyshape.sym.decide.range_of import range_of
from anyshape.sym.dim import Dim
from anyshape.sym.factor import CompoundFactor, FloorDiv, Mod
from anyshape.sym.monomial import Monomial
from anyshape.sym.predicate import (
    Broadcastable,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)
from anyshape.sym.symbol import Symbol

_HUGE = 2**62
_MAX_PROPAGATIONS = 60  # x < y < x would shrink its ranges for ever


class System:
    """Solved equalities, ranges, inequalities and alternatives."""

    def __init__(self) -> None:
        self.equalities = Equalities()
        self.nonnegative: dict[Dim, None] = {}  # an ordered set
        self.splits: list[Split] = []
        self._ranges: dict[Symbol, Interval] = {}
        self._intervals: dict[Dim, Interval] = {}
        self._factor_ranges: dict[CompoundFactor, Interval] = {}
        self._effort = Effort()
        self._origin: System | None = None
        self._narrowed: set[Symbol] = set()  # symbols whose range changed since it was copied

    def copy(self, effort: Effort | None = None) -> System:
        """A copy that learns by itself, at the cost of `effort`; the original must not any more.

        What the original has computed about dims that remain as they were is not computed again.
        """
        other = System()
        other.equalities = self.equalities.copy()
        other.nonnegative = dict(self.nonnegative)
        other.splits = list(self.splits)
        other._ranges = dict(self._ranges)
        other._effort = effort or Effort()
        other._origin = self
        return other

    # --- asking ---------------------------------------------------------------------------------

    def reduce(self, dim: Dim) -> Dim:
        self._effort.spend(dim.length)
        return self.equalities.reduce(dim)

    def reduces_like(self, origin: System) -> bool:
        """Whether no equality has been learnt since this was copied from `origin`."""
        return self.equalities.is_still(origin.equalities)

    def symbol_range(self, symbol: Symbol) -> Interval:
        known = self._ranges.get(symbol)
        return known or (EVERYTHING if is_private(symbol) else SIZES)

    def interval(self, dim: Dim) -> Interval:
        """Bounds of a reduced dim, by interval arithmetic."""
        known = self._intervals.get(dim)
        if known is None:
            if self._origin is not None and dim.symbols.isdisjoint(self._narrowed):
                known = self._origin.interval(dim)
            else:
                known = range_of(dim, self.symbol_range, self._factor_ranges)
            self._intervals[dim] = known
        return known

    def bounds(self, dim: Dim) -> Interval:
        """Bounds of any dim: a remainder shows its range as written, other terms when reduced."""
        reduced = self.interval(self.reduce(dim))
        if not any(isinstance(factor, Mod) for factor in compounds(dim)):
            return reduced
        plain = range_of(dim, lambda symbol: self.interval(self.reduce(Dim.of(symbol))))
        return meet(plain, reduced)

    # --- learning -------------------------------------------------------------------------------

    def add_axis(self, axis: Axis) -> None:
        size = Dim.of(axis.symbol)
        self._add_nonnegative(size - axis.min)
        if axis.max is not None:
            self._add_nonnegative(axis.max - size)
        if axis.multiple_of > 1:
            self._add_divisible(size, Dim.of(axis.multiple_of))
        if len(axis.ranges) > 1:
            self.splits.append(one_of_ranges(size, tuple(axis.ranges)))

    def add(self, predicate: Predicate) -> None:
        for side in predicate.sides:
            self._add_definedness(side)
        match predicate:
            case Equal(lhs, rhs):
                self._add_zero(lhs - rhs)
            case LessEqual(lhs, rhs):
                self._add_slack(rhs - lhs)
            case Less(lhs, rhs):
                self._add_slack(rhs - lhs - 1)
            case NotEqual(lhs, rhs):
                self._add_nonzero(lhs - rhs)
            case Divisible(dim, divisor):
                self._add_divisible(dim, divisor)
            case Broadcastable(lhs, rhs):
                self._add_broadcastable(lhs, rhs)

    def _add_slack(self, dim: Dim) -> None:
        """What is >= 0 and never greater is 0: `x % 4 <= 0` says that 4 divides `x`, which only an
        equality uses inside of other dims."""
        if self.bounds(dim).hi == 0:
            self._add_zero(dim)
        else:
            self._add_nonnegative(dim)

    def _add_definedness(self, dim: Dim) -> None:
        """A quotient says that its divisor is not 0."""
        for factor in compounds(dim):
            if isinstance(factor, FloorDiv | Mod) and not factor.den.is_constant:
                self._add_nonzero(factor.den)

    def _add_zero(self, dim: Dim) -> None:
        dim = self.reduce(dim)
        if dim.is_constant or 0 not in self.interval(dim):
            if dim.constant != 0:
                raise Contradiction
            return
        self._follow_up(self.equalities.add(dim))

    def _follow_up(self, news: Consequences) -> None:
        """Keeps the invariants after equalities were solved."""
        stale = [row for row in self.nonnegative if self.reduce(row) is not row]
        for row in stale:
            del self.nonnegative[row]
        for symbol, value in news.eliminated:
            bounds = self.symbol_range(symbol)
            if self._ranges.pop(symbol, None) is not None:
                self._forget(symbol)
            self._add_bounds(value, bounds)
        for lead, replacement in news.rules:
            self._add_rule_bounds(lead, replacement)
        for dim in news.unsolved:
            stale += [dim, -dim]
        for row in stale:
            self._add_nonnegative(row)

    def _add_rule_bounds(self, lead: Monomial, replacement: Dim) -> None:
        """A rewritten monomial vanishes, and with it what its factors said: say it again."""
        whole = Dim.of_terms({lead: 1})
        self._add_bounds(replacement, range_of(whole, self.symbol_range))
        for factor in compounds(whole):
            if isinstance(factor, FloorDiv) and self.interval(self.reduce(factor.den)).lo < 1:
                continue  # from Divisible, which allows 0 by 0: the quotient may not exist
            meaning = definition(factor, self.interval)
            self.splits += meaning.splits
            for row in meaning.nonnegative:
                self._add_nonnegative(row)

    def _add_bounds(self, dim: Dim, bounds: Interval) -> None:
        if isinstance(bounds.lo, int):
            self._add_nonnegative(dim - bounds.lo)
        if isinstance(bounds.hi, int):
            self._add_nonnegative(bounds.hi - dim)

    def _add_nonzero(self, dim: Dim) -> None:
        dim = self.reduce(dim)
        bounds = self.interval(dim)
        if dim.constant == 0:
            raise Contradiction
        if bounds.lo >= 0:
            self._add_nonnegative(dim - 1)
        elif bounds.hi <= 0:
            self._add_nonnegative(-dim - 1)
        else:
            zero, one = Dim.of(0), Dim.of(1)
            self.splits.append(Split(((LessEqual(one, dim),), (Less(dim, zero),))))

    def _add_divisible(self, dim: Dim, divisor: Dim) -> None:
        dim, divisor = self.reduce(dim), self.reduce(divisor)
        quotient = self.equalities.private()
        if self.interval(dim).lo >= 0 and self.interval(divisor).lo >= 0:
            self._ranges[quotient] = SIZES
            self._forget(quotient)
        self._add_zero(dim - divisor * Dim.of(quotient))
        if not divisor.is_constant:  # a constant divisor cancels by itself once dim is solved
            self._add_zero(dim - divisor * (dim // divisor))

    def _add_broadcastable(self, lhs: Dim, rhs: Dim) -> None:
        one = Dim.of(1)
        cases = [Equal(lhs, rhs), Equal(lhs, one), Equal(rhs, one)]
        possible = [case for case in cases if 0 in self.interval(self.reduce(case.lhs - case.rhs))]
        if not possible:
            raise Contradiction
        if len(possible) == 1:
            self._add_zero(possible[0].lhs - possible[0].rhs)
        else:
            self.splits.append(Split(tuple((case,) for case in possible)))

    # --- ranges ---------------------------------------------------------------------------------

    def _add_nonnegative(self, dim: Dim) -> None:
        """Learns `dim >= 0`, and what that says about ranges."""
        pending = [dim]
        points: dict[Symbol, int] = {}
        for _ in range(_MAX_PROPAGATIONS):
            if not pending:
                break
            narrowed = self._store(tightened(self.reduce(pending.pop())))
            for symbol in narrowed:
                if self.symbol_range(symbol).is_point:
                    points[symbol] = int(self.symbol_range(symbol).lo)
            pending += [row for row in self.nonnegative if not row.symbols.isdisjoint(narrowed)]
        for symbol in sorted(points, key=lambda symbol: symbol.sort_key):
            self._add_zero(Dim.of(symbol) - points[symbol])

    def _store(self, row: Dim) -> set[Symbol]:
        """Keeps `row >= 0` unless ranges imply it; returns the symbols whose range it narrowed."""
        narrowed: set[Symbol] = set()
        self._effort.spend(len(row.terms))
        for monomial, coefficient in row.terms:
            match monomial:
                case ((Symbol() as symbol, 1),):
                    rest = self.interval(row - coefficient * Dim.of(symbol)).hi
                    if not isinf(rest) and self._narrow(symbol, coefficient, int(rest)):
                        narrowed.add(symbol)
                case _:
                    pass
        bounds = self.interval(row)
        if bounds.hi < 0:
            raise Contradiction
        if bounds.lo >= 0:
            self.nonnegative.pop(row, None)
        else:
            self.nonnegative[row] = None
        return narrowed

    def _narrow(self, symbol: Symbol, coefficient: int, rest: int) -> bool:
        """coefficient * symbol + rest >= 0 bounds the symbol from one side."""
        old = self.symbol_range(symbol)
        if coefficient > 0:
            new = Interval(max(old.lo, -(rest // coefficient)), old.hi)
        else:
            new = Interval(old.lo, min(old.hi, rest // -coefficient))
        if new == old or max(abs(rest), abs(coefficient)) > _HUGE:
            return False
        if new.lo > new.hi:
            raise Contradiction
        self._ranges[symbol] = new
        self._forget(symbol)
        return True

    def _forget(self, symbol: Symbol) -> None:
        """Intervals of dims with a symbol whose range has changed are to be computed again."""
        self._narrowed.add(symbol)
        for dim in [dim for dim in self._intervals if symbol in dim.symbols]:
            del self._intervals[dim]
        for factor in [factor for factor in self._factor_ranges if symbol in factor.symbols]:
            del self._factor_ranges[factor]
