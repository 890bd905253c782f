"""The largest size of an axis at which a call fits into so much memory: the plan, asked backward.

What a call needs is arithmetic for each size, so the answer is found by halving. A size that fits
only in parts, or with steps that run again, fits: a call within that limit does the same. The need
need not grow from one size to the next, as level 2 may choose another kernel; what holds is that
the answer fits, and that the next size which the model allows does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.base.errors import (
    DimError,
    MemoryLimitError,
    RefusedCaseError,
    ShapeError,
    UncapturedCaseError,
)
from anyshape.execute.executor import Executor
from anyshape.ir.types import LARGEST_SIZE
from anyshape.sym import Axis

FORBIDDEN = (ShapeError, RefusedCaseError, UncapturedCaseError)
"""A `DimError` says that a size is too large for anybody."""

TRIES = 256
"""Sizes side by side that are looked at for one that the facts allow."""


@dataclass(frozen=True, slots=True)
class Largest:
    """Asks an executor for what calls at this size or that need."""

    graph: str
    executor: Executor
    axis: Axis
    others: Mapping[str, int]  # the sizes of the other axes
    limit: int

    def size(self) -> int:
        """Raises MemoryLimitError if not even the least size fits."""
        least, fits = self._least()
        if not fits:
            raise self._refusal(least)
        best = settled = least  # all is known of the sizes up to `settled`
        beyond = LARGEST_SIZE + 1 if self.axis.max is None else self.axis.max + 1
        growing = self.axis.max is None
        while beyond - settled > 1:
            middle = min(2 * settled + 1, beyond - 1) if growing else (settled + beyond) // 2
            size, fits = self._greatest(middle, settled)
            if fits:
                best, settled = size, middle
            elif size == settled:
                settled = middle
            else:
                beyond, growing = size, False
        return best

    def _least(self) -> tuple[int, bool]:
        """The first size that the model takes, and whether it fits."""
        sizes = [size for lo, hi in self.axis.ranges for size in self._upward(lo, hi)]
        for size in sizes:
            if (fits := self._fits(size)) is not None:
                return size, fits
        return sizes[0], False

    def _upward(self, lo: int, hi: int | None) -> range:
        """The first sizes of a range."""
        step = self.axis.multiple_of
        first = -(-lo // step) * step
        last = first + TRIES * step
        return range(first, last if hi is None else min(last, hi + 1), step)

    def _greatest(self, most: int, above: int) -> tuple[int, bool]:
        """The last size up to `most` that the model takes, and whether it fits; `above` if there is
        none between."""
        for lo, hi in reversed(self.axis.ranges):
            for size in self._downward(max(lo, above + 1), most if hi is None else min(most, hi)):
                if (fits := self._fits(size)) is not None:
                    return size, fits
        return above, False

    def _downward(self, lo: int, hi: int) -> range:
        """The last sizes of a range, from its end."""
        step = self.axis.multiple_of
        last = hi - hi % step
        return range(last, max(lo - 1, last - TRIES * step), -step)

    def _fits(self, size: int) -> bool | None:
        """None if the model does not take this size."""
        try:
            need = self.executor.planned_bytes(self._binding(size), self.limit)
        except FORBIDDEN:
            return None
        except DimError:
            return False
        return None if need is None else need <= self.limit

    def _refusal(self, least: int) -> MemoryLimitError:
        """Raises what level 2 says of a size that the model does not take."""
        memory = self.executor.specialize(self._binding(least)).memory()
        parts = {"arena": memory.arena, "results": memory.outputs}
        return MemoryLimitError(self.graph, self._binding(least), parts, self.limit, {})

    def _binding(self, size: int) -> dict[str, int]:
        return {**self.others, self.axis.name: size}
