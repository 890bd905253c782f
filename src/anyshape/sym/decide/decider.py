"""The decider: answers predicates about the sizes that satisfy a few facts, all taken together.

Immutable; `extended` makes a decider that knows more. Since more facts never overturn what was
proved, an extension takes over the decided answers of its origin, and what its origin computed
about dims that the new facts leave alone. Facts that contradict each other allow no binding at all;
such a decider says so and answers nothing but the obvious.

Every question has the same number of steps (`effort`), shared out over the attempts below. An
attempt that uses up its part has found nothing; no attempt takes the steps of a later one, so that
what is proved does not depend on which attempts could be skipped. Questions that come up while
another is answered have steps of their own, and cost the other what they took.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from anyshape.base.errors import DimTooLargeError
from anyshape.base.lazy import lazy_property
from anyshape.sym.axis import Axis
from anyshape.sym.decide.answer import Answer
from anyshape.sym.decide.certificate import FEW_ROWS_STEPS, Certificates
from anyshape.sym.decide.effort import Effort
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

CERTIFICATE_STEPS = 1_500 + FEW_ROWS_STEPS
NORMALIZE_STEPS = 2_000
REFUTE_STEPS = 8_000
"""For each attempt of one question."""


LONG = 1_000
"""Dims with more parts are compared by reduction and ranges only: no attempt would get far."""


@dataclass(frozen=True, slots=True)
class _Known:
    """An answer, or a normal form, and how many steps it took."""

    answer: Answer
    steps: int


class Decider:
    """Decides predicates under axes and facts; an origin's are known as well."""

    def __init__(
        self,
        axes: Iterable[Axis] = (),
        facts: Iterable[Predicate] = (),
        origin: Decider | None = None,
    ) -> None:
        own_axes, own_facts = tuple(axes), tuple(facts)
        self._origin = origin
        self.axes: tuple[Axis, ...] = (origin.axes if origin else ()) + own_axes
        self.facts: tuple[Predicate, ...] = (origin.facts if origin else ()) + own_facts
        self._system: System = origin._system.copy() if origin else System()
        self._representatives: Representatives = (
            origin._representatives.extended(own_facts) if origin else Representatives(own_facts)
        )
        self.is_contradictory: bool = origin.is_contradictory if origin else False
        self._older_witnesses: Witnesses | None = origin._known_witnesses() if origin else None
        self._normal: dict[Dim, tuple[Dim, int]] = {}
        self._learn(own_axes, own_facts)
        # What is stated is known, even where refuting its denial would take too long.
        stated = _Known(Answer.TRUE, 1)
        self._answers: dict[Predicate, _Known] = dict.fromkeys(own_facts, stated)

    def extended(self, axes: Iterable[Axis] = (), facts: Iterable[Predicate] = ()) -> Decider:
        return Decider(axes, facts, self)

    def _learn(self, axes: tuple[Axis, ...], facts: tuple[Predicate, ...]) -> None:
        try:
            for axis in axes:
                self._system.add_axis(axis)
            for fact in facts:
                with suppress(DimTooLargeError):  # then less is known
                    self._system.add(fact)
        except Contradiction:
            self.is_contradictory = True

    # --- questions ------------------------------------------------------------------------------

    def proves(self, predicate: Predicate, effort: Effort | None = None) -> Answer:
        """TRUE when it holds for all allowed bindings where it has a value, FALSE when for none.

        What it takes is charged to the effort of the question that it came up in, if any.
        """
        answer = structural(predicate)
        if answer is not None:
            return answer
        known = self._answers.get(predicate) or self._inherited(predicate)
        if known is None:
            own = Effort()
            try:
                answer = self._decide(predicate, own)
            except DimTooLargeError:  # a step of the proof: the question itself may have an answer
                answer = Answer.UNKNOWN
            known = self._answers[predicate] = _Known(answer, own.used + 1)
        if effort is not None:
            effort.spend(known.steps)
        return known.answer

    def steps(self, predicate: Predicate) -> int:
        """How many steps the answer to a question took: 0 if it was never asked."""
        known = self._answers.get(predicate)
        return 0 if known is None else known.steps

    def _inherited(self, predicate: Predicate) -> _Known | None:
        """What an origin had decided; of what it did not know, more is known now."""
        origin = self._origin
        while origin is not None:
            known = origin._answers.get(predicate)
            if known is not None and known.answer is not Answer.UNKNOWN:
                return known
            origin = origin._origin
        return None

    def bounds(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and greatest value that `dim` can have, as far as known; None is unbounded."""
        try:
            lo, hi = self._interval(dim)
        except (Contradiction, DimTooLargeError):
            return None, None
        return (lo if isinstance(lo, int) else None), (hi if isinstance(hi, int) else None)

    def normalize(self, dim: Dim, effort: Effort | None = None) -> Dim:
        """An equal dim in the simplest form that the facts allow, as far as the steps go."""
        known = self._normal.get(dim)
        if known is None:
            own = Effort(NORMALIZE_STEPS)
            long = dim.length > LONG
            normal = dim if long else normalized(dim, self._representatives, self, own)
            known = self._normal[dim] = normal, own.used
        if effort is not None:
            effort.spend(known[1])
        return known[0]

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

    def _decide(self, predicate: Predicate, effort: Effort) -> Answer:
        if self.is_contradictory:
            return Answer.UNKNOWN
        try:
            quick = self._quick(predicate)
        except Contradiction:  # it has no value wherever the facts hold
            return Answer.UNKNOWN
        if quick is not None:
            return quick
        if sum(side.length for side in predicate.sides) > LONG:
            return Answer.UNKNOWN
        if self._certified(predicate, effort):
            return Answer.TRUE
        verdicts = self._witnesses.verdicts(predicate)
        if len(verdicts) == 2:  # both ways: no proof to be found
            return Answer.UNKNOWN
        simpler = self._simplified(predicate, effort)
        if simpler is not Answer.UNKNOWN:
            return simpler
        if True not in verdicts and self._refuted(((predicate,),), effort):
            return Answer.FALSE
        if False not in verdicts and self._refuted(denials(predicate), effort):
            return Answer.TRUE
        return Answer.UNKNOWN

    @lazy_property
    def _certificates(self) -> Certificates:
        origin = self._origin
        alike = origin is not None and self._system.reduces_like(origin._system)
        return Certificates(self._system, origin._certificates if origin and alike else None)

    def _certified(self, predicate: Predicate, effort: Effort) -> bool:
        """Whether it is an inequality that follows at once from those that are known."""
        if not isinstance(predicate, Less | LessEqual):
            return False
        slack = predicate.rhs - predicate.lhs - int(isinstance(predicate, Less))
        with effort.part(CERTIFICATE_STEPS) as part, suppress(Contradiction):
            return self._certificates.proves_nonnegative(self._system.reduce(slack), part)
        return False

    def _simplified(self, predicate: Predicate, effort: Effort) -> Answer:
        """Normal forms get rid of most minima, broadcasts and quotients much faster than splits."""
        first, second = predicate.sides
        factors = (*factors_of(first.terms), *factors_of(second.terms))
        if all(isinstance(factor, Symbol) for factor in factors):
            return Answer.UNKNOWN
        with effort.part(2 * NORMALIZE_STEPS) as part:
            simpler = type(predicate)(self.normalize(first, part), self.normalize(second, part))
            return Answer.UNKNOWN if simpler == predicate else self.proves(simpler, part)
        return Answer.UNKNOWN

    def _refuted(self, cases: Sequence[tuple[Predicate, ...]], effort: Effort) -> bool:
        """Whether none of several conjunctions can hold."""
        with effort.part(REFUTE_STEPS) as part:
            return all(refuted(self._system, case, part) for case in cases)
        return False

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


@lru_cache(maxsize=1024)
def shared_decider(
    axes: tuple[Axis, ...], facts: tuple[Predicate, ...], origin: Decider | None = None
) -> Decider:
    """The same one for the same statements, with its answers, as long as it is among the last that
    were asked for: kernels of a model differ less than their number suggests."""
    return Decider(axes, facts, origin)


def structural(predicate: Predicate) -> Answer | None:
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
