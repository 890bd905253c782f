"""Tiles of the rows of a chain, and whether level 2 takes it: integers, chosen by cost.

What differs between members one after the other and the chain is what comes from beyond a thread's
own cache. Apart, a product reads its rows for each panel of weights, all rows for one panel before
the next panel (0010): that many times, unless the rows of a thread stay in its cache. In a chain
all weights are read for each tile, unless they stay there. The rest costs the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from anyshape.analysis.row_slices import has_rows, is_whole
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import Shape
from anyshape.lower.tiling import Caches
from anyshape.ops.source import ConstantAttrs
from anyshape.plan.costs import PICOSECOND, MachineCosts
from anyshape.plan.schedule_tables import StepRow
from anyshape.sym import Axis, Dim, Symbol, ceildiv, maximum, minimum, product, total

LEAST_TILE: Final = 96
"""Rows for which weights are worth reading again: a block of a product."""

MOST_TILE: Final = 384

MOST_WEIGHTS: Final = 8 << 20
"""Bytes of weights that every worker reads for each tile: more would not stay in the last cache."""

LONGEST_TILE: Final = 10 * 10**9
"""Picoseconds. A tile is a task, which is never broken off."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Rows, tiles of them and the choice, in sizes of the graph; `costs` are those of the members
    one after the other, and of the chain."""

    lead: Shape
    rows: Dim
    tile: Dim
    count: Dim
    alone: Dim  # picoseconds on one thread
    costs: tuple[Dim, Dim]

    @property
    def last(self) -> Dim:
        """The rows of the last tile."""
        return self.rows - (self.count - 1) * self.tile

    def is_taken(self, sizes: Mapping[Symbol, int]) -> bool:
        """Whether level 2 takes the chain at a binding."""
        apart, together = (cost.evaluate(sizes) for cost in self.costs)
        return together < apart

    def of_rows(self, rows: Dim) -> dict[Symbol, Dim]:
        """The sizes of a binding with so many rows."""
        return sizes_of_rows(self.lead, rows)


def sizes_of_rows(lead: Shape, rows: Dim) -> dict[Symbol, Dim]:
    """A binding with so many rows: all along the last axis of the lead."""
    *others, last = (next(iter(dim.symbols)) for dim in lead)
    return {**dict.fromkeys(others, Dim.of(1)), last: rows}


# --- what members take for each row ---------------------------------------------------------------


@dataclass
class RowWork:
    """What the members of a chain take: bytes of weights, picoseconds for each row, and how often
    rows of so many bytes are read while weights go by."""

    weights: int = 0
    row_cost: int = 0
    reads: Counter[int] = field(default_factory=Counter[int])

    def add(self, row: StepRow, lead: Shape) -> None:
        self.weights += weight_bytes(row, lead)
        self.row_cost += _row_cost(row, lead) or 0
        for value in row.node.operands:
            if has_rows(value.type, lead):
                self.reads[row_bytes(value, lead).constant or 0] += _panels(row)

    def objection(self, row: StepRow, lead: Shape) -> Refusal | None:
        """Why a step had better not join."""
        if self.weights + weight_bytes(row, lead) > MOST_WEIGHTS:
            return too_heavy()
        cost = _row_cost(row, lead)
        if cost is None or not all(_is_of_one_size(v, lead) for v in values_of(row.node)):
            return Refusal("what a row costs depends on sizes")
        if (self.row_cost + cost) * LEAST_TILE > LONGEST_TILE:
            return Refusal("a tile would take too long")
        return None

    def tiles(
        self, _: Sequence[Value], members: int, lead: Shape, axis: Axis, costs: MachineCosts
    ) -> Tiles | Refusal:
        return tiles_of(self, members, lead, axis, costs)


def too_heavy() -> Refusal:
    return Refusal(f"weights of the chain would have over {MOST_WEIGHTS} bytes")


def values_of(node: Node) -> tuple[Value, ...]:
    return *node.operands, *node.results


def row_bytes(value: Value, lead: Shape) -> Dim:
    """Of one row of a value."""
    tensor = value.tensor
    return product(tensor.shape[len(lead) :]) * tensor.dtype.itemsize


def _is_of_one_size(value: Value, lead: Shape) -> bool:
    return not has_rows(value.type, lead) or row_bytes(value, lead).is_constant


def _bytes(value: Value) -> int:
    """Of a value without rows."""
    return (value.tensor.size.constant or 0) * value.tensor.dtype.itemsize


def weight_bytes(row: StepRow, lead: Shape) -> int:
    return sum(_bytes(value) for value in row.node.operands if is_whole(value.type, lead))


def _panels(row: StepRow) -> int:
    """How often a kernel goes through all its rows: once, unless panels are too large to be read
    for each block of rows."""
    return max((panels for size, panels in _packed(row) if size > Caches().panels), default=1)


def _packed(row: StepRow) -> Iterator[tuple[int, int]]:
    """Bytes and panels of each packed operand."""
    for index, packing in row.kernel.lowered.packed.items():
        value = row.node.operands[index]
        yield _bytes(value), packing.shape(value.node.attrs_as(ConstantAttrs).value.shape)[1]


def _row_cost(row: StepRow, lead: Shape) -> int | None:
    """Picoseconds on one thread, as a part of those of a tile."""
    (way,) = row.costed.variants
    sizes = sizes_of_rows(lead, Dim.of(LEAST_TILE))
    cost = way.alone.substitute(dict(row.costed.sizes)).substitute(sizes).constant
    return None if cost is None else -(-cost // LEAST_TILE)


# --- numbers of level 2 ---------------------------------------------------------------------------


def tiles_of(
    work: RowWork, members: int, lead: Shape, axis: Axis, costs: MachineCosts
) -> Tiles | Refusal:
    """Tiles of equal size, as many for each thread. `axis` is the last one of the lead.

    They are no multiples of a register tile's rows: one that is not full costs less than threads
    that are done before the others.
    """
    wanted = _wanted(work, axis, costs)
    if wanted < LEAST_TILE:
        return Refusal(f"a tile would have {wanted} rows, fewer than {LEAST_TILE}")
    rows, threads = product(lead), costs.threads
    parts = maximum(1, threads * ceildiv(rows, threads * wanted))
    tile = maximum(1, ceildiv(ceildiv(rows, parts), axis.multiple_of)) * axis.multiple_of
    count = ceildiv(rows, tile)
    own = ceildiv(count, threads)  # tiles of the thread that has the most
    apart = (rows * work.row_cost + _read_again(work, rows, costs)) // threads
    fixed = members * costs.step // PICOSECOND + _weights_again(work, costs)
    together = minimum(rows, own * tile) * work.row_cost + own * fixed
    return Tiles(lead, rows, tile, count, rows * work.row_cost, (apart, together))


def _wanted(work: RowWork, axis: Axis, costs: MachineCosts) -> int:
    """As many rows as stay in a thread's cache beside weights, within limits."""
    most = min(MOST_TILE, LONGEST_TILE // max(1, work.row_cost), axis.max or MOST_TILE)
    fitting = costs.cache_bytes * 3 // 4 // max(1, *work.reads)
    return min(most, max(LEAST_TILE, fitting)) // axis.multiple_of * axis.multiple_of


def _read_again(work: RowWork, rows: Dim, costs: MachineCosts) -> Dim:
    """Picoseconds for rows that do not stay in the caches of all threads."""
    caches = costs.cache_bytes * costs.threads
    again = (maximum(0, rows * size - caches) * often for size, often in work.reads.items())
    return total(again) * beyond(costs) // PICOSECOND


def _weights_again(work: RowWork, costs: MachineCosts) -> int:
    """Picoseconds for the weights of one tile."""
    return max(0, work.weights - costs.cache_bytes) * beyond(costs) // PICOSECOND


def beyond(costs: MachineCosts) -> int:
    """Femtoseconds by which a byte from beyond a cache takes longer."""
    return max(0, costs.memory_byte - costs.cached_byte)
