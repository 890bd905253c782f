"""What sorted elements tell: medians and the like, places among them, and counts by place."""

from __future__ import annotations

import math

from anyshape.frontend.aten.calls import Call, NoEntryError, as_dtype, entry
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import order, reduce, search
from anyshape.frontend.builder.assemble import pad
from anyshape.frontend.builder.axes import Size
from anyshape.frontend.builder.convert import ArrayLike, cast_to
from anyshape.frontend.builder.movement import expand_dims, ravel
from anyshape.frontend.builder.order import TopK
from anyshape.frontend.builder.scatter import take_along
from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import bool_, i32, i64


def _line(x: Tensor) -> Tensor:
    """A number is a line of one."""
    return x if x.ndim else expand_dims(x, 0)


def _kept(x: Tensor, found: TopK, dim: int, keepdim: bool) -> tuple[Tensor, ...]:
    is_line = x.ndim > 0 and keepdim
    return tuple(expand_dims(each, dim) if is_line else each for each in found)


@entry("aten.kthvalue.default")
def kthvalue(
    call: Call, x: Tensor, k: Size, dim: int = -1, keepdim: bool = False
) -> tuple[Tensor, ...]:
    return _kept(x, order.kthvalue(_line(x), k, dim), dim, keepdim)


@entry("aten.median.dim")
def median(call: Call, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, ...]:
    return _kept(x, order.median(_line(x), dim), dim, keepdim)


@entry("aten.nanmedian.dim")
def nanmedian(call: Call, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, ...]:
    return _kept(x, order.median(_line(x), dim, ignore_nan=True), dim, keepdim)


@entry("aten.median.default")
def median_of_all(call: Call, x: Tensor) -> Tensor:
    line = ravel(x)
    if _is_never_empty(x):
        return order.median(line).values
    return ew.where(reduce.any(ew.isnan(line)), math.nan, _median_or_nan(line))


@entry("aten.nanmedian.default")
def nanmedian_of_all(call: Call, x: Tensor) -> Tensor:
    line = ravel(x)
    if _is_never_empty(x):
        return order.median(line, ignore_nan=True).values
    return _median_or_nan(line)


def _is_never_empty(x: Tensor) -> bool:
    """Or of integers, where torch's answer for no elements is the least one: ours refuses that."""
    sizes = [size.constant for size in x.shape]
    if not x.dtype.is_float and 0 in sizes:
        raise NoEntryError
    return not x.dtype.is_float or all(sizes)


def _median_or_nan(line: Tensor) -> Tensor:
    """Without those that are NaN: one more changes nothing, and is there if nothing else is."""
    return order.median(pad(line, (0, 1), math.nan), ignore_nan=True).values


@entry("aten.mode.default")
def mode(call: Call, x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, ...]:
    return _kept(x, order.mode(_line(x), dim), dim, keepdim)


# --- places ---------------------------------------------------------------------------------------


@entry("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(
    call: Call,
    ordered: Tensor,
    x: ArrayLike,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    rows = ordered if sorter is None else take_along(ordered, sorter, -1)
    found = search.searchsorted(*_met(call, rows, x), right=right or side == "right")
    return cast_to(found, i32 if out_int32 else i64)


@entry("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(
    call: Call, x: ArrayLike, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    found = search.searchsorted(*_met(call, boundaries, x), right=right)
    return cast_to(found, i32 if out_int32 else i64)


def _met(call: Call, *operands: ArrayLike) -> list[Tensor]:
    """Numbers of two types are compared in the one in which torch's arithmetic meets."""
    if call.common == bool_:
        raise NoEntryError
    return [as_dtype(each, call.common) for each in operands]


@entry("aten.isin.Tensor_Tensor")
def isin(
    call: Call,
    elements: Tensor,
    tests: Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    if bool_ in (elements.dtype, tests.dtype):
        raise NoEntryError
    found = search.isin(*_met(call, elements, tests))
    return ew.logical_not(found) if invert else found
