"""Arrays that know how far rounding may have moved each element.

`value` is what exact arithmetic gives (long doubles for floats, the element type itself for
integers), `error` a bound for the distance of any honest computation in the element type. An
infinite error marks an element that is not known: a comparison too close to call, a cast of a
number out of range. Such elements are not compared.

The bound of an elementwise function is found by moving its operands by their errors; that also
finds jumps. What is exact stays exact: a result that the element type can hold, of operands
without error, has none. So programs over a coarse grid can be compared after sorting, comparing
and rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.fuzz.against_numpy.dtypes import (
    EPS,
    LARGEST,
    NAMES,
    NARROW,
    NUMPY,
    SMALLEST,
    Array,
    NoMeaning,
    is_float,
    limits,
    quantized,
    wide,
)

FUNCTION_ULPS = 4
"""How many units in the last place exp, tanh and their like may be off."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """An array with an error bound for each element."""

    dtype: str
    value: Array
    error: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def mT(self) -> Noisy:  # noqa: N802 - as users write it
        return self.moved(lambda a: np.swapaxes(a, -1, -2))

    def moved(self, move: Callable[[Array], Array]) -> Noisy:
        """The same elements elsewhere."""
        return Noisy(self.dtype, move(self.value), move(self.error))


def exact(array: Array) -> Noisy:
    """An array as the caller gives it."""
    dtype = NAMES[array.dtype]
    value = array.astype(np.longdouble) if is_float(dtype) else array
    return Noisy(dtype, value, np.zeros(array.shape))


def constant(number: bool | int | float, dtype: str) -> Noisy:
    if is_float(dtype):
        return rounded(dtype, np.asarray(number, np.longdouble), np.zeros(()))
    low, high = (0, 1) if dtype == "bool" else limits(dtype)
    if not low <= number <= high:
        raise NoMeaning(f"{number} does not fit {dtype}")
    return exact(np.asarray(number, NUMPY[dtype]))


def rounded(dtype: str, value: Array, error: Array, ulps: float = 1, keeps: bool = True) -> Noisy:
    """The result of an operation with its rounding. One that `keeps` exact results has no error
    where the element type holds the result and the operands had none."""
    with np.errstate(all="ignore"):
        ulp = EPS[dtype] * np.abs(value).astype(np.float64) + SMALLEST[dtype]
        noise = ulp if dtype in NARROW else ulps * ulp
        if keeps:
            noise = np.where((error == 0) & (quantized(value, dtype) == value), 0, noise)
        total = np.where(np.isfinite(value), error + noise, error)
        total = np.where(np.isnan(total), np.inf, total)
        over = np.isfinite(value) & (np.abs(value) + total > LARGEST[dtype])
        surely = np.abs(value) - total > LARGEST[dtype] * (1 + EPS[dtype])
        value = np.where(over & surely, np.copysign(np.inf, value), value)
        total = np.where(over, np.where(surely, 0, np.inf), total)
    return Noisy(dtype, np.asarray(value), np.asarray(total))


def unknown_like(x: Noisy) -> Noisy:
    return Noisy(x.dtype, x.value, np.full(x.shape, np.inf))


def broadcast(*operands: Noisy) -> list[Noisy]:
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    return [operand.moved(lambda array: np.broadcast_to(array, shape)) for operand in operands]


def mapped(
    function: Callable[..., Array],
    *operands: Noisy,
    dtype: str | None = None,
    ulps: float = 1,
    keeps: bool = True,
) -> Noisy:
    """An elementwise function of operands of one type; the result has `dtype`."""
    operands = tuple(broadcast(*operands))
    result = dtype or operands[0].dtype
    values = [operand.value for operand in operands]
    with np.errstate(all="ignore"):
        value = np.asarray(function(*values))
        error = _spread(function, operands, value, jumps=not is_float(result))
    if is_float(result):
        return rounded(result, value.astype(np.longdouble), error, ulps, keeps)
    return Noisy(result, value.astype(NUMPY[result]), error)


def _spread(
    function: Callable[..., Array], operands: tuple[Noisy, ...], value: Array, jumps: bool
) -> Array:
    """How far the value moves when operands move by their errors."""
    error = np.zeros(value.shape)
    values = [operand.value for operand in operands]
    for index, operand in enumerate(operands):
        if not operand.error.any():
            continue
        unknown = np.isinf(operand.error)
        if is_float(operand.dtype):
            step = np.where(unknown, 0, operand.error)
            ends = [
                np.asarray(function(*values[:index], moved, *values[index + 1 :]))
                for moved in (operand.value + step, operand.value - step)
            ]
            error = error + np.maximum(*(_distance(value, end, jumps, step) for end in ends))
        error = np.where(unknown, np.inf, error)
    return error


def _distance(value: Array, there: Array, jumps: bool, step: Array) -> Array:
    same = (value == there) | (_is_nan(value) & _is_nan(there))
    if jumps:
        return np.where(same, 0, np.inf)
    distance = np.abs(value.astype(np.longdouble) - there.astype(np.longdouble))
    distance = np.where(np.isnan(distance), np.inf, distance)
    return np.where(same | (step == 0), 0, distance).astype(np.float64)


def _is_nan(value: Array) -> Array:
    return np.isnan(value) if value.dtype.kind == "f" else np.zeros(value.shape, bool)


def compared(function: Callable[..., Array], x: Noisy, y: Noisy) -> Noisy:
    """A comparison. Numbers that may be the same are too close to call, also where both ends of
    what they may be compare alike: 1 - 1e-12 is not 1, and neither is what is 1e-7 on either side.
    """
    result = mapped(function, x, y, dtype="bool")
    if not is_float(x.dtype):
        return result
    x, y = broadcast(x, y)
    with np.errstate(all="ignore"):
        noise = x.error + y.error
        close = (noise > 0) & (np.abs(x.value - y.value) <= noise)
    return Noisy("bool", result.value, np.where(close, np.inf, result.error))


def stepped(function: Callable[[Array], Array], x: Noisy) -> Noisy:
    """A function of floats with jumps (floor, round, sign): exact, or not known."""
    with np.errstate(all="ignore"):
        value = np.asarray(function(x.value))
        error = _spread(function, (x,), value, jumps=True)
    return Noisy(x.dtype, value, error)


def cast(x: Noisy, dtype: str) -> Noisy:
    if x.dtype == dtype:
        return x
    if is_float(dtype):
        return rounded(dtype, x.value.astype(np.longdouble), x.error)
    if dtype == "bool":
        return compared(np.not_equal, x, Noisy(x.dtype, np.zeros_like(x.value), np.zeros(x.shape)))
    if is_float(x.dtype):
        return _truncated(x, dtype)
    return Noisy(dtype, x.value.astype(NUMPY[dtype]), x.error)


def _truncated(x: Noisy, dtype: str) -> Noisy:
    """Towards zero; NaN and what is out of range have no defined result."""
    whole = stepped(np.trunc, x)
    low, high = limits(dtype)
    with np.errstate(all="ignore"):
        inside = (whole.value >= low) & (whole.value <= high)
        value = np.where(inside, whole.value, 0).astype(NUMPY[dtype])
    return Noisy(dtype, value, np.where(inside, whole.error, np.inf))


def widened(x: Noisy) -> Noisy:
    return Noisy(wide(x.dtype), x.value, x.error)


def sum_noise(x_abs_total: Array, terms: int, dtype: str) -> Array:
    """The error of a sum made in blocks or in pairs, of terms with this sum of magnitudes."""
    return min(terms + 1, 20 + np.log2(max(terms, 1))) * EPS[wide(dtype)] * x_abs_total


def coarse(value: Array, step: float) -> bool:
    """Whether all numbers are multiples of `step`."""
    with np.errstate(all="ignore"):
        return bool(np.all(np.isfinite(value)) and np.all(value / step == np.rint(value / step)))


def settled(value: Array, error: Array, inputs_known: Array | bool) -> Array:
    """An infinity or NaN that comes from known operands is a result and no error."""
    return np.where(~np.isfinite(value.astype(np.longdouble)) & inputs_known, 0, error)
