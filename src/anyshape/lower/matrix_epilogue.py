"""What follows a product: loops over one register tile that store what becomes of each sum.

Buffers are seen with the rows as one axis and the columns as another wherever every access to them
allows it: an index is then in bounds because a row or a column is, which needs no arithmetic on
products of sizes to prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from anyshape.ir.node import Region
from anyshape.ir.types import Shape
from anyshape.loop import Buffer, For, Statement, Store
from anyshape.loop.ir import Index
from anyshape.loop.rewrite import Access, accesses, map_statement, plain_dims
from anyshape.lower.context import Level, Lowering
from anyshape.lower.matrix_form import MatrixForm
from anyshape.lower.matrix_plan import COLUMN, ROW, SUMS
from anyshape.lower.movement import delinear
from anyshape.sym import Dim, Facts, FactScope, Symbol

Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class TilePlace:
    """Which part of the product a register tile holds."""

    sums: Buffer
    batch: tuple[Dim, ...]
    first_row: Dim
    rows: Dim
    first_column: Dim
    columns: Dim


@dataclass(frozen=True, slots=True)
class Epilogue:
    """Loops over a tile, and the buffers they access, as they see them."""

    loops: Body
    views: Mapping[str, Buffer]


def epilogue(
    region: Region,
    form: MatrixForm,
    tile: TilePlace,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    facts: Facts,
) -> Epilogue:
    shape = form.dot.result().tensor.shape
    indices = tuple(Symbol(f"i{axis}") for axis in range(len(shape)))
    body = _stores(region, form, tile, inputs, outputs, facts, indices)
    groups = form.row_axes, form.column_axes
    places = dict(zip((indices[axis] for axis in form.batch_axes), tile.batch, strict=True))
    flat = tile.first_row + Dim.of(ROW), tile.first_column + Dim.of(COLUMN)
    for axes, index in zip(groups, flat, strict=True):
        body, left = _merged(body, [indices[axis] for axis in axes], [shape[axis] for axis in axes])
        index_of = delinear(tuple(left.values()), index)
        places |= dict(zip(left, index_of, strict=True))
    body = _placed(body, places, tile)
    loop = For(ROW, tile.rows, (For(COLUMN, tile.columns, body, vector=True),))
    views = {buffer.name: buffer for buffer, _ in accesses(body) if buffer.name != SUMS}
    return Epilogue((loop,), views)


def _stores(
    region: Region, form: MatrixForm, tile: TilePlace, inputs: Sequence[Buffer],
    outputs: Sequence[Buffer], facts: Facts, indices: tuple[Symbol, ...],
) -> Body:  # fmt: skip
    """Straight-line code for the element of the product at `indices`."""
    dot = form.dot.result()
    # Every element of the product is the one at the index where it is asked for: strides of 0 keep
    # that index out of the way until it is known which tile it lies in.
    nowhere = Buffer(SUMS, tile.sums.dtype, dot.tensor.shape, (Dim.of(0),) * dot.tensor.rank)
    low = Lowering(region, inputs, FactScope.of(facts), {dot: nowhere})
    level = Level(set(indices))
    low.levels.append(level)
    places = [tuple(Dim.of(indices[axis]) for axis in order) for order in form.orders]
    values = [low.at(v, place) for v, place in zip(region.results, places, strict=True)]
    stores = [Store(*store) for store in zip(outputs, places, values, strict=True)]
    return (*low.levels[0].body, *level.body, *stores)


def _placed(body: Body, places: Mapping[Symbol, Dim], tile: TilePlace) -> Body:
    """The body in terms of tile, row and column."""

    def access(buffer: Buffer, index: Index) -> Access:
        if buffer.name == SUMS:
            return tile.sums, (Dim.of(ROW), Dim.of(COLUMN))
        return buffer, tuple(dim.substitute(places) for dim in index)

    return tuple(map_statement(statement, places, access) for statement in body)


# --- several axes as one --------------------------------------------------------------------------


def _merged(
    body: Body, symbols: Sequence[Symbol], extents: Shape | list[Dim]
) -> tuple[Body, dict[Symbol, Dim]]:
    """The body with as few indices as its accesses allow, and those with their extents."""
    left = dict(zip(symbols, extents, strict=True))
    for outer, inner in reversed(list(pairwise(symbols))):
        places = _places_of_pair(body, outer, inner, left)
        if places is not None:
            body = tuple(map_statement(s, {}, _Merge(outer, inner, places).access) for s in body)
            left = {s: n * left[inner] if s is outer else n for s, n in left.items()}
            del left[inner]
    return body, left


@dataclass(frozen=True, slots=True)
class _Merge:
    """Two axes of some buffers become one, and the outer index stands for both."""

    outer: Symbol
    inner: Symbol
    places: Mapping[str, int]  # by name: the first of the two axes

    def access(self, buffer: Buffer, index: Index) -> Access:
        at = self.places.get(buffer.name)
        if at is None:
            return buffer, index
        shape = (
            *buffer.shape[:at],
            buffer.shape[at] * buffer.shape[at + 1],
            *buffer.shape[at + 2 :],
        )
        strides = (*buffer.strides[:at], *buffer.strides[at + 1 :])
        return replace(buffer, shape=shape, strides=strides), (*index[: at + 1], *index[at + 2 :])


def _places_of_pair(
    body: Body, outer: Symbol, inner: Symbol, extents: Mapping[Symbol, Dim]
) -> dict[str, int] | None:
    """Where in each buffer the two indices stand side by side; None if that is not all they do."""
    pair = {outer, inner}
    if any(pair & dim.symbols for dim in plain_dims(body)):
        return None
    found: dict[str, int | None] = {}
    for buffer, index in accesses(body):
        if buffer.name == SUMS:
            continue
        at = next((axis for axis, dim in enumerate(index) if dim.symbol is outer), None)
        used = [axis for axis, dim in enumerate(index) if pair & dim.symbols]
        if used and (
            at is None or not _is_pair(buffer, index, at, inner, extents) or len(used) > 2
        ):
            return None
        if found.setdefault(buffer.name, at) != at:
            return None
    return {name: at for name, at in found.items() if at is not None}


def _is_pair(
    buffer: Buffer, index: Index, at: int, inner: Symbol, extents: Mapping[Symbol, Dim]
) -> bool:
    following = index[at + 1 : at + 2]
    return (
        bool(following) and following[0].symbol is inner and buffer.shape[at + 1] == extents[inner]
    )
