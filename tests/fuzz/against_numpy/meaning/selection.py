"""What ordering, selecting and putting elements mean, in NumPy.

Where elements go depends on their exact values, so these need operands without error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import EPS, NUMPY, Array, NoMeaning, is_float, wide
from tests.fuzz.against_numpy.meaning.operands import Operand, as_dtype, floating, strong, together
from tests.fuzz.against_numpy.meaning.reductions import accumulator, rerounded
from tests.fuzz.against_numpy.noise import Noisy, cast, exact, sum_noise


def known(x: Operand) -> Noisy:
    operand = strong(x)
    if operand.error.any():
        raise NoMeaning("an order that rounding decides")
    return operand


def integers(array: Array) -> Noisy:
    return exact(np.asarray(array, np.int64))


# --- order ----------------------------------------------------------------------------------------


def places(x: Noisy, axis: int, descending: bool) -> Array:
    """Equal elements keep their order either way; NaN is the greatest."""
    if not descending:
        return np.argsort(x.value, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x.value, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def argsort(x: Operand, axis: int = -1, descending: bool = False) -> Noisy:
    return integers(places(known(x), axis, descending))


def sort(x: Operand, axis: int = -1, descending: bool = False) -> Noisy:
    operand = known(x)
    order = places(operand, axis, descending)
    return operand.moved(lambda array: np.take_along_axis(array, order, axis))


def topk(x: Operand, k: int, axis: int = -1, largest: bool = True) -> tuple[Noisy, Noisy]:
    operand = known(x)
    if k > operand.shape[axis]:
        raise NoMeaning("more than there are")
    order = np.take(places(operand, axis, largest), np.arange(k), axis)
    return operand.moved(lambda a: np.take_along_axis(a, order, axis)), integers(order)


def kthvalue(x: Operand, k: int, axis: int = -1) -> Noisy:
    values, _ = topk(x, k, axis, largest=False)
    return values.moved(lambda array: np.take(array, k - 1, axis))


def median(x: Operand, axis: int = -1) -> Noisy:
    """The lesser one of two in the middle; NaN if one is among them."""
    ordered = sort(x, axis)
    if not ordered.shape[axis]:
        raise NoMeaning("none of no elements")
    middle = (ordered.shape[axis] - 1) // 2
    is_nan = np.isnan(np.take(ordered.value, -1, axis).astype(np.longdouble))
    return ordered.moved(
        lambda array: np.where(is_nan, np.take(array, -1, axis), np.take(array, middle, axis))
    )


def mode(x: Operand, axis: int = -1) -> Noisy:
    """The least of those that are there most often."""
    operand = known(x)
    if not operand.shape[axis] or np.isnan(operand.value.astype(np.longdouble)).any():
        raise NoMeaning("none of no elements, and NaN equals nothing")
    found = np.apply_along_axis(_most_frequent, axis, operand.value)
    return Noisy(operand.dtype, found.astype(operand.value.dtype), np.zeros(found.shape))


def _most_frequent(line: Array) -> Array:
    values, counts = np.unique(line, return_counts=True)
    return values[np.argmax(counts)]


# --- places among sorted elements -----------------------------------------------------------------


def searchsorted(x: Operand, ordered: Operand, right: bool = False) -> Noisy:
    numbers, line = (known(each) for each in together(x, ordered))
    return integers(np.searchsorted(line.value, numbers.value, "right" if right else "left"))


def isin(x: Operand, tests: Operand) -> Noisy:
    elements, others = (known(each) for each in together(x, tests))
    return exact(np.isin(elements.value, others.value))


def histc(x: Operand, bins: int, low: int, high: int) -> Noisy:
    """Of bins whose bounds are exact. Places are computed in the element type, as torch does, so
    numbers next to a bound may be counted on its other side."""
    operand = known(floating(x)[0])
    with np.errstate(all="ignore"):
        inside = operand.value[(operand.value >= low) & (operand.value <= high)]
        places = (inside - low) / (high - low) * bins
    near = np.abs(places - np.rint(places)) <= 2 * EPS[operand.dtype] * bins
    if (near & (places != np.rint(places))).any():
        raise NoMeaning("rounding decides about a place")
    counts, _ = np.histogram(inside, bins, (low, high))
    return cast(exact(counts.astype(np.float64)), operand.dtype)


# --- places that integers say ---------------------------------------------------------------------


def take_along(x: Operand, indices: Operand, axis: int = -1) -> Noisy:
    index = known(indices).value.astype(np.int64)
    return strong(x).moved(lambda array: np.take_along_axis(array, index, axis))


def scatter(x: Operand, index: Operand, source: Operand, dim: int) -> Noisy:
    """Of indices that name no place twice."""
    operand, positions = strong(x), known(index).value.astype(np.int64)
    in_order = np.sort(positions, axis=dim)
    if (np.diff(in_order, axis=dim) == 0).any():
        raise NoMeaning("two elements for one place")
    updates = as_dtype(source, operand.dtype)
    value, error = operand.value.copy(), operand.error.copy()
    np.put_along_axis(value, positions, updates.value, dim)
    np.put_along_axis(error, positions, updates.error, dim)
    return Noisy(operand.dtype, value, error)


def scatter_add(x: Operand, index: Operand, source: Operand, dim: int) -> Noisy:
    operand, positions = strong(x), known(index).value.astype(np.int64)
    updates = as_dtype(source, operand.dtype)
    axes = list(np.indices(positions.shape, sparse=True))
    axes[dim % operand.ndim] = positions
    where = tuple(np.broadcast_to(axis, positions.shape) for axis in axes)
    return added(operand, where, updates)


def added(x: Noisy, where: tuple[Array, ...], updates: Noisy) -> Noisy:
    """Sums are made in f32 where elements are narrower, and rounded once."""
    value, error = x.value.copy(), x.error.copy()
    with np.errstate(all="ignore"):
        np.add.at(value, where, updates.value)
        np.add.at(error, where, updates.error)
        if not is_float(x.dtype):
            return Noisy(x.dtype, value, error)
        magnitude = np.abs(x.value).astype(np.float64)
        np.add.at(magnitude, where, np.abs(updates.value).astype(np.float64))
        error = error + sum_noise(magnitude, updates.size + 1, x.dtype)
    error = np.where(np.isfinite(magnitude), error, np.inf)
    return cast(rerounded(Noisy(wide(x.dtype), value, error)), x.dtype)


# --- elements that data choose --------------------------------------------------------------------


def compress(condition: Operand, x: Operand, axis: int | None = None) -> Noisy:
    flags = known(condition).value != 0
    operand = strong(x)
    if flags.shape != (operand.size if axis is None else operand.shape[axis],):
        raise NoMeaning("a condition of another size")
    return operand.moved(lambda array: np.compress(flags, array, axis))


def masked_select(x: Operand, mask: Operand) -> Noisy:
    flags = known(mask).value != 0
    operand = strong(x)
    shape = np.broadcast_shapes(flags.shape, operand.shape)
    chosen = np.broadcast_to(flags, shape)
    return operand.moved(lambda array: np.broadcast_to(array, shape)[chosen])


def unique(x: Operand) -> tuple[Noisy, ...]:
    operand = known(x)
    values, *others = np.unique(operand.value, True, True, True)
    return Noisy(operand.dtype, values, np.zeros(values.shape)), *map(integers, others)


def bincount(x: Operand, minlength: int = 0) -> Noisy:
    return integers(np.bincount(known(x).value.astype(np.int64), minlength=minlength))


def weighted_bincount(x: Operand, weights: Operand) -> Noisy:
    index, given = known(x).value.astype(np.int64), strong(weights)
    terms = cast(given, accumulator(given.dtype))
    size = int(index.max(initial=-1)) + 1
    kind = np.longdouble if is_float(terms.dtype) else NUMPY[terms.dtype]
    zeros = Noisy(terms.dtype, np.zeros(size, kind), np.zeros(size))
    return added(zeros, (index,), terms)


def repeat_interleave(x: Operand, repeats: Operand, axis: int | None = None) -> Noisy:
    times = known(repeats).value.astype(np.int64)
    return strong(x).moved(lambda array: np.repeat(array, times, axis))


SELECTIONS: dict[str, Callable[..., Noisy | tuple[Noisy, ...]]] = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "kthvalue": kthvalue,
    "median": median,
    "mode": mode,
    "searchsorted": searchsorted,
    "isin": isin,
    "histc": histc,
    "take_along": take_along,
    "scatter": scatter,
    "scatter_add": scatter_add,
    "compress": compress,
    "masked_select": masked_select,
    "unique": unique,
    "bincount": bincount,
    "weighted_bincount": weighted_bincount,
    "repeat_interleave": repeat_interleave,
}
