"""Which of two sizes is the smaller one, as their form alone says: at any sizes, in microseconds.

Slices of a few elements have sizes such as `min(n, 4) - min(n, 3)`: one where the axis is longer
than 3, else none. As `min(max(n - 3, 0), 1)` their range is plain, and so is which of two such
sizes is the smaller one. As a difference, the sizes of slices that follow each other add up to
their whole: hence dims keep that form, and questions change it.
"""

from __future__ import annotations

from anyshape.sym.choice import maximum_of, minimum_of
from anyshape.sym.dim import Dim
from anyshape.sym.factor import Max, Min
from anyshape.sym.symbol import Symbol
from anyshape.sym.terms import factors_of


def clamp_form(dim: Dim) -> Dim:
    """`min(x, b) - min(x, a)` as `min(max(x - a, 0), b - a)`, if a <= b; any other dim as it is."""
    bounds = _bounds(dim)
    if bounds is None:
        return dim
    x, a, b = bounds
    return minimum_of((maximum_of((x - a, Dim.of(0))), b - a))


def is_at_most(left: Dim, right: Dim) -> bool:
    """Whether `left <= right` follows from the form of both; False says nothing."""
    return _is_at_most(clamp_form(left), clamp_form(right))


def _is_at_most(left: Dim, right: Dim) -> bool:
    slack = right - left
    if slack.is_constant or _is_sum_of_sizes(slack):
        return slack.constant is None or slack.constant >= 0
    one, other = left.factor, right.factor
    if isinstance(one, Max):
        return all(_is_at_most(arg, right) for arg in one.args)
    if isinstance(other, Min):
        return all(_is_at_most(left, arg) for arg in other.args)
    if isinstance(one, Min) and any(_is_at_most(arg, right) for arg in one.args):
        return True
    return isinstance(other, Max) and any(_is_at_most(left, arg) for arg in other.args)


def _is_sum_of_sizes(dim: Dim) -> bool:
    """Whether nothing is subtracted: symbols stand for sizes, which are not negative."""
    symbols = all(isinstance(factor, Symbol) for factor in factors_of(dim.terms))
    return symbols and all(coefficient > 0 for _, coefficient in dim.terms)


def _bounds(dim: Dim) -> tuple[Dim, Dim, Dim] | None:
    """x, a and b of `min(x, b) - min(x, a)`."""
    if len(dim.terms) != 2:
        return None
    minima = {c: m[0][0] for m, c in dim.terms if len(m) == 1 and m[0][1] == 1}
    upper, lower = minima.get(1), minima.get(-1)
    if not isinstance(upper, Min) or not isinstance(lower, Min):
        return None
    shared = [arg for arg in upper.args if arg in lower.args]
    own = [arg for arg in upper.args if arg not in shared]
    others = [arg for arg in lower.args if arg not in shared]
    if not shared or len(own) != 1 or len(others) != 1:
        return None
    length = (own[0] - others[0]).constant
    return (minimum_of(shared), others[0], own[0]) if length is not None and length >= 0 else None
