"""What the checks of a graph are about, for the errors that they end a call with.

The checks themselves are nodes (`ops/checks.py`). Of a graph that has any, the last result is the
*offence* that they found; it belongs to whoever runs the graph, and is no result for the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anyshape.base.location import Location
from anyshape.ir.types import Shape

CheckKind = Literal[
    "index", "count", "divisor", "unit", "assertion", "offsets", "same_offsets", "empty"
]
"""Indices along an axis, how many of its first elements are taken, whether a divisor is 0, whether
an element is not from 0 to 1, whether what the model asserts does not hold. Of a ragged axis,
whether offsets do not ascend from 0 to its size, are not those of another input, or whether a
sequence is empty whose first row is asked for."""


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """One check: the framework's op, its line in the model, and what its elements are."""

    kind: CheckKind
    op: str
    location: Location | None
    shape: Shape  # of the elements that are checked
    axis: int = 0  # that indices go along
    from_end: bool = False  # whether indices below 0 count from the end
