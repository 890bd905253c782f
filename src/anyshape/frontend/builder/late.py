"""Functions whose result size depends on the data: it is a late axis, named by the graph.

A size that data decide is a dim like any other: `x.item()` of an integer, or the first size of what
was selected. Selections by one mask have one number of rows, and sizes show that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from anyshape.frontend.builder.axes import Size, describe, normal_axis
from anyshape.frontend.builder.convert import ArrayLike, as_index, asarray, cast_to
from anyshape.frontend.builder.cumulative import cumsum
from anyshape.frontend.builder.elementwise import as_bool, isnan, logical_and, logical_or, maximum
from anyshape.frontend.builder.elementwise import where as choose
from anyshape.frontend.builder.item import item
from anyshape.frontend.builder.movement import broadcast_to, gather, moveaxis, ravel
from anyshape.frontend.builder.reduce import accumulator, any, max, sum
from anyshape.frontend.builder.source import iota, zeros
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.node import Value
from anyshape.ir.types import i64
from anyshape.sym import Dim, Equal

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


class _Counts(dict[Value, Dim]):
    """How many rows has what a mask selects."""


def _same_count(tracer: Tracer, mask: Tensor, rows: Dim) -> None:
    """Whatever one mask selects has the same number of rows."""
    known = tracer.analysis(_Counts).setdefault(tracer.value(mask), rows)
    if known != rows:
        tracer.require(Equal(rows, known), "both are the rows that one mask selects")


# --- places and selections ------------------------------------------------------------------------


def argwhere(x: ArrayLike) -> Tensor:
    """The index of each element that is not zero, one row each: i64[count, rank]."""
    operand = asarray(x)
    places = active().emit("nonzero", operand)
    _same_count(active(), operand, places.shape[0])
    return places


def nonzero(x: ArrayLike) -> tuple[Tensor, ...]:
    """As `argwhere`, but one index tensor per axis, as NumPy gives it: `x[nonzero(x > 0)]`."""
    operand = asarray(x)
    rows = argwhere(operand)
    return tuple(rows[:, axis] for axis in range(operand.ndim))


def selected(mask: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
    """The rows of each value for which the mask, which has its first axes, holds."""
    tracer = active()
    operands = [tracer.value(tensor) for tensor in (mask, *values)]
    results = tracer.node("compress", operands, NO_ATTRS)
    _same_count(tracer, mask, results[0].shape[0])
    return results


def compress(condition: ArrayLike, x: ArrayLike, axis: int | None = None) -> Tensor:
    """The slices of `x` along `axis`, or elements of the flattened tensor, where a condition of
    one axis holds. It has the size of the axis."""
    flags, operand = as_bool(condition), asarray(x)
    if flags.ndim != 1:
        raise active().refuse(
            f"a condition with shape {describe(flags)} for compress",
            "use a condition of one axis, or x[mask] for a mask of several",
        )
    if axis is None:
        operand, axis = ravel(operand), 0
    place = normal_axis(axis, operand.ndim)
    if place == 0:
        return selected(flags, operand)[0]
    return moveaxis(selected(flags, moveaxis(operand, place, 0))[0], 0, place)


def masked_select(x: ArrayLike, mask: ArrayLike) -> Tensor:
    """The elements where a mask holds, in order; both broadcast together."""
    flags, operand = as_bool(mask), asarray(x)
    shape = active().broadcast("select", [flags.shape, operand.shape])
    return selected(broadcast_to(flags, shape), broadcast_to(operand, shape))[0]


# --- values that occur ----------------------------------------------------------------------------


@overload
def unique(x: ArrayLike, *, equal_nan: bool = True) -> Tensor: ...
@overload
def unique(
    x: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Tensor | tuple[Tensor, ...]: ...
def unique(
    x: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Tensor | tuple[Tensor, ...]:
    """The values that occur in `x`, in order. If asked for, then where each of them occurs first,
    for each element of `x` which of them it is, and how often each occurs."""
    found = occurring(x, in_order=False, equal_nan=equal_nan)
    results = [found.values]
    if return_index:
        results.append(found.first)
    if return_inverse:
        results.append(found.inverse())
    if return_counts:
        results.append(found.counts())
    return results[0] if len(results) == 1 else tuple(results)


@dataclass(frozen=True)
class Occurring:
    """The values that occur in `x`, and where each occurs first; the rest is made when asked for.

    `places` are those of the ordered elements, `new` says which of them are unlike the one before,
    and `start` is where elements with one value begin among them.
    """

    x: Tensor
    values: Tensor
    first: Tensor
    places: Tensor
    new: Tensor
    start: Tensor

    def inverse(self) -> Tensor:
        """For each element of `x`, which of the values it is."""
        number = cumsum(cast_to(self.new, i64), 0) - 1
        blank = zeros(self.x.size, i64)
        return active().emit("scatter", blank, self.places, number, axis=0).reshape(self.x.shape)

    def counts(self) -> Tensor:
        """How often each value occurs: from one start to the next, or to the end."""
        index, last = iota(self.start.shape[0], 0), self.start.shape[0] - 1
        following = gather(self.start, choose(index < last, index + 1, index))
        return choose(index < last, following, self.x.size) - self.start


def occurring(x: ArrayLike, *, in_order: bool, equal_nan: bool) -> Occurring:
    """Of elements that are sorted first, or taken `in_order`: then values that occur again behind
    others are new ones."""
    operand = asarray(x)
    flat = ravel(operand)
    index = iota(flat.size, 0)
    ordered, places = (flat, index) if in_order else active().emit_all("sort", flat, axis=0)
    new = _differs(ordered, equal_nan)
    values, first, start = selected(new, ordered, places, index)
    return Occurring(operand, values, first, places, new, start)


def _differs(ordered: Tensor, equal_nan: bool) -> Tensor:
    """Whether an element is another than the one before it."""
    index = iota(ordered.shape[0], 0)
    before = gather(ordered, maximum(index - 1, 0))
    other = ordered != before
    if equal_nan and ordered.dtype.is_float:
        other = logical_and(other, ~logical_and(isnan(ordered), isnan(before)))
    return logical_or(index == 0, other)


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: Size = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights where it does."""
    index = as_index(x)
    if index.ndim != 1:
        raise active().refuse(f"bincount of {describe(index)}", "use ash.ravel(x)")
    size = choose(any(index < 0), -1, greatest_and_one(index, minlength))  # no size is -1
    return counted(index, weights, size)


