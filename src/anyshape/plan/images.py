"""Tiles of images: a worker takes one image after the other through convolutions.

An image is a row of many places, so that a few of them, or one, are a tile, however large images
are at a binding. Members that follow each other hand on whole images; apart, all images of a call
go from step to step, and what does not stay in the caches of all threads is written to memory and
read again. A tile has as many images as stay in a thread's cache, and one at least.

Everything here is a dim: sizes of images are known at level 2 alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from anyshape.ir.node import Value
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape
from anyshape.lower.effort import Effort, region_effort
from anyshape.plan.costs import PICOSECOND, MachineCosts
from anyshape.plan.schedule_tables import StepRow
from anyshape.plan.tiles import (
    LONGEST_TILE,
    MOST_WEIGHTS,
    Tiles,
    beyond,
    row_bytes,
    sizes_of_rows,
    too_heavy,
    weight_bytes,
)
from anyshape.sym import Axis, Dim, ceildiv, maximum, minimum, total

TOO_LONG = 1000
"""By how much a tile that takes too long is said to take longer: no chain has one."""

UNCOUNTED = 64
"""Of the costs of a chain, one part in so many is added: a gain below that is none."""


@dataclass
class ImageWork:
    """What the members of a chain take: bytes of weights, and the effort for one image."""

    weights: int = 0
    effort: Effort = field(default_factory=Effort)

    def add(self, row: StepRow, lead: Shape) -> None:
        self.weights += weight_bytes(row, lead)
        self.effort += _of_one_image(row, lead)

    def objection(self, row: StepRow, lead: Shape) -> Refusal | None:
        """Why a step had better not join."""
        return too_heavy() if self.weights + weight_bytes(row, lead) > MOST_WEIGHTS else None

    def tiles(
        self,
        between: Sequence[Value],
        members: int,
        lead: Shape,
        axis: Axis,
        costs: MachineCosts,
    ) -> Tiles:
        """Tiles of equally many images, and as many for each thread. `between`: the values that
        members hand on."""
        (rows,), threads = lead, costs.threads
        handed = Counter(row_bytes(value, lead) for value in between)
        parts = maximum(1, threads * ceildiv(rows, threads * _wanted(handed, costs)))
        tile = maximum(1, ceildiv(ceildiv(rows, parts), axis.multiple_of)) * axis.multiple_of
        count = ceildiv(rows, tile)
        own = ceildiv(count, threads)  # tiles of the thread that has the most
        image = _cost(self.effort, costs)
        apart = (
            rows * image + _spilled(handed, rows, costs.cache_bytes * threads, costs)
        ) // threads
        fixed = members * costs.step // PICOSECOND + self._weights_again(costs)
        for_tile = fixed + _spilled(handed, tile, costs.cache_bytes, costs)
        together = minimum(rows, own * tile) * image + own * for_tile
        together += together // UNCOUNTED + maximum(0, tile * image - LONGEST_TILE) * TOO_LONG
        return Tiles(lead, rows, tile, count, rows * image, (apart, together))

    def _weights_again(self, costs: MachineCosts) -> int:
        """Picoseconds for the weights of one tile."""
        return max(0, self.weights - costs.cache_bytes) * beyond(costs) // PICOSECOND


def _of_one_image(row: StepRow, lead: Shape) -> Effort:
    lowered = row.kernel.lowered
    effort = lowered.effort
    if effort is None:
        whole = region_effort(row.node.regions[0], lowered.packed)
    else:
        whole = effort.substitute(dict(lowered.names))
    return whole.substitute(sizes_of_rows(lead, Dim.of(1)))


def _cost(effort: Effort, costs: MachineCosts) -> Dim:
    """Picoseconds on one thread, of what is found in its cache."""
    arithmetic = effort.flops * costs.flop + effort.operations * costs.operation
    return maximum(arithmetic, effort.bytes * costs.cached_byte) // PICOSECOND


def _wanted(handed: Counter[Dim], costs: MachineCosts) -> Dim:
    """As many images as stay in a thread's cache, and one at least."""
    return maximum(1, Dim.of(costs.cache_bytes * 3 // 4) // maximum(1, *handed))


def _spilled(handed: Counter[Dim], rows: Dim, cache: int, costs: MachineCosts) -> Dim:
    """Picoseconds for what is written beyond a cache and read from there."""
    lines = (maximum(0, rows * size - cache) * (2 * often) for size, often in handed.items())
    return total(lines) * beyond(costs) // PICOSECOND
