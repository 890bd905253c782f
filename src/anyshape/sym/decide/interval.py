"""Interval arithmetic. A bound is an integer or an infinity; intervals are closed, never empty."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isinf
from typing import NamedTuple

Bound = float  # an int, or -inf, or inf


class Interval(NamedTuple):
    """All integers from `lo` to `hi`."""

    lo: Bound
    hi: Bound

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.lo <= value <= self.hi

    @property
    def is_point(self) -> bool:
        return self.lo == self.hi


_HUGE = 2**63
EVERYTHING = Interval(-inf, inf)
SIZES = Interval(0, inf)


def plus(left: Interval, right: Interval) -> Interval:
    return _clipped(left.lo + right.lo, left.hi + right.hi)


def times(left: Interval, right: Interval) -> Interval:
    return _span(_product(a, b) for a in left for b in right)


def power(base: Interval, exponent: int) -> Interval:
    result = base
    for _ in range(exponent - 1):
        result = times(result, base)
    if exponent % 2 == 0 and base.lo < 0:  # corners multiply the two ends, a square does not
        return Interval(0, result.hi)
    return result


def floor_div(num: Interval, den: Interval) -> Interval:
    """A divisor that cannot be negative is at least 1: a quotient exists only where it is not 0."""
    if den.lo >= 0:
        den = Interval(max(den.lo, 1), max(den.hi, 1))
    if den.lo < 1:
        return EVERYTHING
    return _span(_quotient(a, b) for a in num for b in den)


def least(parts: Iterable[Interval]) -> Interval:
    los, his = zip(*parts, strict=True)
    return Interval(min(los), min(his))


def greatest(parts: Iterable[Interval]) -> Interval:
    los, his = zip(*parts, strict=True)
    return Interval(max(los), max(his))


def hull(parts: Iterable[Interval]) -> Interval:
    los, his = zip(*parts, strict=True)
    return Interval(min(los), max(his))


def meet(left: Interval, right: Interval) -> Interval:
    """The common part of two intervals that are both right, so that there is one."""
    return Interval(max(left.lo, right.lo), min(left.hi, right.hi))


def _span(values: Iterable[Bound]) -> Interval:
    found = list(values)
    return _clipped(min(found), max(found))


def _clipped(lo: Bound, hi: Bound) -> Interval:
    """Sizes beyond 2**63 mean nothing; a wider interval is still right, and stays cheap."""
    return Interval(-inf if lo < -_HUGE else min(lo, _HUGE), inf if hi > _HUGE else max(hi, -_HUGE))


def _product(left: Bound, right: Bound) -> Bound:
    return 0 if left == 0 or right == 0 else left * right  # 0 * inf is 0 here: sizes are finite


def _quotient(num: Bound, den: Bound) -> Bound:
    if isinf(num):
        return num
    if isinf(den):
        return 0 if num >= 0 else -1
    return num // den
