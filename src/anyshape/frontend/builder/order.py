"""Sorted elements, and where they were. NaN is greater than any number; equal elements keep their
order. An axis may be given as `axis` or as `dim`, as torch calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.frontend.builder.axes import Size, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.tracer import active

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
