"""The prover: answers predicates about the sizes that satisfy a set of facts.

Immutable; `extended` makes a prover that knows more. Since more facts never overturn what was
proved, an extension starts with the decided answers of its origin. Facts that contradict each
other allow no binding at all; such a prover says so and answers nothing but the obvious.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyshape.base.lazy import lazy_property
from anyshape.sym.axis import Axis
from anyshape.sym.decide.answer import Answer
from anyshape.sym.decide.certificate import Certificates
from anyshape.sym.decide.equalities import Contradiction
from anyshape.sym.decide.interval import Interval
from anyshape.sym.decide.normalize import normalized
from anyshape.sym.decide.refute import refuted
from anyshape.sym.decide.representatives import Representatives
from anyshape.sym.decide.system import System
from anyshape.sym.decide.witness import Witnesses
from anyshape.sym.dim import Dim
from anyshape.sym.division import exact_quotient
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
from anyshape.sym.terms import factors_of


class Prover:
    """Decides predicates under axes and facts; a parent's are known as well."""

    def __init__(
        self,
        axes: Iterable[Axis] = (),
        facts: Iterable[Predicate] = (),
        parent: Prover | None = None,
    ) -> None:
        own_axes, own_facts = tuple(axes), tuple(facts)
        self.axes: tuple[Axis, ...] = (parent.axes if parent else ()) + own_axes
        self.facts: tuple[Predicate, ...] = (parent.facts if parent else ()) + own_facts
        self._system: System = parent._system.copy() if parent else System()
        self._representatives: Representatives = (
            parent._representatives.extended(own_facts) if parent else Representatives(own_facts)
        )
        self.is_contradictory: bool = parent.is_contradictory if parent else False
        self._answers: dict[Predicate, Answer] = parent._decided() if parent else {}
        self._normal: dict[Dim, Dim] = {}
        self._older_witnesses: Witnesses | None = parent._known_witnesses() if parent else None
        self._learn(own_axes, own_facts)
        # What is stated is known, even where refuting its denial would exceed the budget.
        self._answers.update(dict.fromkeys(own_facts, Answer.TRUE))

    def extended(self, axes: Iterable[Axis] = (), facts: Iterable[Predicate] = ()) -> Prover:
        return Prover(axes, facts, self)

    def _learn(self, axes: tuple[Axis, ...], facts: tuple[Predicate, ...]) -> None:
        try:
            for axis in axes:
                self._system.add_axis(axis)
            for fact in facts:
                self._system.add(fact)
        except Contradiction:
            self.is_contradictory = True

    def _decided(self) -> dict[Predicate, Answer]:
        return {p: a for p, a in self._answers.items() if a is not Answer.UNKNOWN}

    # --- questions ------------------------------------------------------------------------------

    def proves(self, predicate: Predicate) -> Answer:
        """TRUE when it holds for all allowed bindings where it has a value, FALSE when for none."""
        answer = _structural(predicate)
        if answer is not None:
            return answer
        answer = self._answers.get(predicate)
        if answer is None:
            answer = self._decide(predicate)
            self._answers[predicate] = answer
        return answer

    def bounds(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and greatest value that `dim` can have, as far as known; None is unbounded."""
        try:
            lo, hi = self._interval(dim)
        except Contradiction:
            return None, None
        return (lo if isinstance(lo, int) else None), (hi if isinstance(hi, int) else None)

    def normalize(self, dim: Dim) -> Dim:
        """An equal dim in the simplest form that the facts allow."""
        known = self._normal.get(dim)
        if known is None:
            known = normalized(dim, self._representatives, self)
            self._normal[dim] = known
        return known

    # --- deciding -------------------------------------------------------------------------------

    @lazy_property
    def _witnesses(self) -> Witnesses:
        return Witnesses(self._system, self.axes, self.facts, self._older_witnesses)

    def _known_witnesses(self) -> Witnesses | None:
        """Those found so far: worth keeping, not worth searching."""
        found = self.__dict__.get("_witnesses", self._older_witnesses)
        assert found is None or isinstance(found, Witnesses)
        return found

    def _interval(self, dim: Dim) -> Interval:
        return self._system.bounds(dim)

    def _decide(self, predicate: Predicate) -> Answer:
        if self.is_contradictory:
            return Answer.UNKNOWN
        try:
            quick = self._quick(predicate)
        except Contradiction:  # it has no value wherever the facts hold
            return Answer.UNKNOWN
        if quick is not None:
            return quick
        if self._certified(predicate):
            return Answer.TRUE
        verdicts = self._witnesses.verdicts(predicate)
        if len(verdicts) == 2:  # both ways: no proof to be found
            return Answer.UNKNOWN
        simpler = self._simplified(predicate)
        if simpler is not Answer.UNKNOWN:
            return simpler
        if True not in verdicts and refuted(self._system, (predicate,)):
            return Answer.FALSE
        if False not in verdicts and all(refuted(self._system, p) for p in denials(predicate)):
            return Answer.TRUE
        return Answer.UNKNOWN

    @lazy_property
    def _certificates(self) -> Certificates:
        return Certificates(self._system)

    def _certified(self, predicate: Predicate) -> bool:
        """Whether it is an inequality that follows at once from those that are known."""
        if not isinstance(predicate, Less | LessEqual):
            return False
        slack = predicate.rhs - predicate.lhs - int(isinstance(predicate, Less))
        try:
            return self._certificates.proves_nonnegative(self._system.reduce(slack))
        except Contradiction:
            return False

    def _simplified(self, predicate: Predicate) -> Answer:
        """Normal forms get rid of most minima, broadcasts and quotients much faster than splits."""
        first, second = predicate.sides
        factors = (*factors_of(first.terms), *factors_of(second.terms))
        if all(isinstance(factor, Symbol) for factor in factors):
            return Answer.UNKNOWN
        simpler = type(predicate)(self.normalize(first), self.normalize(second))
        return Answer.UNKNOWN if simpler == predicate else self.proves(simpler)

    def _quick(self, predicate: Predicate) -> Answer | None:
        """Reduction and ranges: enough for most questions."""
        match predicate:
            case Equal(lhs, rhs):
                return self._quick_zero(lhs - rhs)
            case NotEqual(lhs, rhs):
                equal = self._quick_zero(lhs - rhs)
                return None if equal is None else Answer.of(equal is Answer.FALSE)
            case LessEqual(lhs, rhs):
                return self._quick_nonnegative(rhs - lhs)
            case Less(lhs, rhs):
                return self._quick_nonnegative(rhs - lhs - 1)
            case Divisible(dim, divisor):
                return self._quick_divisible(self._system.reduce(dim), self._system.reduce(divisor))
            case Broadcastable(lhs, rhs):
                equal = (lhs - rhs, lhs - 1, rhs - 1)
                answers = {self._quick_zero(dim) for dim in equal}
                if Answer.TRUE in answers:
                    return Answer.TRUE
                return Answer.FALSE if answers == {Answer.FALSE} else None

    def _quick_zero(self, dim: Dim) -> Answer | None:
        bounds = self._interval(dim)
        if 0 not in bounds:
            return Answer.FALSE
        return Answer.TRUE if bounds.is_point else None

    def _quick_nonnegative(self, dim: Dim) -> Answer | None:
        bounds = self._interval(dim)
        if bounds.hi < 0:
            return Answer.FALSE
        return Answer.TRUE if bounds.lo >= 0 else None

    def _quick_divisible(self, dim: Dim, divisor: Dim) -> Answer | None:
        if divisor.constant == 0:
            return self._quick_zero(dim)
        if exact_quotient(dim, divisor) is not None:
            return Answer.TRUE
        remainder = (dim % divisor).constant
        return None if remainder is None else Answer.of(remainder == 0)


def _structural(predicate: Predicate) -> Answer | None:
    """What can be said without any facts, in a microsecond."""
    first, second = predicate.sides
    if first.constant is not None and second.constant is not None:
        return Answer.of(predicate.holds({}))
    if first is second:
        return Answer.of(not isinstance(predicate, NotEqual | Less))
    return None


def denials(predicate: Predicate) -> tuple[tuple[Predicate, ...], ...]:
    """Conjunctions of which one holds wherever `predicate` does not (and has a value)."""
    match predicate:
        case Equal(lhs, rhs):
            return (Less(lhs, rhs),), (Less(rhs, lhs),)
        case NotEqual() | Less() | LessEqual():
            return ((predicate.negation,),)
        case Divisible(dim, divisor):
            zero = Dim.of(0)
            by_nothing = (Equal(divisor, zero), NotEqual(dim, zero))
            remainder = (NotEqual(dim % divisor, zero),)
            return (remainder,) if divisor.is_constant else (by_nothing, remainder)
        case Broadcastable(lhs, rhs):
            one = Dim.of(1)
            return ((NotEqual(lhs, rhs), NotEqual(lhs, one), NotEqual(rhs, one)),)
