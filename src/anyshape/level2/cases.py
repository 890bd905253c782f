"""Which of several cases a binding is: one number of level 2.

A case is predicates that hold together. Each predicate becomes a dim that is 0 where it holds and 1
where it does not, so that a case is a sum, and the number of the first case that holds is the index
of the least of these sums (`Cheapest`). Behind the cases stands one more number, for sizes that are
none of them.

A step of this arithmetic that leaves 64 bits counts as the largest number: a case that cannot be
decided does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from anyshape.level2.words import Cheapest
from anyshape.sym import (
    Broadcastable,
    Dim,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
    maximum,
    minimum,
)

Case: TypeAlias = Sequence[Predicate]

_NONE, _ONE = Dim.of(0), Dim.of(1)


def number_of_case(cases: Sequence[Case]) -> Cheapest:
    """The number of the first case that holds, `len(cases)` if none does."""
    broken = (sum(map(violation, case), _NONE) for case in cases)
    return Cheapest((*(2 * count for count in broken), _ONE))


def violation(predicate: Predicate) -> Dim:
    """0 where a predicate holds, else 1."""
    first, second = predicate.sides
    match predicate:
        case LessEqual():
            return _is_positive(first - second)
        case Less():
            return _is_positive(first - second + 1)
        case Equal():
            return _differ(first, second)
        case NotEqual():
            return 1 - _differ(first, second)
        case Divisible():
            return _differ(first % second, _NONE) if second.constant else _by_quotient(predicate)
        case Broadcastable():
            alternatives = (_differ(first, second), _differ(first, _ONE), _differ(second, _ONE))
            return minimum(*alternatives)
        case _:
            assert_never(predicate)


def _is_positive(dim: Dim) -> Dim:
    return minimum(_ONE, maximum(_NONE, dim))


def _differ(left: Dim, right: Dim) -> Dim:
    return minimum(_ONE, maximum(left - right, right - left))


def _by_quotient(predicate: Divisible) -> Dim:
    """A division by 0 gives 0 here: only 0 is divisible by it."""
    dim, divisor = predicate.sides
    return _differ(dim, dim // divisor * divisor)
