"""Conditions on one size that are no arithmetic of integers: `trunc(0.5 * n) == 3`.

Facts are about integers. Whatever Python computes with floats on the way, such a condition holds
for certain sizes. The ones next to the size of the example, without gaps, are a condition that
facts can hold: `6 <= n <= 7`. It asks for no less than the original, so nothing wrong comes of it.

Where the left side only grows with the size, the interval ends where torch's own reading of the
expression says so; else sizes are tried one by one, a limited number of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils._sympy import interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

Interval = tuple[int, int | None]
"""The least size and the greatest, None for any."""

_INTERPRETER: Any = interp
_TRIED = 1024
_FARTHEST = 1 << 40


def holds_at(condition: Any, sizes: dict[Any, int]) -> bool:
    """Whether a condition is true for these sizes, as Python computes it."""
    try:
        return bool(_INTERPRETER.sympy_interp(PythonReferenceAnalysis, sizes, condition))
    except (ArithmeticError, ValueError, TypeError):  # a root of less than 0 has no order
        return False


def interval_around(condition: Any, symbol: Any, size: int) -> Interval | None:
    """Sizes around this one for which a condition on one symbol is true; None if it is not."""

    def holds(candidate: int) -> bool:
        return holds_at(condition, {symbol: candidate})

    if not holds(size):
        return None
    if _rises(condition):
        low = _first(lambda below: holds(size - below), size)
        high = _first(lambda above: holds(size + above), _FARTHEST - size)
        return size - low, None if size + high >= _FARTHEST else size + high
    return _nearby(holds, size, -1), _nearby(holds, size, 1)


def _first(holds: Callable[[int], bool], limit: int) -> int:
    """The farthest distance at which it still holds, where it does not hold again behind that."""
    if holds(limit):
        return limit
    low, high = 0, limit
    step = 1
    while step < limit and holds(step):
        low, step = step, step * 2
    high = min(step, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _nearby(holds: Callable[[int], bool], size: int, step: int) -> int:
    last = size
    for candidate in range(size + step, size + step * _TRIED, step):
        if candidate < 0 or not holds(candidate):
            break
        last = candidate
    return last


_COMPARED = frozenset(
    {"Equality", "LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan"}
)
_RISING = frozenset(
    {"Add", "Max", "Min", "ToFloat", "TruncToInt", "TruncToFloat", "FloorToInt", "CeilToInt"}
    | {"RoundToInt", "OpaqueUnaryFn_sqrt"}
)
_QUOTIENTS = frozenset({"FloorDiv", "CleanDiv", "IntTrueDiv", "FloatTrueDiv"})
_POWERS = frozenset({"Mul", "FloatPow", "PowByNatural"})


def _rises(condition: Any) -> bool:
    """Whether it compares what only grows with the size to a number."""
    if type(condition).__name__ not in _COMPARED:
        return False
    left, right = condition.args
    return (left.is_number and _grows(right)) or (right.is_number and _grows(left))


def _grows(expression: Any) -> bool:
    """Of one symbol, a size; floats round without changing the order."""
    kind = type(expression).__name__
    if expression.is_Symbol or expression.is_number:
        return True
    if kind in _RISING:
        return all(map(_grows, expression.args))
    if kind in _QUOTIENTS:
        dividend, divisor = expression.args
        return _grows(dividend) and bool(divisor.is_number and divisor > 0)
    return kind in _POWERS and all(_grows(p) and _is_no_less_than_0(p) for p in expression.args)


def _is_no_less_than_0(expression: Any) -> bool:
    if expression.is_Symbol:
        return True
    if expression.is_number:
        return bool(expression >= 0)
    known = (*_RISING, *_QUOTIENTS, *_POWERS)
    return type(expression).__name__ in known and all(map(_is_no_less_than_0, expression.args))
