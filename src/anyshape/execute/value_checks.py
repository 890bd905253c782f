"""What the checks of a graph have found, as the error that ends the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anyshape.base.errors import (
    AnyshapeError,
    IndexRangeError,
    ModelAssertionError,
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
    if check.kind == "divisor":
        return ZeroDivisorError(check.op, position, check.location)
    if check.kind == "unit":
        return UnitRangeError(check.op, position, check.location)
    if check.kind == "count":  # of 3 elements, the last has index 2
        element, size = element - 1, size - 1
    return IndexRangeError(
        check.op, element, size, check.axis, position, check.from_end, check.location
    )


def _position(check: ValueCheck, flat: int, sizes: Mapping[Symbol, int]) -> tuple[int, ...]:
    """An index for each axis; into all elements in a row, where their sizes depend on data."""
    if not all(dim.symbols <= sizes.keys() for dim in check.shape):
        return (flat,)
    shape = tuple(dim.evaluate(sizes) for dim in check.shape)
    return tuple(int(index) for index in np.unravel_index(flat, shape))
