"""Inverses of the trigonometric and hyperbolic functions, each by a formula of other ops.

`atan` is a polynomial; the other angles are angles of a triangle with a known side, and those of
hyperbolic functions are logarithms. Formulas are odd functions of the size where the function is.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from anyshape.ops.compose import Expr
from anyshape.ops.elementwise import unary

_ATAN = (
    0.0162857568552210283, -0.0345705619814277469, 0.0455159322062654917, -0.0523045427065024452,
    0.0587892899783477513, -0.0666642488573825533, 0.076922963750321424, -0.0909090875350087684,
    0.111111111051554466, -0.142857142856598276, 0.199999999999998045, -0.333333333333333332,
)  # fmt: skip
"""(atan(x) / x - 1) / x² by powers of x², the highest first, fitted where |x| <= tan(pi / 8): the
result is off by 1.2e-18 of x³."""

_EIGHTH = math.tan(math.pi / 8)
_HUGE = 1e9
"""From here on roots of x² ± 1 are x; its square is a number in f32 as well."""


def _signed(x: Expr, of_size: Expr) -> Expr:
    """An odd function from its values at |x|. Near 0 it is x, and -0 stays -0."""
    result = x.apply("lt", 0).apply("select", of_size.apply("neg"), of_size)
    return x.apply("abs").apply("lt", 1e-8).apply("select", x, result)


def _atan(x: Expr) -> Expr:
    """Of |x|, turned by an eighth or a quarter of the circle towards the angles of the fit."""
    size = x.apply("abs")
    is_far, is_near = size.apply("gt", 1 / _EIGHTH), size.apply("lt", _EIGHTH)
    turned = is_far.apply("select", size.lift(-1) / size, (size - 1) / (size + 1))
    t = is_near.apply("select", size, turned)
    angle = is_far.apply("select", size.lift(math.pi / 2), size.lift(math.pi / 4))
    base = is_near.apply("select", size.lift(0), angle)
    square = t * t
    fit = square.lift(_ATAN[0])
    for coefficient in _ATAN[1:]:
        fit = fit * square + coefficient
    return _signed(x, base + (t + t * square * fit))


def _asin(x: Expr) -> Expr:
    other_side = ((x.lift(1) - x) * (x + 1)).apply("sqrt")
    return (x / other_side).apply("atan")


def _acos(x: Expr) -> Expr:
    """Twice the half angle, whose tangent is exact at both ends."""
    return ((x.lift(1) - x) / (x + 1)).apply("sqrt").apply("atan") * 2


def _asinh(x: Expr) -> Expr:
    size = x.apply("abs")
    near = size.apply("minimum", _HUGE)
    square = near * near
    root = (square + 1).apply("sqrt")
    logarithm = (near + square / (root + 1)).apply("log1p")
    return _signed(x, _beyond(size, logarithm))


def _acosh(x: Expr) -> Expr:
    """Of 1 + t; the two roots are no numbers below 1."""
    t = x.apply("minimum", _HUGE) - 1
    return _beyond(x, (t + t.apply("sqrt") * (t + 2).apply("sqrt")).apply("log1p"))


def _beyond(x: Expr, near: Expr) -> Expr:
    far = x.apply("log") + math.log(2)
    return x.apply("gt", _HUGE).apply("select", far, near)


def _atanh(x: Expr) -> Expr:
    size = x.apply("abs")
    return _signed(x, (size * 2 / (size.lift(1) - size)).apply("log1p") * 0.5)


_function = partial(unary, public=True)  # of floats

atan = _function("atan", np.arctan, cost=30, formula=_atan)
asin = _function("asin", np.arcsin, cost=45, formula=_asin)
acos = _function("acos", np.arccos, cost=45, formula=_acos)
asinh = _function("asinh", np.arcsinh, cost=50, formula=_asinh)
acosh = _function("acosh", np.arccosh, cost=50, formula=_acosh)
atanh = _function("atanh", np.arctanh, cost=35, formula=_atanh)
