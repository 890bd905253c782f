"""Row kernels: reductions, and what is made of them.

An element of the result depends on some reductions; the indices that these depend on are *kept*,
the others run over a *row*. The kept indices are tasks, and a task reduces its row once:

    softmax, axis 1 of x[n0, n1]     kept i0         row i1       a task for each i0
    sum, axis 0 of x[n0, n1]         kept i1         no row       a task for each strip of i1
    softmax, axis 1 of x[n0, n1, n2] kept i0, i2     row i1       a task for i0 and a strip of i2

A strip is for reductions whose neighbours in memory belong to different rows: its lanes are rows.
What several loops over a row need is computed by the first of them (`loop/reuse.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyshape.loop import Buffer, For, Statement
from anyshape.loop.merge import Space, flattened, merged, step_of
from anyshape.loop.reuse import reuse_costly
from anyshape.loop.rewrite import accesses
from anyshape.lower.context import Level, Lowering
from anyshape.lower.stores import STRIP_WIDTH, stores
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, place_of, strips
from anyshape.sym import Dim, Symbol


def kept_indices(probe: Lowering, indices: Indices) -> frozenset[Symbol]:
    """The indices of the results that some reduction depends on, found by lowering once."""
    symbols = frozenset(index for index, _ in indices)
    probe.levels.append(Level(set(symbols)))
    for result in probe.region.results:
        probe.at(result, place_of(indices))
    return symbols & frozenset[Symbol]().union(*probe.reduced)


Arrangement = Callable[[Indices, Sequence[Statement], Sequence[Statement]], Work]
"""Tasks for rows at these indices: what is in front of the loops over a row, and these."""


def row_by_row(outer: Indices, start: Sequence[Statement], rows: Sequence[Statement]) -> Work:
    """A task for each of them."""
    kept_values = reuse_costly((*start, *rows))
    work = one_each(outer, kept_values.body)
    return replace(work, scratch=kept_values.scratch)


def row_work(
    low: Lowering,
    outputs: Sequence[Buffer],
    indices: Indices,
    kept: frozenset[Symbol],
    arrangement: Arrangement = row_by_row,
) -> Work:
    """Reductions in front of a loop over the row, in a task for each row or strip of rows."""
    outer = tuple(pair for pair in indices if pair[0] in kept)
    row = tuple(pair for pair in indices if pair[0] not in kept)
    last = outer[-1:] if outer[-1:] == indices[-1:] else ()
    outer = outer[: len(outer) - len(last)]
    levels = [Level({index for index, _ in part}) for part in (outer, last, row)]
    low.levels += levels
    levels[2].body += stores(low, outputs, place_of(indices))
    start = flattened((*low.levels[0].body, *levels[0].body))
    inner = (*flattened(levels[1].body), *_row_loops(row, levels[2].body))
    if last and _neighbours(inner, last[0][0]):
        return _strips_of_rows(outer, last[0], start, inner)
    return arrangement((*outer, *last), start, inner)


def _row_loops(row: Indices, body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The loops over a row, as few as its memory allows."""
    space = merged(Space(row, tuple(body)))
    inside, vector = space.body, True
    for index, extent in reversed(space.indices):
        inside, vector = (For(index, extent, inside, vector=vector),), False
    return inside


def _neighbours(body: Sequence[Statement], index: Symbol) -> bool:
    """Whether what the loops read lies side by side for neighbouring values of an index."""
    loops = [statement for statement in body if isinstance(statement, For)]
    steps = [step_of(place[0], index) for buffer, place in accesses(loops) if not buffer.written]
    return any(step == 1 for step in steps)


def _strips_of_rows(
    outer: Indices, last: tuple[Symbol, Dim], start: Sequence[Statement], rows: Sequence[Statement]
) -> Work:
    loop = of_strip(last, STRIP_WIDTH, rows)
    kept_values = reuse_costly(loop.body, (loop.index, STRIP_WIDTH))
    body = (*start, replace(loop, body=kept_values.body))
    work = one_each((*outer, strips(last, STRIP_WIDTH)), body)
    return replace(work, scratch=kept_values.scratch)
