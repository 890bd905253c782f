"""Quotients and remainders rounded toward zero, which frameworks have beside Python's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.integer_ranges import range_of
from anyshape.frontend.builder.tracer import active

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def trunc(x: Tensor) -> Tensor:
    """Without the fraction."""
    return ew.where(x < 0, ew.ceil(x), ew.floor(x))


def trunc_divide(x: Tensor, y: Tensor) -> Tensor:
    """The quotient without its fraction, of operands that have one dtype."""
    if x.dtype.kind == "uint":
        return ew.floor_divide(x, y)
    if x.dtype.is_float:
        return trunc(ew.divide(x, y))
    if _has_magnitude(x) and _has_magnitude(y):
        return ew.sign(x) * ew.sign(y) * ew.floor_divide(ew.abs(x), ew.abs(y))
    quotient = ew.floor_divide(x, y)
    return ew.where(_is_below(x, y, x - quotient * y), quotient + 1, quotient)


def fmod(x: Tensor, y: Tensor) -> Tensor:
    """The remainder with the sign of `x`."""
    if x.dtype.kind == "uint":
        return ew.mod(x, y)
    if x.dtype.is_float or (_has_magnitude(x) and _has_magnitude(y)):
        rest = ew.mod(ew.abs(x), ew.abs(y))
        return ew.where(x < 0, -rest, rest)
    rest = ew.mod(x, y)
    return ew.where(_is_below(x, y, rest), rest - y, rest)


def _is_below(x: Tensor, y: Tensor, rest: Tensor) -> Tensor:
    """Whether the quotient is rounded down, and so away from zero."""
    return ew.logical_and(rest != 0, (x < 0) != (y < 0))


def _has_magnitude(x: Tensor) -> bool:
    """Whether |x| is known not to wrap, which it does for the least integer of a type. Sizes are
    far from it; of them, signs and magnitudes are dims where a choice by sign is not decided."""
    tracer = active()
    low = range_of(tracer, tracer.value(x)).low
    return low is not None and tracer.proves(low > int(np.iinfo(x.dtype.numpy).min))
