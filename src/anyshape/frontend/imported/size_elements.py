"""Numbers that sizes decide, and arrays of them.

An element knows what it was computed from, so that only what a size really depends on is required
of a call: not the elements of a shape that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from anyshape.base.errors import DimError
from anyshape.frontend.builder.tracer import Tracer
from anyshape.ir.types import DType
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One element of a tensor: a dim, or a truth value that facts decide."""

    number: Dim | bool
    dtype: DType
    parents: tuple[Element, ...] = ()
    divisor: Dim | None = None  # which must not be 0


Elements = np.ndarray[Any, np.dtype[np.object_]]
"""An array of `Element`s, with None for each that depends on data."""

Known = Sequence[Element | None]
"""The operands of one element of a result."""

Rule = Callable[[Tracer, DType, Known], Element | None]
"""One element of a result of this dtype, by the facts of a tracer's region."""


def as_dim(element: Element) -> Dim:
    """The number; truth is 1."""
    return Dim.of(int(element.number)) if isinstance(element.number, bool) else element.number


def array_of(elements: Iterable[Element | None], shape: Sequence[int]) -> Elements:
    """An array of elements in row-major order."""
    array = np.empty(tuple(shape), object)
    for position, element in enumerate(elements):
        array.flat[position] = element
    return array


def flat(elements: Elements) -> list[Element | None]:
    """The elements in row-major order."""
    return cast(list[Element | None], elements.ravel().tolist())


def known_only(elements: Known) -> tuple[Element, ...]:
    return tuple(element for element in elements if element is not None)


def mapped(rule: Rule, tracer: Tracer, dtype: DType, operands: Sequence[Elements]) -> Elements:
    """A rule on each broadcast position."""
    wide = np.broadcast_arrays(*operands)
    rows = zip(*(flat(array) for array in wide), strict=True)
    return array_of((applied(rule, tracer, dtype, row) for row in rows), wide[0].shape)


def applied(rule: Rule, tracer: Tracer, dtype: DType, operands: Known) -> Element | None:
    """A rule on one position; a dim that is too large to write down is unknown."""
    try:
        return rule(tracer, dtype, operands)
    except DimError:
        return None
