"""Operands of every kind as noisy arrays of one element type."""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

import numpy as np
from tests.fuzz.against_numpy.dtypes import Array, is_float, meet, meet_number, number_dtype
from tests.fuzz.against_numpy.noise import Noisy, cast, constant, exact

Number: TypeAlias = bool | int | float
Operand: TypeAlias = Noisy | Array | Number


def strong(operand: Operand) -> Noisy:
    """An operand by itself."""
    if isinstance(operand, Noisy):
        return operand
    if isinstance(operand, np.ndarray):
        return exact(operand)
    return constant(operand, number_dtype(operand))


def common_dtype(operands: tuple[Operand, ...]) -> str:
    arrays = [strong(x).dtype for x in operands if isinstance(x, (Noisy, np.ndarray))]
    numbers = [x for x in operands if not isinstance(x, (Noisy, np.ndarray))]
    dtype = reduce(meet, arrays) if arrays else number_dtype(numbers[0])
    return reduce(meet_number, numbers, dtype)


def as_dtype(operand: Operand, dtype: str) -> Noisy:
    if isinstance(operand, (Noisy, np.ndarray)):
        return cast(strong(operand), dtype)
    return constant(operand, dtype)


def together(*operands: Operand) -> list[Noisy]:
    """All in the type in which they meet."""
    dtype = common_dtype(operands)
    return [as_dtype(operand, dtype) for operand in operands]


def floating(*operands: Operand) -> list[Noisy]:
    """All in a float type; integers are f32."""
    dtype = common_dtype(operands)
    return [as_dtype(operand, dtype if is_float(dtype) else "f32") for operand in operands]


def normal_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    return tuple(a % rank for a in ((axis,) if isinstance(axis, int) else axis))
