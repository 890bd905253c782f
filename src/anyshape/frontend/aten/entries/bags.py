"""Rows of a table combined by bags, and distances between rows."""

from __future__ import annotations

import math
from typing import Any

from anyshape.frontend.aten.calls import Call, NoEntryError, entry
from anyshape.frontend.aten.value_checks import check_indices
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder.convert import ArrayLike, as_index, cast_to
from anyshape.frontend.builder.functions import sqrt
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, gather
from anyshape.frontend.builder.search import searchsorted
from anyshape.frontend.builder.source import full, iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.sym import Dim

SUM, MEAN, MAX = range(3)


@entry(
    "aten.embedding_bag.default", "aten.embedding_bag.padding_idx", "aten._embedding_bag.default",
    "aten._embedding_bag_forward_only.default",
)  # fmt: skip
def embedding_bag(
    call: Call,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> list[Tensor | None]:
    """The rows of each bag, which begins at an offset, as one. What else torch gives is for
    gradients."""
    if indices.ndim != 1 or _uses_more(call):
        raise NoEntryError
    check_indices(call, indices, weight.shape[0], 0)
    padding = -1 if padding_idx is None else padding_idx
    rows = gather(weight, as_index(indices), 0)
    if per_sample_weights is not None:
        rows = rows * expand_dims(per_sample_weights, 1)
    starts = offsets[:-1] if include_last_offset else offsets
    number = cast_to(iota((indices.shape[0],), 0), starts.dtype)
    bag = searchsorted(starts, number, right=True) - 1
    bag = ew.where(as_index(indices) == padding, -1, bag) if padding >= 0 else bag
    return [_combined(rows, bag, starts.shape[0], mode), None, None, None]


def _combined(rows: Tensor, bag: Tensor, count: Dim, mode: int) -> Tensor:
    """By bag; a row of bag -1 is in none."""
    shape = (count, *rows.shape[1:])
    begin = full(shape, rows.dtype.lowest if mode == MAX else 0, rows.dtype)
    combine = "max" if mode == MAX else "add"
    total = active().emit("scatter", begin, bag, rows, axis=0, combine=combine)
    if mode == SUM:
        return total
    one = broadcast_to(full((), 1, rows.dtype), bag.shape)
    none = full((count,), 0, rows.dtype)
    members = active().emit("scatter", none, bag, one, axis=0, combine="add")
    members = expand_dims(members, 1)
    if mode == MEAN:
        return total / ew.maximum(members, 1)
    return ew.where(members > 0, total, 0)


def _uses_more(call: Call) -> bool:
    """Whether any result but the first is used."""
    return any(user.args[1] != 0 and user.users for user in call.node.users)


# --- distances ------------------------------------------------------------------------------------


@entry("aten.cdist.default", "aten._cdist_forward.default")
def cdist(call: Call, x: Tensor, y: Tensor, p: float = 2.0, *_: Any, **__: Any) -> Tensor:
    """Between all rows of both."""
    difference = ew.abs(expand_dims(x, -2) - expand_dims(y, -3))
    if p == 0:
        return cast_to(red.sum(difference != 0, axis=-1), call.dtype)
    if p == 1:
        return red.sum(difference, axis=-1)
    if p == 2:
        return sqrt(red.sum(ew.square(difference), axis=-1))
    if math.isinf(p):
        active().require(x.shape[-1] >= 1, "the greatest distance is along one of the axes")
        return red.max(difference, axis=-1)
    return ew.power(red.sum(ew.power(difference, p), axis=-1), 1 / p)


@entry("aten.renorm.default")
def renorm(call: Call, x: Tensor, p: float, dim: int, maxnorm: ArrayLike) -> Tensor:
    """Slices along an axis made shorter where their norm is too large."""
    if p <= 0 or math.isinf(p):
        raise NoEntryError
    axis = dim % x.ndim
    others = tuple(each for each in range(x.ndim) if each != axis)
    total = red.sum(ew.power(ew.abs(x), p), axis=others, keepdims=True)
    norm = ew.power(total, 1 / p)
    most = call.operand(maxnorm)  # of a size it is an f64
    return x * ew.where(norm > most, most / (norm + 1e-7), 1)
