"""What follows a convolution: code on the sums of a tile, in memory or in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anyshape.families.conv.plan import (
    BATCH,
    COUNT,
    FIRST,
    FIRST_PLACE,
    FIRST_ROW,
    SLICE,
    ConvPlan,
)
from anyshape.families.dot.axes import Body
from anyshape.families.dot.plan import COLUMN, ROW, SUMS
from anyshape.families.family import Job
from anyshape.ir.node import Node, Value
from anyshape.loop import Buffer, For, Let, Load, Local, Statement, Store
from anyshape.loop.ir import Index
from anyshape.loop.rewrite import Access, accesses, map_statement, substitute
from anyshape.lower.context import Level, Lowering
from anyshape.sym import Dim, FactScope, Symbol


@dataclass(frozen=True, slots=True)
class Epilogue:
    """Straight-line code for one element of a tile, at its row and column, from its sum.

    `views` are the buffers that it accesses, as it sees them.
    """

    body: Body
    views: Mapping[str, Buffer]

    @staticmethod
    def of(plan: ConvPlan, job: Job, line: Dim) -> Epilogue:
        """Of a plan; `line` is the row of the result within the block."""
        element = Dim.of(ROW), Dim.of(COLUMN)
        return Epilogue.at_place(plan.form.conv, job, _place(plan, line), (plan.sums, element))

    @staticmethod
    def at_place(conv: Node, job: Job, place: Index, found: Access) -> Epilogue:
        """For the element of the result at `place`, whose sum is found in scratch."""
        sums = found[0]
        indices = [Symbol(f"i{axis}") for axis in range(len(place))]
        places = dict(zip(indices, place, strict=True))

        def access(buffer: Buffer, index: Index) -> Access:
            if buffer.name == sums.name:
                return found
            return buffer, tuple(dim.substitute(places) for dim in index)

        body = _stores(conv.result(), job, sums, indices)
        inside = tuple(map_statement(statement, places, access) for statement in body)
        views = {b.name: b for b, _ in accesses(inside) if b.name != sums.name}
        return Epilogue(inside, views)

    def loops(self, plan: ConvPlan) -> For:
        """For all elements of a tile whose sums are in memory."""
        return For(ROW, Dim.of(COUNT), (For(COLUMN, plan.columns, self.body, vector=True),))

    def at(self, row: int, total: Local) -> Iterator[Statement]:
        """For one row of a tile, whose sum at this column is in a register."""
        for statement in substitute(self.body, {ROW: Dim.of(row)}):
            match statement:
                case Let(local, Load(buffer, _)) if buffer.name == SUMS:
                    yield Let(local, total)
                case _:
                    yield statement


def _place(plan: ConvPlan, line: Dim) -> Index:
    """Where in the result an element of the tile is."""
    place = Dim.of(FIRST_PLACE) + Dim.of(FIRST) + Dim.of(ROW)
    spatial = Dim.of(SLICE), Dim.of(FIRST_ROW) + line, place
    return Dim.of(BATCH), *plan.spatial(spatial), plan.first_channel + Dim.of(COLUMN)


def _stores(conv: Value, job: Job, sums: Buffer, indices: list[Symbol]) -> Body:
    """Straight-line code for one element. It is the one at the index where it is asked for: strides
    of 0 keep that index out of the way until it is known which tile it lies in."""
    shape = conv.tensor.shape
    given = Buffer(sums.name, sums.dtype, shape, (Dim.of(0),) * len(shape))
    low = Lowering(job.region, job.inputs, FactScope.of(job.facts), {conv: given})
    level = Level(set(indices))
    low.levels.append(level)
    place = tuple(map(Dim.of, indices))
    values = [low.at(value, place) for value in job.region.results]
    stores = [Store(y, place, value) for y, value in zip(job.outputs, values, strict=True)]
    return (*low.levels[0].body, *level.body, *stores)
