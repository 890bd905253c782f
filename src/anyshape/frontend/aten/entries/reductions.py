"""Reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.frontend.aten.calls import TABLE, Call, as_dtype, entry
from anyshape.frontend.aten.value_checks import op_name
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.axes import Axes, normal_axes
from anyshape.frontend.builder.convert import asarray, cast_to, widened
from anyshape.frontend.builder.functions import sqrt
from anyshape.frontend.builder.search import histc as counted_in_range
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64
from anyshape.ops.elementwise import cast
from anyshape.sym import product

Function = Callable[..., Tensor]


def _axes(dim: Axes | None) -> Axes | None:
    """No axes named means all of them."""
    return None if isinstance(dim, Sequence) and not dim else dim


def _in_dtype_of_result(function: Function) -> Function:
    def apply(
        call: Call, x: Tensor, dim: Axes | None = None, keepdim: bool = False, **_: Any
    ) -> Tensor:
        return cast_to(function(call.operand(x), _axes(dim), keepdim), call.dtype)

    return apply


def _of_operand(function: Function) -> Function:
    def apply(call: Call, x: Tensor, dim: Axes | None = None, keepdim: bool = False) -> Tensor:
        return function(x, _axes(dim), keepdim)

    return apply


for _name, _function in {
    "sum.default": red.sum, "sum.dim_IntList": red.sum, "mean.default": red.mean,
    "mean.dim": red.mean, "prod.default": red.prod, "prod.dim_int": red.prod,
}.items():  # fmt: skip
    TABLE[f"aten.{_name}"] = _in_dtype_of_result(_function)


def _extremum(function: Function) -> Function:
    """Nothing has no greatest element."""

    def apply(call: Call, x: Tensor, dim: Axes | None = None, keepdim: bool = False) -> Tensor:
        require_elements(call, x, _axes(dim))
        return function(x, _axes(dim), keepdim)

    return apply


def require_elements(call: Call, x: Tensor, axes: Axes | None) -> None:
    """There is an element along each of these axes: proven, or checked by each call."""
    for axis in normal_axes(axes, x.ndim):
        why = f"{op_name(call)} over axis {axis} needs an element"
        active().require(x.shape[axis] >= 1, why)


for _name, _function in {
    "amax.default": red.max, "amin.default": red.min, "max.default": red.max,
    "min.default": red.min,
}.items():  # fmt: skip
    TABLE[f"aten.{_name}"] = _extremum(_function)


def _truth(function: Function) -> Function:
    """Truths of bytes are bytes."""

    def apply(call: Call, x: Tensor, dim: Axes | None = None, keepdim: bool = False) -> Tensor:
        return cast_to(function(x, _axes(dim), keepdim), call.dtype)

    return apply


for _name, _function in {
    "any.default": red.any, "any.dim": red.any, "any.dims": red.any,
    "all.default": red.all, "all.dim": red.all, "all.dims": red.all,
}.items():  # fmt: skip
    TABLE[f"aten.{_name}"] = _truth(_function)

for _name, _function in {
    "argmax.default": red.argmax, "argmin.default": red.argmin, "logsumexp.default": red.logsumexp,
}.items():  # fmt: skip
    TABLE[f"aten.{_name}"] = _of_operand(_function)


@entry("aten.max.dim")
def max_dim(call: Call, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return red.max(x, dim, keepdim), red.argmax(x, dim, keepdim)


@entry("aten.min.dim")
def min_dim(call: Call, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return red.min(x, dim, keepdim), red.argmin(x, dim, keepdim)


@entry("aten.var.correction")
def var(
    call: Call,
    x: Tensor,
    dim: Axes | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor:
    found = red.var(x, _axes(dim), keepdim, 1 if correction is None else correction)
    return (
        _unless_empty(x, _axes(dim), found) if correction is not None and correction < 0 else found
    )


def _unless_empty(x: Tensor, axes: Axes | None, variance: Tensor) -> Tensor:
    """Nothing has no mean, also where a count is raised above 0."""
    count = asarray(product(x.shape[axis] for axis in normal_axes(axes, x.ndim)), i64)
    return ew.where(count == 0, asarray(math.nan, variance.dtype), variance)


@entry("aten.var.dim")
def var_dim(
    call: Call, x: Tensor, dim: Axes | None, unbiased: bool = True, keepdim: bool = False
) -> Tensor:
    return red.var(x, _axes(dim), keepdim, int(unbiased))


@entry("aten.var_mean.correction")
def var_mean(call: Call, x: Tensor, dim: Axes | None = None, **named: Any) -> tuple[Tensor, Tensor]:
    return var(call, x, dim, **named), red.mean(x, _axes(dim), named.get("keepdim", False))


@entry("aten.linalg_vector_norm.default")
def vector_norm(
    call: Call,
    x: Tensor,
    ord: float = 2,
    dim: Axes | None = None,
    keepdim: bool = False,
    **_: Any,
) -> Tensor:
    """The root of order `ord` of the sum of powers; infinite orders ask for the extremes."""
    return call.operand(_norm(call, widened(ew.abs(call.operand(x))), ord, _axes(dim), keepdim))


def _norm(call: Call, size: Tensor, ord: float, axes: Axes | None, keepdim: bool) -> Tensor:
    if math.isinf(ord):
        require_elements(call, size, axes)
        return (red.max if ord > 0 else red.min)(size, axes, keepdim)
    if ord == 0:
        return red.sum(cast_to(size != 0, size.dtype), axes, keepdim)
    if ord == 1:
        return red.sum(size, axes, keepdim)
    if ord == 2:
        return sqrt(red.sum(size * size, axes, keepdim))
    return red.sum(size**ord, axes, keepdim) ** (1 / ord)


MOST_NUMBERS = 1 << 20
"""Bins of a number each, up to which floats place every number in its own."""


def _is_number_each(bins: int, min: float, max: float) -> bool:
    """Whether each integer from `min` to `max` has a bin of its own, by torch's arithmetic too."""
    whole = float(min).is_integer() and float(max).is_integer()
    return whole and max - min == bins - 1 and 1 < bins <= MOST_NUMBERS and abs(min) < MOST_NUMBERS


def _integers_of(x: Tensor) -> Tensor | None:
    """The i64 numbers that a float tensor was cast from."""
    tracer = active()
    node = tracer.value(x).node
    is_cast = node.op is cast and node.operands[0].tensor.dtype == i64
    return tracer.tensor(node.operands[0]) if is_cast else None


@entry("aten.histc.default")
def histc(call: Call, x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of equal bins; those outside are not counted. Equal bounds
    stand for the range of the elements, or for one to either side of the only one."""
    whole = _integers_of(x)
    if whole is not None and _is_number_each(bins, min, max):
        hit = whole.reshape(-1, 1) == arange(bins) + int(min)
        return red.sum(cast_to(hit, call.dtype), 0)
    numbers = call.operand(x).reshape(-1)
    low, high = as_dtype(min, call.dtype), as_dtype(max, call.dtype)
    if min == max:
        active().require(numbers.shape[0] >= 1, "histc takes its range from elements")
        low, high = red.min(numbers), red.max(numbers)
        is_one = low == high
        low, high = ew.where(is_one, low - 1, low), ew.where(is_one, high + 1, high)
    return counted_in_range(numbers, bins, low, high)