def greatest_and_one(index: Tensor, least: Size) -> Tensor:
    return maximum(max(index) + 1, active().dim(least))


def counted(index: Tensor, weights: ArrayLike | None, length: Tensor) -> Tensor:
    """As `bincount`, of integers that were checked."""
    size = item(length)
    added = asarray(1, i64) if weights is None else asarray(weights)
    added = cast_to(added, accumulator(added.dtype))
    updates = broadcast_to(added, index.shape)
    return active().emit("scatter", zeros(size, added.dtype), index, updates, axis=0, combine="add")


# --- repeated -------------------------------------------------------------------------------------


def repeat_interleave(x: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> Tensor:
    """Each slice along `axis`, or element of the flattened tensor, as often as `repeats` says: one
    number for all, or one for each."""
    operand = asarray(x)
    if axis is None:
        operand, axis = ravel(operand), 0
    place = normal_axis(axis, operand.ndim)
    times = broadcast_to(as_index(repeats), (operand.shape[place],))
    return gather(operand, repeated(times), place)


def repeated(times: Tensor) -> Tensor:
    """For each result, the index of what is repeated there."""
    total = choose(any(times < 0), -1, sum(times))  # which no size is
    size = item(total)
    ends = cumsum(times, 0)
    marks = active().emit(
        "scatter", zeros(size + 1, i64), ends, broadcast_to(asarray(1, i64), ends.shape),
        axis=0, combine="add",
    )  # fmt: skip
    return cumsum(marks[:size], 0)
