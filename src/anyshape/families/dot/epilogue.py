"""What surrounds a product: loops that compute a part of an operand, and loops that use the sums.

Both are ordinary straight-line code for one element, placed in loops over a part of the product.
They are made together because a buffer that both read must be seen in the same way (`matrix_axes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyshape.families.dot.axes import Body, ProductAxes, merged_axes
from anyshape.families.dot.match import MatmulMatch
from anyshape.families.dot.plan import COLUMN, ROW, SUMS
from anyshape.families.dot.prologue import OperandPlace, operand_element, prologue_loops
from anyshape.ir.node import Region
from anyshape.loop import Buffer, For, Store
from anyshape.loop.ir import Index
from anyshape.loop.rewrite import Access, accesses, map_statement
from anyshape.lower.context import Level, Lowering
from anyshape.sym import Dim, Facts, FactScope

_SUMS_OF_HALVES = SUMS, f"{SUMS}1"
"""Names of the product's elements while it is not known in which tile they are: one for each half
of the columns, where these are taken apart."""


@dataclass(frozen=True, slots=True)
class TilePlace:
    """Which part of the product a register tile holds."""

    sums: Buffer
    batch: tuple[Dim, ...]
    first_row: Dim
    rows: Dim
    first_column: Dim
    columns: Dim
    span: int = 0  # how far apart halves of the columns are


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Loops before the product and over a tile of it, and the buffers they access, as seen."""

    before: Body
    after: Body
    views: Mapping[str, Buffer]


def surroundings(
    region: Region,
    form: MatmulMatch,
    tile: TilePlace,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
    computed: OperandPlace | None = None,
) -> Surroundings:
    axes = ProductAxes.of(form)
    stores = _stores(region, form, axes, tile, inputs, outputs, facts)
    element = operand_element(region, form, axes, inputs, facts, computed) if computed else ()
    both, left = merged_axes((*element, *stores), axes)
    element, stores = both[: len(element)], both[len(element) :]
    before = prologue_loops(element, left, computed, tile.batch) if computed else ()
    after = _epilogue_loops(stores, left, tile)
    own = {*_SUMS_OF_HALVES, *([computed.target.name] if computed else ())}
    views = {b.name: b for b, _ in accesses((*before, *after)) if b.name not in own}
    return Surroundings(before, after, views)


def _stores(
    region: Region, form: MatmulMatch, axes: ProductAxes, tile: TilePlace,
    inputs: Sequence[Buffer], outputs: Sequence[Buffer], facts: Facts,
) -> Body:  # fmt: skip
    """Straight-line code for one element of the product."""
    # Every element of the product is the one at the index where it is asked for: strides of 0 keep
    # that index out of the way until it is known which tile it lies in.
    shape = form.result_shape
    plain = Buffer(SUMS, tile.sums.dtype, shape, (Dim.of(0),) * len(shape))
    named = zip(form.halves or (form.dot,), _SUMS_OF_HALVES, strict=False)
    given = {node.result(): replace(plain, name=name) for node, name in named}
    low = Lowering(region, inputs, FactScope.of(facts), given)
    indices = axes.of_result
    level = Level(set(indices))
    low.levels.append(level)
    places = [tuple(Dim.of(indices[axis]) for axis in order) for order in form.orders]
    values = [low.at(v, place) for v, place in zip(region.results, places, strict=True)]
    stores = [Store(*store) for store in zip(outputs, places, values, strict=True)]
    return (*low.levels[0].body, *level.body, *stores)


def _epilogue_loops(body: Body, axes: ProductAxes, tile: TilePlace) -> Body:
    """The body in terms of tile, row and column."""
    row, column = tile.first_row + Dim.of(ROW), tile.first_column + Dim.of(COLUMN)
    places = axes.places(tile.batch, row, column, Dim.of(0))

    def access(buffer: Buffer, index: Index) -> Access:
        if buffer.name in _SUMS_OF_HALVES:
            half = _SUMS_OF_HALVES.index(buffer.name) * tile.span
            return tile.sums, (Dim.of(ROW), half + Dim.of(COLUMN))
        return buffer, tuple(dim.substitute(places) for dim in index)

    inside = tuple(map_statement(statement, places, access) for statement in body)
    return (For(ROW, tile.rows, (For(COLUMN, tile.columns, inside, vector=True),)),)
