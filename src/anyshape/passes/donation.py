"""What callers give up, and how arrays lie in memory because of it.

An *order* lists the axes of an array as they lie in memory, outermost first: axis i of the compiled
graph is axis order[i] of the caller's array. Arrays that grow in place have one, and images that
callers have with channels last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

T = TypeVar("T")
Order = tuple[int, ...]


def _none() -> Mapping[int, Order]:
    return {}


@dataclass(frozen=True)
class Donation:
    """The inputs whose memory may be written, and orders by position among inputs and results."""

    inputs: frozenset[int] = frozenset()
    input_orders: Mapping[int, Order] = field(default_factory=_none)
    result_orders: Mapping[int, Order] = field(default_factory=_none)

    def as_in_memory(self, number: int, sizes: Sequence[T]) -> tuple[T, ...]:
        """The sizes of an input, in the order of the compiled graph."""
        order = self.input_orders.get(number)
        return tuple(sizes) if order is None else tuple(sizes[axis] for axis in order)

    def as_given(self, number: int, sizes: Sequence[T]) -> tuple[T, ...]:
        """The reverse: the sizes of an input of the compiled graph, as the caller sees them."""
        order = self.input_orders.get(number)
        if order is None:
            return tuple(sizes)
        return tuple(sizes[order.index(axis)] for axis in range(len(order)))


NOTHING_DONATED: Final = Donation()
