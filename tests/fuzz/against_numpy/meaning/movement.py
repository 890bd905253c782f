"""What functions that place elements mean, in NumPy: value and error move alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from tests.fuzz.against_numpy.dtypes import NUMPY, NoMeaning, is_float
from tests.fuzz.against_numpy.meaning.operands import Operand, as_dtype, strong, together
from tests.fuzz.against_numpy.noise import Noisy, cast, constant, exact, unknown_like

Sizes = int | tuple[int, ...]


def moving(move: Callable[..., np.ndarray]) -> Callable[..., Noisy]:
    """A NumPy function that only places elements."""
    return lambda x, *args, **options: strong(x).moved(lambda a: move(a, *args, **options))


def reshape(x: Operand, shape: Sizes) -> Noisy:
    return strong(x).moved(lambda a: a.reshape(shape))


def transpose(x: Operand, axes: tuple[int, ...] | None = None) -> Noisy:
    return strong(x).moved(lambda a: np.transpose(a, axes))


def squeeze(x: Operand, axis: Sizes) -> Noisy:
    return strong(x).moved(lambda a: np.squeeze(a, axis))


def index(x: Operand, item: object) -> Noisy:
    """`x[item]`; index tensors may stand in it."""
    items = item if isinstance(item, tuple) else (item,)
    plain = tuple(i.value if isinstance(i, Noisy) else i for i in items)
    if any(isinstance(i, Noisy) and np.isinf(i.error).any() for i in items):
        clamped = tuple(np.zeros_like(p) if isinstance(p, np.ndarray) else p for p in plain)
        return unknown_like(strong(x).moved(lambda a: a[clamped]))
    return strong(x).moved(lambda a: a[plain])


def take(x: Operand, indices: Operand, axis: int | None = None) -> Noisy:
    where_ = strong(indices)
    if np.isinf(where_.error).any():
        zeros = np.zeros_like(where_.value)
        return unknown_like(strong(x).moved(lambda a: np.take(a, zeros, axis)))
    return strong(x).moved(lambda a: np.take(a, where_.value.astype(np.int64), axis))


def gather(x: Operand, indices: Operand, axis: int = 0) -> Noisy:
    if np.any(strong(indices).value < 0):
        raise NoMeaning("gather of a negative index")
    return take(x, indices, axis)


# --- together and apart ---------------------------------------------------------------------------


def concat(*operands: Operand, axis: int = 0) -> Noisy:
    parts = together(*operands)
    value = np.concatenate([part.value for part in parts], axis)
    return Noisy(parts[0].dtype, value, np.concatenate([part.error for part in parts], axis))


def stack(*operands: Operand, axis: int = 0) -> Noisy:
    parts = together(*operands)
    value = np.stack([part.value for part in parts], axis)
    return Noisy(parts[0].dtype, value, np.stack([part.error for part in parts], axis))


def split(x: Operand, sections: int | Sequence[int], axis: int = 0) -> tuple[Noisy, ...]:
    operand = strong(x)
    positions = [0, *_positions(operand.shape[axis], sections), operand.shape[axis]]
    if positions != sorted(positions):
        raise NoMeaning("positions of a split that do not ascend")
    before = (slice(None),) * (axis % operand.ndim)
    spans = [slice(*pair) for pair in pairwise(positions)]
    return tuple(operand.moved(lambda a, s=span: a[(*before, s)]) for span in spans)


def _positions(size: int, sections: int | Sequence[int]) -> list[int]:
    if not isinstance(sections, int):
        return list(sections)
    if size % sections:
        raise NoMeaning("a split into unequal parts")
    return [size // sections * part for part in range(1, sections)]


def pad(x: Operand, value: Operand = 0, *, width: object) -> Noisy:
    operand = strong(x)
    fill = as_dtype(value, operand.dtype)
    padded = np.pad(operand.value, width, constant_values=fill.value)
    return Noisy(operand.dtype, padded, np.pad(operand.error, width, constant_values=fill.error))


def triangle(keep: Callable[..., np.ndarray]) -> Callable[..., Noisy]:
    def meaning(x: Operand, k: int = 0) -> Noisy:
        operand = strong(x)
        mask = keep(np.ones(operand.shape[-2:], bool), k)
        value = np.where(mask, operand.value, np.zeros((), operand.value.dtype))
        return Noisy(operand.dtype, value, np.where(mask, operand.error, 0))

    return meaning


# --- from nothing ---------------------------------------------------------------------------------


def full(shape: Sizes, value: Operand, dtype: str | None = None) -> Noisy:
    item = strong(value) if dtype is None else as_dtype(value, dtype)
    return item.moved(lambda a: np.broadcast_to(a, shape))


def full_like(x: Operand, value: Operand, dtype: str | None = None) -> Noisy:
    operand = strong(x)
    return full(operand.shape, value, dtype or operand.dtype)


def iota(shape: Sizes, axis: int, dtype: str = "i64") -> Noisy:
    sizes = (shape,) if isinstance(shape, int) else shape
    return counted(np.indices(sizes)[axis].astype(np.int64), dtype)


def arange(start: int, stop: int | None = None, step: int = 1, dtype: str = "i64") -> Noisy:
    low, high = (0, start) if stop is None else (start, stop)
    return counted(np.arange(low, high, step, np.int64), dtype)


def counted(numbers: np.ndarray, dtype: str) -> Noisy:
    if not is_float(dtype) and dtype != "bool":
        info = np.iinfo(NUMPY[dtype])
        if numbers.size and not info.min <= numbers.min() <= numbers.max() <= info.max:
            raise NoMeaning("counting beyond the type")
    return cast(exact(numbers), dtype)


def eye(rows: int, columns: int | None = None, dtype: str = "f32") -> Noisy:
    return cast(exact(np.eye(rows, columns, dtype=bool)), dtype)


def one_hot(indices: Operand, classes: int, dtype: str = "f32") -> Noisy:
    places = strong(indices)
    hit = places.value[..., None].astype(np.int64) == np.arange(classes)
    error = np.broadcast_to(places.error[..., None], hit.shape)
    return cast(Noisy("bool", hit, error), dtype)


def asarray(x: Operand, dtype: str | None = None) -> Noisy:
    return strong(x) if dtype is None else as_dtype(x, dtype)


def argwhere(x: Operand) -> Noisy:
    operand = strong(x)
    if operand.error.any():
        raise NoMeaning("a count that rounding decides")
    return exact(np.argwhere(operand.value != 0).astype(np.int64))


def nonzero(x: Operand) -> tuple[Noisy, ...]:
    rows = argwhere(x)
    return tuple(exact(np.ascontiguousarray(column)) for column in rows.value.T)


MOVES: dict[str, Callable[..., Noisy | tuple[Noisy, ...]]] = {
    "reshape": reshape,
    "ravel": moving(np.ravel),
    "transpose": transpose,
    "T": transpose,
    "squeeze": squeeze,
    "expand_dims": moving(np.expand_dims),
    "swapaxes": moving(np.swapaxes),
    "moveaxis": moving(np.moveaxis),
    "matrix_transpose": moving(lambda a: np.swapaxes(a, -1, -2)),
    "broadcast_to": moving(np.broadcast_to),
    "flip": moving(np.flip),
    "repeat": moving(np.repeat),
    "index": index,
    "take": take,
    "gather": gather,
    "concat": concat,
    "stack": stack,
    "split": split,
    "pad": pad,
    "tril": triangle(np.tril),
    "triu": triangle(np.triu),
    "full": full,
    "zeros": lambda shape, dtype="f32": full(shape, 0, dtype),
    "ones": lambda shape, dtype="f32": full(shape, 1, dtype),
    "full_like": full_like,
    "zeros_like": lambda x, dtype=None: full_like(x, 0, dtype),
    "ones_like": lambda x, dtype=None: full_like(x, 1, dtype),
    "iota": iota,
    "arange": arange,
    "eye": eye,
    "one_hot": one_hot,
    "asarray": asarray,
    "argwhere": argwhere,
    "nonzero": nonzero,
    "size_value": lambda size: constant(size, "i64"),
}
