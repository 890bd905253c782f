"""Sorted elements, and where they were. NaN is greater than any number; equal elements keep their
order. An axis may be given as `axis` or as `dim`, as torch calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.frontend.builder.assemble import cut
from anyshape.frontend.builder.axes import Size, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.elementwise import isnan, logical_or, maximum, where
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, gather, squeeze
from anyshape.frontend.builder.reduce import argmax, sum
from anyshape.frontend.builder.scatter import take_along
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import i64
from anyshape.sym import Dim

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


class TopK(NamedTuple):
    """The greatest or least elements, and where they were."""

    values: Tensor
    indices: Tensor


def sort(
    x: ArrayLike, axis: int = -1, descending: bool = False, *, dim: int | None = None
) -> Tensor:
    """The elements along an axis in order."""
    return _sorted(x, axis if dim is None else dim, descending)[0]


def argsort(
    x: ArrayLike, axis: int = -1, descending: bool = False, *, dim: int | None = None
) -> Tensor:
    """Where the elements of a sorted axis were."""
    return _sorted(x, axis if dim is None else dim, descending)[1]


def _sorted(x: ArrayLike, axis: int, descending: bool) -> tuple[Tensor, ...]:
    operand = asarray(x)
    place = normal_axis(axis, operand.ndim)
    return active().emit_all("sort", operand, axis=place, descending=descending)


def topk(
    x: ArrayLike, k: Size, axis: int = -1, largest: bool = True, *, dim: int | None = None
) -> TopK:
    """The `k` greatest elements along an axis in order, or the least, and where they were."""
    operand = asarray(x)
    place = normal_axis(axis if dim is None else dim, operand.ndim)
    count = active().dim(k)
    return TopK(*active().emit_all("topk", operand, axis=place, k=count, largest=largest))


def kthvalue(x: ArrayLike, k: Size, axis: int = -1) -> TopK:
    """The `k`-th least element along an axis, counted from 1, and where it was."""
    operand = asarray(x)
    place = normal_axis(axis, operand.ndim)
    least = topk(operand, k, place, largest=False)
    last = active().dim(k) - 1
    return TopK(*(_at(each, place, last) for each in least))


def median(x: ArrayLike, axis: int = -1, *, ignore_nan: bool = False) -> TopK:
    """torch's median: the lesser one of two in the middle, and where it was. A NaN is the median of
    all that are beside it, unless it is ignored."""
    operand = asarray(x)
    place = normal_axis(axis, operand.ndim)
    active().require(operand.shape[place] >= 1, "a median is one of the elements of an axis")
    ordered = active().emit_all("sort", operand, axis=place)
    size = operand.shape[place]
    middle = asarray((size - 1) // 2, i64)
    if operand.dtype.is_float:
        unknown = sum(isnan(operand), axis=place, keepdims=True)
        if ignore_nan:
            middle = maximum(size - 1 - unknown, 0) // 2
        else:
            middle = where(unknown > 0, size - unknown, middle)
    shape = tuple(Dim.of(1) if at == place else size for at, size in enumerate(operand.shape))
    index = broadcast_to(middle, shape)
    return TopK(*(squeeze(take_along(each, index, place), place) for each in ordered))


def mode(x: ArrayLike, axis: int = -1) -> TopK:
    """The least of the elements that occur most often, and where one of them is."""
    operand = asarray(x)
    place = normal_axis(axis, operand.ndim)
    size = operand.shape[place]
    active().require(size >= 1, "a mode is one of the elements of an axis")
    values, places = active().emit_all("sort", operand, axis=place)
    number = iota(values.shape, place)
    before = gather(values, maximum(iota((size,), 0) - 1, 0), place)
    begins = logical_or(number == 0, values != before)
    first = active().emit("cummax", where(begins, number, 0), axis=place)
    longest = expand_dims(argmax(number - first, axis=place), place)
    return TopK(*(squeeze(take_along(each, longest, place), place) for each in (values, places)))


def _at(x: Tensor, axis: int, index: Dim) -> Tensor:
    return squeeze(cut(x, axis, index, index + 1), axis)
