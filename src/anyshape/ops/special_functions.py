"""Error functions and gamma functions, each by a formula of other ops, computed in f64.

Sums of large terms that nearly cancel leave too little of f32; what the formulas lose of f64 is a
few units in the last place, or near a zero of the function as much of its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anyshape.ir.types import Array, f64
from anyshape.ops.compose import Expr
from anyshape.ops.elementwise import Formula, unary


def _in_f64(formula: Formula) -> Formula:
    return lambda x: formula(x.cast(f64)).cast(x.dtype)


def _each(function: Callable[[float], float]) -> Callable[[Array], Any]:
    """A function of Python's numbers as one of arrays."""
    return np.vectorize(function, otypes=[np.float64])


def _polynomial(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """The coefficient of the highest power first."""
    total = x.lift(coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def _where(condition: Expr, yes: Expr | float, no: Expr | float) -> Expr:
    like = yes if isinstance(yes, Expr) else no
    assert isinstance(like, Expr)
    return condition.apply("select", like.lift(yes), like.lift(no))


# --- error functions ------------------------------------------------------------------------------

_ERFC = (
    -1.8902306008944537e-09, 4.06088214696972e-09, 1.1172352263623759e-08, -3.9171820510271855e-08,
    1.4448658046252676e-09, 1.5334345920908177e-07, -2.495832761719667e-07, -1.6849800720653297e-07,
    1.2500276612569754e-06, -1.27231190486887e-06, -2.947986876998259e-06, 8.562623420121286e-06,
    1.3772664134464417e-07, -3.0187884551394243e-05, 3.17451797494374e-05, 7.14010141275703e-05,
    -0.0001743029472030762, -9.37350311709817e-05, 0.000673678795580235, -0.00014624686337800336,
    -0.002345812500482853, 0.001758933557799016, 0.008824938557060623, -0.009872689366389959,
    -0.0468956102311753, 0.04734330684190443, 0.6726432239776567, -0.6717940840566923,
)  # fmt: skip
"""log(exp(x²) erfc(x) / t) by powers of 2 t - 1, where t = 2 / (2 + x): off by 1e-16."""

_SPLIT = 2.0**27 + 1
"""Times this, a number falls into two halves whose squares are exact."""


def _erfc(x: Expr) -> Expr:
    size = x.apply("abs").apply("minimum", 30)  # from 27.3 on it is 0
    large = size * _SPLIT
    high = large - (large - size)
    square = (high * high).apply("neg").apply("exp")
    rest = ((high - size) * (high + size)).apply("exp")
    t = size.lift(2) / (size + 2)
    found = t * _polynomial(t * 2 - 1, _ERFC).apply("exp") * square * rest
    return _where(x.apply("lt", 0), found.lift(2) - found, found)


def _erfinv(y: Expr) -> Expr:
    """An estimate for |y|, and steps towards the root of erf(x) = |y|, or erfc(x) = 1 - |y| where
    that is the smaller number."""
    size = y.apply("abs")
    is_small = size.apply("lt", 0.5)
    wanted = size.lift(1) - size
    logarithm = (wanted * (size + 1)).apply("log")
    half = logarithm * 0.5 + 2 / (math.pi * 0.147)
    x = ((half * half - logarithm / 0.147).apply("sqrt") - half).apply("maximum", 0).apply("sqrt")
    for _ in range(3):
        error = _where(is_small, size - x.apply("erf"), x.apply("erfc") - wanted)
        slope = (x * x).apply("neg").apply("exp") * (2 / math.sqrt(math.pi))
        step = error / slope
        x = x + step / (x.lift(1) - x * step)  # Halley's
    x = _where(size.apply("lt", 1e-8), size * (math.sqrt(math.pi) / 2), x)
    x = _where(size.apply("eq", 1), math.inf, x)
    x = _where(size.apply("gt", 1), math.nan, x)
    return _where(y.apply("lt", 0), x.apply("neg"), _where(y.apply("eq", 0), y, x))


def _inverse_of_erf(y: float) -> float:
    """By bisection, which needs nothing but the function."""
    if not -1 < y < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    low, high, size = 0.0, 6.0, abs(y)
    for _ in range(80):
        middle = (low + high) / 2
        is_below = math.erf(middle) < size if size < 0.5 else math.erfc(middle) > 1 - size
        low, high = (middle, high) if is_below else (low, middle)
    return math.copysign(low if size > 1e-6 else size * math.sqrt(math.pi) / 2, y)


# --- gamma functions ------------------------------------------------------------------------------

_LANCZOS = (
    676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
_G = 7.5

_BERNOULLI = (
    -43867 / 798 / 18, 3617 / 510 / 16, -7 / 6 / 14, 691 / 2730 / 12, -5 / 66 / 10, 1 / 30 / 8,
    -1 / 42 / 6, 1 / 30 / 4, -1 / 6 / 2,
)  # fmt: skip
"""-B / 2 k of the numbers B of Bernoulli: digamma by powers of 1 / x², the highest first."""


def _lgamma(x: Expr) -> Expr:
    """Of arguments from 1/2 on by Lanczos' sum; of others by the reflection about 1/2."""
    below = x.apply("lt", 0.5)
    z = _where(below, x.apply("neg"), x - 1)
    total = z.lift(0.99999999999980993)
    for number, coefficient in enumerate(_LANCZOS, 1):
        total = total + z.lift(coefficient) / (z + number)
    t = z + _G
    far = ((z + 0.5) * (t.apply("log") - 1) - (_G - 0.5)) + total.apply("log")
    gamma = far + math.log(math.sqrt(2 * math.pi))
    sine = ((x - x.apply("round")) * math.pi).apply("sin").apply("abs")  # of pi x
    mirrored = sine.apply("log").apply("neg") + math.log(math.pi) - gamma
    mirrored = _where(sine.apply("eq", 0), math.inf, mirrored)  # a pole, or too far for fractions
    size = x.apply("abs")
    mirrored = _where(size.apply("lt", 1e-18), size.apply("log").apply("neg"), mirrored)
    found = _where(below, mirrored, gamma)
    found = _where(x.apply("eq", 1).apply("logical_or", x.apply("eq", 2)), 0.0, found)
    return _where(x.apply("abs").apply("eq", math.inf), math.inf, found)


def _digamma(x: Expr) -> Expr:
    """By its asymptotic series, ten steps up from there; of negative arguments by reflection."""
    below = x.apply("lt", 0)
    z = _where(below, x.lift(1) - x, x)
    steps = z.lift(0)
    for number in range(10):
        steps = steps + z.lift(1) / (z + number)
    far = z + 10
    inverse = far.lift(1) / far
    square = inverse * inverse
    series = _polynomial(square, _BERNOULLI) * square
    found = far.apply("log") - inverse * 0.5 + series - steps
    angle = (x - x.apply("round")) * math.pi
    mirrored = found - angle.apply("cos") * math.pi / angle.apply("sin")
    is_whole = x.apply("eq", x.apply("round"))
    result = _where(below, _where(is_whole, math.nan, mirrored), found)
    sign = (x.lift(1) / x).apply("lt", 0)
    at_zero = _where(sign, x.lift(math.inf), x.lift(-math.inf))
    result = _where(x.apply("eq", 0), at_zero, result)
    result = _where(x.apply("eq", math.inf), math.inf, result)
    return _where(x.apply("eq", -math.inf), math.nan, result)


def _logarithm_of_gamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at a pole, or beyond the greatest number
        return math.inf


def _slope_of_lgamma(x: float) -> float:
    if x == 0:
        return -math.copysign(math.inf, x)
    if math.isinf(x) or (x < 0 and x == math.floor(x)):
        return math.inf if x > 0 else math.nan
    if x < 0:
        return _slope_of_lgamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    total = 0.0
    while x < 20:
        total -= 1 / x
        x += 1
    inverse = 1 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    return total + math.log(x) - 0.5 / x - series


_function = partial(unary, public=True)  # of floats

erfc = _function("erfc", _each(math.erfc), cost=60, formula=_in_f64(_erfc))
erfinv = _function("erfinv", _each(_inverse_of_erf), cost=300, formula=_in_f64(_erfinv))
lgamma = _function("lgamma", _each(_logarithm_of_gamma), cost=120, formula=_in_f64(_lgamma))
digamma = _function("digamma", _each(_slope_of_lgamma), cost=120, formula=_in_f64(_digamma))
