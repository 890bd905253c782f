"""Numbers for inputs, and arrays that hold them in odd places of memory."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np
from tests.fuzz.against_numpy.dtypes import INTEGERS as INTEGER_TYPES
from tests.fuzz.against_numpy.dtypes import NUMPY, Array, NoMeaning, is_float, limits
from tests.fuzz.against_numpy.program import Input, Program, Sizes, size_of

MOST_ELEMENTS = 6_000

FILLS = ("grid", "normal", "wild", "zeros")
"""Multiples of 1/4; normal numbers; extremes with infinities and NaN; zeros. Beside these there
are `index:n` (indices of an axis of that size), `position:n` (not negative), `offsets:n`
(ascending positions) and `mask`."""


def values_of(given: Input, sizes: Sizes, seed: int) -> Array:
    """The numbers of an input at a binding, dense."""
    shape = given.concrete(sizes)
    if math.prod(shape) > MOST_ELEMENTS:
        raise NoMeaning("too large")
    key = f"{seed} {given.name} {sorted(sizes.items())}"
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    kind, _, limit = given.fill.partition(":")
    dtype = NUMPY[given.dtype]
    with np.errstate(all="ignore"):
        if limit:
            array = _indices(kind, rng, shape, size_of(limit, sizes), given.dtype)
        elif given.dtype == "bool":
            array = rng.random(shape) < 0.6
        elif is_float(given.dtype):
            array = FLOATS[kind](rng, shape, given.dtype)
        else:
            array = INTEGERS[kind](rng, shape, given.dtype)
        array = np.asarray(array).astype(dtype)
    if given.layout == "broadcast" and shape and shape[0]:
        array = np.ascontiguousarray(np.broadcast_to(array[:1], shape))
    return array


def _indices(
    kind: str, rng: np.random.Generator, shape: tuple[int, ...], size: int, dtype: str
) -> Array:
    if dtype not in INTEGER_TYPES:
        raise NoMeaning("indices are integers")
    low, high = limits(dtype)
    high = min(high, size - 1 if kind != "offsets" else size)
    low = max(low, -size) if kind == "index" else 0
    if high < low and np.prod(shape):
        raise NoMeaning("an index into nothing")
    array = rng.integers(low, max(high, low) + 1, shape)
    return np.sort(array, axis=-1) if kind == "offsets" else array


Draw = Callable[[np.random.Generator, tuple[int, ...], str], Array]

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-3, 50.0, -88.0, 300.0)


def _wild(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    special = rng.choice(SPECIAL, shape)
    return np.where(rng.random(shape) < 0.25, special, rng.normal(0, 30, shape))


def _wild_integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    low, high = limits(dtype)
    return rng.integers(low, high, shape, NUMPY[dtype], endpoint=True)


def _small_integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    return rng.integers(0 if dtype[0] == "u" else -5, 10, shape)


FLOATS: dict[str, Draw] = {
    "grid": lambda rng, shape, _: rng.integers(-16, 17, shape) / 4,
    "normal": lambda rng, shape, _: rng.normal(0, 1.5, shape),
    "wild": _wild,
    "zeros": lambda _, shape, __: np.zeros(shape),
}
INTEGERS: dict[str, Draw] = {
    "grid": _small_integers,
    "normal": _small_integers,
    "wild": _wild_integers,
    "zeros": lambda _, shape, __: np.zeros(shape),
}


# --- memory ---------------------------------------------------------------------------------------


def _strided(array: Array) -> Array:
    """Every second element of a larger array, along each axis."""
    large = np.zeros(tuple(2 * n + 1 for n in array.shape), array.dtype)
    view = large[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def _backwards(array: Array) -> Array:
    every = tuple(slice(None, None, -1) for _ in array.shape)
    return np.ascontiguousarray(array[every])[every]


def _repeated(array: Array) -> Array:
    """Stride 0 along the first axis, whose slices are equal (see `values_of`)."""
    if not array.shape[0]:
        return array
    return np.lib.stride_tricks.as_strided(array[:1], array.shape, (0, *array.strides[1:]))


def _misaligned(array: Array) -> Array:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _read_only(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _rows_apart(array: Array) -> Array:
    """A column block of a wider array: rows are dense but not neighbours."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    view = wide[..., 1 : array.shape[-1] + 1]
    view[...] = array
    return view


def _permuted(array: Array) -> Array:
    order = tuple(np.roll(range(array.ndim), 1))
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "dense": lambda array: array.copy(),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "backwards": _backwards,
    "broadcast": _repeated,
    "misaligned": _misaligned,
    "read_only": _read_only,
    "rows_apart": _rows_apart,
    "permuted": _permuted,
}


def arrays_of(program: Program, sizes: Sizes) -> dict[str, Array]:
    """The numbers of all inputs, dense."""
    return {given.name: values_of(given, sizes, program.seed) for given in program.inputs}


def laid_out(program: Program, arrays: dict[str, Array]) -> dict[str, Array]:
    """Fresh arrays with these numbers, each in its layout."""
    return {given.name: _laid(arrays[given.name], given.layout) for given in program.inputs}


def _laid(array: Array, layout: str) -> Array:
    return LAYOUTS[layout](array) if array.ndim else array.copy()
