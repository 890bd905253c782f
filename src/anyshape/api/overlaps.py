"""Inputs that share memory, of a model that writes into one of them.

The captured graph knows inputs, not memory: `a.add_(1); return a + b` reads `b` as it was passed.
In a call `model(t, t)` the two are one, and eager would see what was written. Such a call is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import islice
from sys import modules
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.exceptions import TooHardError
from numpy.lib.array_utils import byte_bounds

from anyshape.base.errors import InputError
from anyshape.execute.tensors import is_torch
from anyshape.ir.types import Array

MOST_WORK = 1000
"""How long NumPy may look for an element that two arrays share, before it counts as found."""


class _Span(NamedTuple):
    """The memory between the first and the last byte of a leaf."""

    start: int
    stop: int
    leaf: int
    array: Array


def refuse_overlaps(names: Sequence[str], leaves: Sequence[Any], written: Set[int]) -> None:
    """InputError if one of the `written` leaves has an element in common with another leaf."""
    for one, other in _neighbours(sorted(_spans(leaves), key=lambda span: span.start)):
        if (one.leaf in written or other.leaf in written) and _overlap(one.array, other.array):
            first, second = sorted((one.leaf, other.leaf), key=lambda leaf: leaf not in written)
            problem = f"shares memory with '{names[second]}', and the model writes into it"
            raise InputError(names[first], problem, f"pass a copy: {names[second]}.clone()")


def _spans(leaves: Sequence[Any]) -> Iterator[_Span]:
    for number, leaf in enumerate(leaves):
        array = _memory(leaf)
        if array is not None and array.size:
            yield _Span(*byte_bounds(array), number, array)


def _memory(leaf: Any) -> Array | None:
    """An array on the memory of a leaf, whatever its elements mean; None for what is no array."""
    if isinstance(leaf, np.ndarray):
        return cast(Array, leaf)
    if not is_torch(leaf):
        return None
    tensor = leaf.detach()
    by_size = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
    name = by_size.get(tensor.element_size())
    return None if name is None else tensor.view(getattr(modules["torch"], name)).numpy()


def _neighbours(spans: Sequence[_Span]) -> Iterator[tuple[_Span, _Span]]:
    """Pairs whose spans have a byte in common; most spans have none."""
    for number, one in enumerate(spans):
        for other in islice(spans, number + 1, None):
            if other.start >= one.stop:
                break
            yield one, other


def _overlap(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, cast(Any, MOST_WORK))  # NumPy's stubs know 0 and -1
    except TooHardError:
        return True
