"""What is combined of all elements up to each one."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_


@entry("aten.cumsum.default")
def cumsum(call: Call, x: Tensor, dim: int, **_: Any) -> Tensor:
    return _cumulative("cumsum", call.operand(x), dim)


@entry("aten.cumprod.default")
def cumprod(call: Call, x: Tensor, dim: int, **_: Any) -> Tensor:
    return _cumulative("cumprod", call.operand(x), dim)


@entry("aten.cummax.default")
def cummax(call: Call, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    _check(x)
    most = _cumulative("cummax", x, dim)
    return most, _latest(x, x >= most, dim)


@entry("aten.cummin.default")
def cummin(call: Call, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    _check(x)
    least = _cumulative("cummin", x, dim)
    return least, _latest(x, x <= least, dim)


def _check(x: Tensor) -> None:
    if x.dtype == bool_:
        raise NoEntryError


def _latest(x: Tensor, is_extreme: Tensor, dim: int) -> Tensor:
    """Where the extreme of each prefix was last seen; after a NaN, where the last NaN was."""
    hit = ew.logical_or(is_extreme, ew.isnan(x)) if x.dtype.is_float else is_extreme
    places = iota(x.shape, normal_axis(dim, x.ndim))
    return _cumulative("cummax", ew.where(hit, places, 0), dim)


def _cumulative(op: str, x: Tensor, dim: int) -> Tensor:
    return x if x.ndim == 0 else active().emit(op, x, axis=normal_axis(dim, x.ndim))
