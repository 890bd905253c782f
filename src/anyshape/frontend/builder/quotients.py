"""Quotients and remainders rounded toward zero, which frameworks have beside Python's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.frontend.builder import elementwise as ew

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
    return ew.sign(x) * ew.sign(y) * ew.floor_divide(ew.abs(x), ew.abs(y))


def fmod(x: Tensor, y: Tensor) -> Tensor:
    """The remainder with the sign of `x`."""
    if x.dtype.kind == "uint":
        return ew.mod(x, y)
    rest = ew.mod(ew.abs(x), ew.abs(y))
    return ew.where(x < 0, -rest, rest)
