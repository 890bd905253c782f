"""What the checks of a graph have found, as the error that ends the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anyshape.base.errors import (
    AnyshapeError,
    IndexRangeError,
    ModelAssertionError,
    OffsetsError,
    UnitRangeError,
    ZeroDivisorError,
)
from anyshape.ir.checks import ValueCheck
from anyshape.ir.types import Array
from anyshape.sym import Symbol


def offence_error(
    checks: Sequence[ValueCheck], offence: Array, sizes: Mapping[Symbol, int]
) -> AnyshapeError:
    """`sizes` are those of the call, as far as they are known without running it."""
    number, flat, element, size = map(int, offence)
    check = checks[number]
    if check.kind == "assertion":
        return ModelAssertionError(check.location)
    position = _position(check, flat, sizes)
    if check.kind in ("offsets", "same_offsets", "empty"):
        return OffsetsError(check.op, _problem(check, flat, sizes))
    if check.kind == "divisor":
        return ZeroDivisorError(check.op, position, check.location)
    if check.kind == "unit":
        return UnitRangeError(check.op, position, check.location)
    if check.kind == "count":  # of 3 elements, the last has index 2
        element, size = element - 1, size - 1
    return IndexRangeError(
        check.op, element, size, check.axis, position, check.from_end, check.location
    )


def _problem(check: ValueCheck, place: int, sizes: Mapping[Symbol, int]) -> str:
    """Of offsets: the first is compared with 0, others with the one before, then the last with the
    size of the axis."""
    if check.kind == "same_offsets":
        return f"offset {place} is not that of the other input with this ragged axis"
    if check.kind == "empty":
        return f"sequence {place} is empty, and its first row is asked for"
    count = check.shape[0].evaluate(sizes)
    if place == 0:
        return "the first offset is not 0"
    if place == count - 1:
        return "the last offset is not the number of rows"
    return f"offset {place} is less than the one before it"


def _position(check: ValueCheck, flat: int, sizes: Mapping[Symbol, int]) -> tuple[int, ...]:
    """An index for each axis; into all elements in a row, where their sizes depend on data."""
    if not all(dim.symbols <= sizes.keys() for dim in check.shape):
        return (flat,)
    shape = tuple(dim.evaluate(sizes) for dim in check.shape)
    return tuple(int(index) for index in np.unravel_index(flat, shape))
