"""What a call gave against what NumPy says it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.fuzz.against_numpy.dtypes import NUMPY, SMALLEST, Array, is_float
from tests.fuzz.against_numpy.noise import Noisy

SLACK = 1.5
"""By how much an error may exceed its bound: bounds are of first order."""


@dataclass
class Compared:
    """How many elements were compared, and how many rounding decides."""

    elements: int = 0
    unknown: int = 0


def difference(actual: Array, expected: Noisy, tally: Compared) -> str | None:
    """What is wrong, in one line."""
    if actual.dtype != NUMPY[expected.dtype]:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    known = ~np.isinf(expected.error)
    tally.elements += expected.size
    tally.unknown += expected.size - int(known.sum())
    wrong = known & ~_close(actual, expected)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    bound = f" ± {expected.error[at]:.3g}" if expected.error[at] else ""
    return (
        f"{int(wrong.sum())} of {expected.size} elements, first at {list(at)}: "
        f"{actual[at]}, expected {_number(expected, at)}{bound}"
    )


def _number(expected: Noisy, at: tuple[int, ...]) -> str:
    value = expected.value[at]
    return f"{float(value):.9g}" if is_float(expected.dtype) else str(value)


def _close(actual: Array, expected: Noisy) -> Array:
    if not is_float(expected.dtype):
        return actual == expected.value
    found = actual.astype(np.longdouble)
    with np.errstate(all="ignore"):
        room = SLACK * np.where(np.isinf(expected.error), 0, expected.error)
        room = np.where(room > 0, room + SMALLEST[expected.dtype], 0)
        near = np.abs(found - expected.value) <= room
    return near | (found == expected.value) | (np.isnan(found) & np.isnan(expected.value))
