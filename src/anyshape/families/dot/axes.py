"""The axes of a product inside loops: their indices, and several of them seen as one.

Buffers are seen with the rows as one axis, and the columns and the depth as another, wherever every
access to them allows it: an index is then in bounds because a row or a column is, which needs no
arithmetic on products of sizes to prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from anyshape.families.dot.match import MatmulMatch
from anyshape.loop import Buffer, Statement
from anyshape.loop.ir import Index
from anyshape.loop.rewrite import Access, accesses, map_statement, plain_dims
from anyshape.lower.movement import delinear
from anyshape.sym import Dim, Symbol

Body = tuple[Statement, ...]
Extents = dict[Symbol, Dim]


@dataclass(frozen=True, slots=True)
class ProductAxes:
    """The index of each axis with its extent, by role."""

    batch: Extents
    rows: Extents
    columns: Extents
    depth: Extents

    @staticmethod
    def of(form: MatmulMatch) -> ProductAxes:
        shape = form.result_shape
        roles = (form.batch_axes, form.row_axes, form.column_axes)
        outer = ({Symbol(f"i{axis}"): shape[axis] for axis in axes} for axes in roles)
        sizes = (form.rows.view.shape[axis] for axis in form.rows.depth)
        depth = {Symbol(f"k{number}"): size for number, size in enumerate(sizes)}
        return ProductAxes(*outer, depth=depth)

    @property
    def of_result(self) -> tuple[Symbol, ...]:
        """Those of the dot's result, in its order."""
        return tuple(sorted(self.batch | self.rows | self.columns, key=_number))

    def places(self, batch: Sequence[Dim], row: Dim, column: Dim, depth: Dim) -> dict[Symbol, Dim]:
        """The value of each index, given the position along rows, columns and depth."""
        found = dict(zip(self.batch, batch, strict=True))
        roles = (self.rows, self.columns, self.depth)
        for extents, position in zip(roles, (row, column, depth), strict=True):
            found |= dict(zip(extents, delinear(tuple(extents.values()), position), strict=True))
        return found


def _number(symbol: Symbol) -> int:
    return int(str(symbol)[1:])


def merged_axes(body: Body, axes: ProductAxes) -> tuple[Body, ProductAxes]:
    """The body with as few indices as its accesses allow, and the indices that are left."""
    body, rows = _merged(body, axes.rows)
    body, columns = _merged(body, axes.columns)
    body, depth = _merged(body, axes.depth)
    return body, ProductAxes(axes.batch, rows, columns, depth)


def _merged(body: Body, extents: Extents) -> tuple[Body, Extents]:
    left = dict(extents)
    for outer, inner in reversed(list(pairwise(extents))):
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
