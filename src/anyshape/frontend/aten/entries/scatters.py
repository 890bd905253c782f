"""Elements combined with what lies where indices say, in every way that torch has.

Where the old elements do not take part (`include_self=False`), those that are written to begin at
the neutral element; a mean then counts the updates alone. The sum of truths is their disjunction,
and the product their conjunction, as everywhere in torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.value_checks import check_indices
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import ArrayLike, asarray, cast_to
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import broadcast_to
from anyshape.frontend.builder.source import full, zeros
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_, i64
from anyshape.ops.scatter import COMBINE

Combine = Literal["set", "add", "mul", "max", "min"]

_COMBINES: Final[Mapping[str, Combine]] = {
    "add": "add", "multiply": "mul", "sum": "add", "mean": "add", "prod": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
_OF_TRUTHS: Final[Mapping[Combine, Combine]] = {"add": "max", "mul": "min"}


def scatter_along(
    call: Call, x: Tensor, dim: int, indices: Tensor, source: ArrayLike, combine: Combine
) -> Tensor:
    """Each element of the source at its own place, the index along one axis given."""
    combine = _of_dtype(x, combine)
    axis = normal_axis(dim, x.ndim)
    updates = _updates(call.held(source), indices)
    check_indices(call, indices, x.shape[axis], axis)
    return active().emit("scatter_along", x, indices, updates, axis=axis, combine=combine)


def _of_dtype(x: Tensor, combine: Combine) -> Combine:
    is_truth = x.dtype == bool_ and combine in _OF_TRUTHS
    return _OF_TRUTHS[combine] if is_truth else combine


def _updates(source: Tensor, indices: Tensor) -> Tensor:
    """torch reads only as much of a source as there are indices."""
    if source.ndim == 0:
        return broadcast_to(source, indices.shape)
    if source.shape == indices.shape:
        return source
    return getitem(source, tuple(slice(0, size) for size in indices.shape))


@entry("aten.scatter.src", "aten.scatter.value")
def scatter(call: Call, x: Tensor, dim: int, indices: Tensor, source: ArrayLike) -> Tensor:
    return scatter_along(call, x, dim, indices, source, "set")


@entry("aten.scatter_add.default")
def scatter_add(call: Call, x: Tensor, dim: int, indices: Tensor, source: Tensor) -> Tensor:
    return scatter_along(call, x, dim, indices, source, "add")


@entry("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_combined(
    call: Call, x: Tensor, dim: int, indices: Tensor, source: ArrayLike, *, reduce: str
) -> Tensor:
    return scatter_along(call, x, dim, indices, source, _COMBINES[reduce])


@entry("aten.scatter_reduce.two")
def scatter_reduce(
    call: Call,
    x: Tensor,
    dim: int,
    indices: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    combine = _of_dtype(x, _COMBINES[reduce])
    base = x if include_self else _neutral_where_written(call, x, dim, indices, combine)
    found = scatter_along(call, base, dim, indices, source, combine)
    return _divided(call, found, dim, indices, include_self) if reduce == "mean" else found


def _neutral_where_written(
    call: Call, x: Tensor, dim: int, indices: Tensor, combine: Combine
) -> Tensor:
    neutral = asarray(COMBINE[combine].neutral_in(x.dtype), x.dtype)
    axis = normal_axis(dim, x.ndim)
    check_indices(call, indices, x.shape[axis], axis)
    many = broadcast_to(neutral, indices.shape)
    return active().emit("scatter_along", x, indices, many, axis=axis, combine="set")


def _divided(call: Call, total: Tensor, dim: int, indices: Tensor, include_self: bool) -> Tensor:
    """By the number of elements that were added up; integers are rounded down."""
    one = asarray(1, i64)
    begin = full(total.shape, 1, i64) if include_self else zeros(total.shape, i64)
    axis = normal_axis(dim, total.ndim)
    ones = broadcast_to(one, indices.shape)
    counts = active().emit("scatter_along", begin, indices, ones, axis=axis, combine="add")
    number = cast_to(ew.maximum(counts, one), total.dtype)
    return total / number if total.dtype.is_float else ew.floor_divide(total, number)
