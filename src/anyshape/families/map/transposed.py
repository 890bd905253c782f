"""Transposing maps, in blocks.

A map whose result is contiguous along one index and an operand along another would read that
operand one element per cache line. In blocks, a square of it is read line by line, transposed on
its way into scratch, and used from there:

    tile = x[columns of the block, rows of the block], transposed
    for i < rows of the block
      for j < columns of the block       a vector loop
        y[row + i, column + j] = f(tile[i, j], …)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshape.loop import Bind, Buffer, Copy, For, Let, Load, Matrix, Span, Statement
from anyshape.loop.merge import Space, step_of
from anyshape.loop.printer import row_major
from anyshape.loop.rewrite import substitute
from anyshape.lower.tasks import INNER, STRIP, Work, one_each
from anyshape.sym import Dim, Symbol, ceildiv, minimum

NARROWEST = 4
"""Bytes of an element from which on a square of vectors fits the registers."""

ROW_BLOCK, ROW = Symbol("p"), Symbol("i")


@dataclass(frozen=True, slots=True)
class Turned:
    """A load that is contiguous along the rows of a block, and where in the body it stands."""

    position: int
    let: Let
    source: Buffer
    offset: Dim

    def matrix(self, space: Space, row: Symbol, first: Mapping[Symbol, Dim]) -> Matrix:
        """A block of it, given the first row and column of the block."""
        spans, rest = list[Span](), self.offset
        for index, extent in sorted(space.indices, key=lambda pair: pair[0] not in first):
            step = step_of(rest, index)
            if step is None or step == 0:
                continue
            down, right = (Dim.of(int(index == other)) for other in (row, space.indices[-1][0]))
            spans.append(Span(extent, step, first.get(index, Dim.of(index)), down, right))
            rest = rest.substitute({index: Dim.of(0)})
        return Matrix(self.source, tuple(spans), rest)


def transposed_work(space: Space, block: tuple[int, int]) -> Work | None:
    """The work of a map in blocks of so many rows and columns; None if nothing is transposed."""
    if len(space.indices) < 2 or any(isinstance(s, Bind) for s in space.body):
        return None
    for row in reversed(space.indices[:-1]):
        turned = _turned(space.body, row[0], space.indices[-1][0])
        if turned:
            return _blocks(space, row, turned, block)
    return None


def _turned(body: Sequence[Statement], row: Symbol, column: Symbol) -> list[Turned]:
    found: list[Turned] = []
    for position, statement in enumerate(body):
        match statement:
            case Let(_, Load(buffer, (offset,))) if buffer.dtype.itemsize >= NARROWEST:
                step = step_of(offset, column)
                if step is None or step in (0, 1) or row in step.symbols:
                    continue
                if step_of(offset, row) == 1:
                    found.append(Turned(position, statement, buffer, offset))
            case _:
                pass
    return found


def _blocks(
    space: Space, row: tuple[Symbol, Dim], turned: Sequence[Turned], block: tuple[int, int]
) -> Work:
    column = space.indices[-1]
    height, width = block
    first = Dim.of(ROW_BLOCK) * height, Dim.of(STRIP) * width
    rows, columns = minimum(height, row[1] - first[0]), minimum(width, column[1] - first[1])
    tiles = tuple(_tile(number, load.source, block) for number, load in enumerate(turned))
    body = list(space.body)
    for tile, load in zip(tiles, turned, strict=True):
        body[load.position] = Let(load.let.local, Load(tile, (Dim.of(ROW), Dim.of(INNER))))
    places = {row[0]: first[0] + Dim.of(ROW), column[0]: first[1] + Dim.of(INNER)}
    inner = For(INNER, columns, substitute(body, places), vector=True)
    starts = dict(zip((row[0], column[0]), first, strict=True))
    copies = tuple(
        Copy(tile, x.matrix(space, row[0], starts), rows, columns)
        for tile, x in zip(tiles, turned, strict=True)
    )
    outer = [pair for pair in space.indices[:-1] if pair != row]
    # Columns of the result are rows of what is read: threads read what they most likely wrote.
    blocks = (STRIP, ceildiv(column[1], width)), (ROW_BLOCK, ceildiv(row[1], height))
    work = one_each((*outer, *blocks), (*copies, For(ROW, rows, (inner,))))
    return Work(work.tasks, work.body, tiles)


def _tile(number: int, source: Buffer, block: tuple[int, int]) -> Buffer:
    shape = Dim.of(block[0]), Dim.of(block[1])
    return Buffer(f"tile{number}", source.dtype, shape, row_major(shape))
