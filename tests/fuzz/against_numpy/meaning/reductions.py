"""What reductions and cumulative functions mean, in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import (
    EPS,
    LARGEST,
    NUMPY,
    Array,
    NoMeaning,
    is_float,
    limits,
    wide,
)
from tests.fuzz.against_numpy.meaning.elementwise import FUNCTIONS, as_bool, divide, square
from tests.fuzz.against_numpy.meaning.operands import Operand, floating, normal_axes, strong
from tests.fuzz.against_numpy.noise import (
    Noisy,
    cast,
    coarse,
    rounded,
    settled,
    sum_noise,
)

Axis = int | tuple[int, ...] | None


def accumulator(dtype: str) -> str:
    if is_float(dtype):
        return dtype
    return "u64" if dtype[0] == "u" else "i64"


def summed(x: Noisy, axes: tuple[int, ...], keepdims: bool) -> Noisy:
    """The sum of floats, computed in f32 where they are narrower; not rounded to the type yet."""
    options = {"axis": axes, "keepdims": keepdims}
    terms = int(np.prod([x.shape[axis] for axis in axes]))
    with np.errstate(all="ignore"):
        value = np.asarray(x.value.sum(**options), np.longdouble)
        magnitude = np.asarray(np.abs(x.value).sum(**options), np.longdouble)
        spread = np.asarray(x.error.sum(**options))
        whole = not spread.any() and coarse(x.value, 1 / 64)
        exact_ = whole and bool(np.all(magnitude * 64 < 1 / EPS[wide(x.dtype)]))
        noise = 0 if exact_ else sum_noise(magnitude, terms, x.dtype)
        error = settled(value, spread + noise, spread == 0)
        late = np.isfinite(value) & (magnitude > LARGEST[wide(x.dtype)] / 4)
        error = np.where(np.isnan(error) | late, np.inf, error)
    return Noisy(wide(x.dtype), value, np.asarray(error, np.float64))


def sum_(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    operand = strong(x)
    axes = normal_axes(axis, operand.ndim)
    if is_float(operand.dtype):
        return cast(rerounded(summed(operand, axes, keepdims)), operand.dtype)
    return _of_integers(np.add, operand, axes, keepdims)


def rerounded(x: Noisy) -> Noisy:
    return rounded(x.dtype, x.value, x.error)


def _of_integers(ufunc: np.ufunc, x: Noisy, axes: tuple[int, ...], keepdims: bool) -> Noisy:
    dtype = accumulator(x.dtype)
    value = ufunc.reduce(x.value.astype(NUMPY[dtype]), axis=axes, keepdims=keepdims)
    return Noisy(dtype, np.asarray(value, NUMPY[dtype]), _any_unknown(x, axes, keepdims))


def _any_unknown(x: Noisy, axes: tuple[int, ...], keepdims: bool) -> Array:
    unknown = np.isinf(x.error).any(axis=axes, keepdims=keepdims)
    return np.where(unknown, np.inf, 0.0)


def prod(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    operand = strong(x)
    axes = normal_axes(axis, operand.ndim)
    if not is_float(operand.dtype):
        return _of_integers(np.multiply, operand, axes, keepdims)
    options = {"axis": axes, "keepdims": keepdims}
    terms = int(np.prod([operand.shape[a] for a in axes]))
    eps = EPS[wide(operand.dtype)]
    with np.errstate(all="ignore"):
        value = np.asarray(operand.value.prod(**options), np.longdouble)
        size = np.abs(operand.value)
        error = (size + operand.error).prod(**options) * (1 + terms * eps) - size.prod(**options)
        known = ~np.isinf(operand.error).any(**options)
        peak = np.maximum(size, 1).prod(**options)
        low = np.minimum(np.where(size == 0, 1, size), 1).prod(**options)
        error = settled(value, error, known)
        risky = (peak > LARGEST[wide(operand.dtype)]) | (low < 1e-30)
        error = np.where(np.isnan(error) | (risky & ~np.isnan(value)), np.inf, error)
    return cast(rounded(wide(operand.dtype), value, np.asarray(error, float)), operand.dtype)


def extremum(name: str) -> Callable[..., Noisy]:
    """The largest or smallest; over nothing, the neutral element."""
    ufunc = np.maximum if name == "max" else np.minimum

    def meaning(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
        operand = strong(x)
        axes = normal_axes(axis, operand.ndim)
        options = {"axis": axes, "keepdims": keepdims, "initial": neutral(name, operand.dtype)}
        value = np.asarray(ufunc.reduce(operand.value, **options), operand.value.dtype)
        if not is_float(operand.dtype):
            return Noisy(operand.dtype, value, _any_unknown(operand, axes, keepdims))
        return Noisy(operand.dtype, value, _extremum_error(ufunc, operand, value, options))

    return meaning


def _extremum_error(ufunc: np.ufunc, x: Noisy, value: Array, options: dict[str, object]) -> Array:
    with np.errstate(all="ignore"):
        ends = [ufunc.reduce(x.value + s * x.error, **options) for s in (1, -1)]
        error = np.maximum(*(np.where(end == value, 0, np.abs(end - value)) for end in ends))
        known = ~np.isinf(x.error).any(axis=options["axis"], keepdims=options["keepdims"])
        error = settled(value, np.where(known, error, np.inf), known)
    return np.where(np.isnan(error), np.inf, error).astype(np.float64)


def neutral(name: str, dtype: str) -> float | int | bool:
    if dtype == "bool":
        return name == "min"
    if is_float(dtype):
        return -np.inf if name == "max" else np.inf
    return limits(dtype)[0 if name == "max" else 1]


def any_(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    return extremum("max")(as_bool(x), axis, keepdims)


def all_(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    return extremum("min")(as_bool(x), axis, keepdims)


def wide_mean(x: Noisy, axes: tuple[int, ...], keepdims: bool) -> Noisy:
    """The mean in f32 or f64."""
    terms = int(np.prod([x.shape[axis] for axis in axes]))
    total = summed(x, axes, keepdims)
    with np.errstate(all="ignore"):
        value, error = total.value / terms, total.error / terms
    return rounded(total.dtype, value, error, ulps=2, keeps=terms in (1, 2, 4, 8, 16, 32, 64, 128))


def mean(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    operand = floating(x)[0]
    axes = normal_axes(axis, operand.ndim)
    return cast(wide_mean(operand, axes, keepdims), operand.dtype)


def var(x: Operand, axis: Axis = None, keepdims: bool = False, correction: int = 0) -> Noisy:
    operand = floating(x)[0]
    axes = normal_axes(axis, operand.ndim)
    centre = mean(operand, axes, keepdims=True)
    squares = square(FUNCTIONS["subtract"](operand, centre))
    if correction == 0:
        return mean(squares, axes, keepdims)
    terms = int(np.prod([operand.shape[a] for a in axes]))
    if terms <= correction:
        raise NoMeaning("a variance of too few elements")
    return divide(sum_(squares, axes, keepdims), float(terms - correction))


def std(x: Operand, axis: Axis = None, keepdims: bool = False, correction: int = 0) -> Noisy:
    return FUNCTIONS["sqrt"](var(x, axis, keepdims, correction))


def logsumexp(x: Operand, axis: Axis = None, keepdims: bool = False) -> Noisy:
    operand = floating(x)[0]
    axes = normal_axes(axis, operand.ndim)
    top = extremum("max")(operand, axes, True)
    top = FUNCTIONS["where"](FUNCTIONS["isinf"](top), 0.0, top)
    powers = FUNCTIONS["exp"](FUNCTIONS["subtract"](operand, top))
    total = FUNCTIONS["add"](FUNCTIONS["log"](sum_(powers, axes, True)), top)
    return total if keepdims else total.moved(lambda a: a.squeeze(axes))


def arg_extremum(name: str) -> Callable[..., Noisy]:
    """The first of those that are equal; not known where errors could change it."""

    def meaning(x: Operand, axis: int | None = None, keepdims: bool = False) -> Noisy:
        operand = strong(x)
        if axis is None:
            shape = (1,) * operand.ndim if keepdims else ()
            flat = operand.moved(np.ravel)
            return _first(name, flat, 0, False).moved(lambda a: a.reshape(shape))
        return _first(name, operand, axis % operand.ndim, keepdims)

    return meaning


def _first(name: str, x: Noisy, axis: int, keepdims: bool) -> Noisy:
    if x.shape[axis] == 0:
        raise NoMeaning("an arg-reduction of nothing")
    find = np.argmax if name == "argmax" else np.argmin
    index = np.expand_dims(find(x.value, axis=axis), axis)
    error = np.zeros(index.shape)
    if is_float(x.dtype) and x.error.any():
        best = np.take_along_axis(x.value, index, axis)
        noise = np.take_along_axis(x.error, index, axis)
        with np.errstate(all="ignore"):
            near = ~(np.abs(x.value - best) > x.error + noise) & (x.error + noise > 0)
        np.put_along_axis(near, index, False, axis)
        error = np.where(near.any(axis=axis, keepdims=True), np.inf, 0.0)
    error = np.where(np.isinf(x.error).any(axis=axis, keepdims=True), np.inf, error)
    found = Noisy("i64", index.astype(np.int64), error)
    return found if keepdims else found.moved(lambda a: a.squeeze(axis))


# --- cumulative -----------------------------------------------------------------------------------


def cumulative(name: str) -> Callable[..., Noisy]:
    def meaning(
        x: Operand, axis: int | None = None, exclusive: bool = False, reverse: bool = False
    ) -> Noisy:
        operand = strong(x)
        if axis is None:
            operand, axis = operand.moved(np.ravel), 0
        axis %= operand.ndim
        if reverse:
            operand = operand.moved(lambda a: np.flip(a, axis))
        total = _accumulated(name, operand, axis)
        if exclusive:
            total = _moved_on(name, total, axis)
        return total.moved(lambda a: np.flip(a, axis)) if reverse else total

    return meaning


UFUNCS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


def _accumulated(name: str, x: Noisy, axis: int) -> Noisy:
    ufunc = UFUNCS[name]
    if not is_float(x.dtype):
        if x.dtype == "bool" and name in ("cummax", "cummin"):
            raise NoMeaning("cumulative extrema of bools")
        dtype = accumulator(x.dtype) if name in ("cumsum", "cumprod") else x.dtype
        value = ufunc.accumulate(x.value.astype(NUMPY[dtype]), axis=axis, dtype=NUMPY[dtype])
        return Noisy(dtype, value, np.maximum.accumulate(x.error, axis=axis))
    with np.errstate(all="ignore"):
        value = ufunc.accumulate(x.value, axis=axis)
        error = _accumulated_error(name, x, axis, value)
        known = np.maximum.accumulate(x.error, axis=axis) == 0
        error = settled(value, error, known)
        error = np.where(np.isnan(error), np.inf, error).astype(np.float64)
    if name in ("cummax", "cummin"):
        return Noisy(x.dtype, value, error)
    return cast(rounded(wide(x.dtype), value, error), x.dtype)


def _accumulated_error(name: str, x: Noisy, axis: int, value: Array) -> Array:
    eps = EPS[wide(x.dtype)]
    size = np.abs(x.value)
    steps = np.expand_dims(np.arange(2, x.shape[axis] + 2), tuple(range(1, x.ndim - axis)))
    if name == "cumsum":
        magnitude = np.cumsum(size, axis)
        known = not x.error.any() and coarse(x.value, 1 / 64)
        whole = known and bool(np.all(magnitude * 64 < 1 / eps))
        noise = 0 if whole else steps * eps * magnitude
        error = np.cumsum(x.error, axis) + noise
        return np.where(np.isfinite(value) & (magnitude > LARGEST[wide(x.dtype)]), np.inf, error)
    if name == "cumprod":
        grown = np.cumprod(size + x.error, axis) * (1 + steps * eps)
        low = np.cumprod(np.minimum(np.where(size == 0, 1, size), 1), axis)
        peak = np.cumprod(np.maximum(size, 1), axis)
        risky = ((peak > LARGEST[wide(x.dtype)]) | (low < 1e-30)) & ~np.isnan(value)
        return np.where(risky, np.inf, grown - np.cumprod(size, axis))
    ufunc = UFUNCS[name]
    ends = [ufunc.accumulate(x.value + s * x.error, axis=axis) for s in (1, -1)]
    return np.maximum(*(np.where(end == value, 0, np.abs(end - value)) for end in ends))


def _moved_on(name: str, x: Noisy, axis: int) -> Noisy:
    """One further along the axis, beginning with the neutral element."""
    start = {"cumsum": 0, "cumprod": 1}.get(name)
    first = neutral(name[3:], x.dtype) if start is None else start
    parts = [(x.value, first), (x.error, 0)]
    value, error = (np.roll(array, 1, axis) for array, _ in parts)
    if x.shape[axis]:
        at_start = (slice(None),) * axis + (0,)
        value[at_start], error[at_start] = first, 0
    return Noisy(x.dtype, value, error)


FUNCTIONS_OF_AXES: dict[str, Callable[..., Noisy]] = {
    "sum": sum_,
    "prod": prod,
    "max": extremum("max"),
    "min": extremum("min"),
    "any": any_,
    "all": all_,
    "mean": mean,
    "var": var,
    "std": std,
    "logsumexp": logsumexp,
    "argmax": arg_extremum("argmax"),
    "argmin": arg_extremum("argmin"),
    "cumsum": cumulative("cumsum"),
    "cumprod": cumulative("cumprod"),
    "cummax": cumulative("cummax"),
    "cummin": cumulative("cummin"),
}
