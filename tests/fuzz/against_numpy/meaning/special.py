"""What the error function's and gamma's relatives mean: NumPy has none of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import Array
from tests.fuzz.against_numpy.meaning.operands import Operand, floating
from tests.fuzz.against_numpy.noise import FUNCTION_ULPS, Noisy, cast, mapped, widened

EPS = float(np.finfo(np.float64).eps)
ROUNDINGS = 64
"""Of f64, in which both we and this oracle compute, whatever the element type is."""


def each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return np.vectorize(lambda v: function(float(v)), otypes=[np.longdouble])


def erfinv_value(y: float) -> float:
    """By steps of Newton's from 0 on, which lead upwards only: erf bends down."""
    if not -1 < y < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    x, size = 0.0, abs(y)
    for _ in range(200):
        rest = size - math.erf(x) if size < 0.5 else math.erfc(x) - (1 - size)
        x += rest * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return math.copysign(x, y)


def lgamma_value(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or too great
        return math.inf


def digamma_values(x: Array) -> Array:
    """log(x) - 1/2x - 1/12x² + 1/120x⁴ - 1/252x⁶ + 1/240x⁸, 40 steps above; mirrored below 0."""
    wide = x.astype(np.longdouble)
    z = np.where(wide < 0, 1 - wide, wide)
    far = z + 40
    square = 1 / (far * far)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    found = np.log(far) - 0.5 / far - series - sum(1 / (z + step) for step in range(40))
    turn = np.longdouble(math.pi) * (wide - np.rint(wide))
    below = np.where(wide == np.rint(wide), np.nan, found - np.longdouble(math.pi) / np.tan(turn))
    found = np.where(np.isposinf(wide), np.inf, np.where(wide == 0, -1 / wide, found))
    return np.where(wide < 0, below, found)


def special(function: Callable[[Array], Array], has_poles: bool = False) -> Callable[..., Noisy]:
    """Terms cancel near roots: the error is that of the greatest term."""

    def meaning(x: Operand) -> Noisy:
        operand = floating(x)[0]
        given = widened(operand)
        found = mapped(function, given, ulps=FUNCTION_ULPS, keeps=False)
        with np.errstate(all="ignore"):
            size = np.abs(given.value).astype(np.float64)
            terms = np.abs(found.value).astype(np.float64)
            if has_poles:
                terms = terms + 1 + size * np.log1p(size)
            error = found.error + np.where(np.isfinite(terms), ROUNDINGS * EPS * terms, 0)
            ends = [np.floor(given.value + sign * given.error) for sign in (-1, 1)]
            crossed = has_poles & (given.error > 0) & (ends[0] != ends[1]) & (ends[0] < 0)
        error = np.where(crossed, np.inf, error)
        return cast(Noisy(found.dtype, found.value, error), operand.dtype)

    return meaning


SPECIAL: dict[str, Callable[..., Noisy]] = {
    "erfc": special(each(math.erfc)),
    "erfinv": special(each(erfinv_value)),
    "lgamma": special(each(lgamma_value), has_poles=True),
    "digamma": special(digamma_values, has_poles=True),
}
