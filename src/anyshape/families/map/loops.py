"""Map kernels: straight-line code for each element of the result.

The loops around it are merged where memory allows, then divided into tasks:

    one loop            blocks of it
    two loops           a task for each outer index, the inner one a vector loop
    more                a task for the outer indices and a few rows, which share the arithmetic
    transposing         blocks of two indices (`transposed.py`)
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.families.map.transposed import transposed_work
from anyshape.loop import Buffer, For
from anyshape.loop.merge import Space, merged
from anyshape.lower.context import Level, Lowering
from anyshape.lower.stores import stores
from anyshape.lower.tasks import Indices, Work, of_strip, one_each, place_of, strips
from anyshape.lower.tiling import Caches

ROWS = 8
"""Rows per task where a task has several outer indices: finding these takes divisions."""


def map_work(low: Lowering, outputs: Sequence[Buffer], indices: Indices, caches: Caches) -> Work:
    """The loops of a region without reductions."""
    level = Level({index for index, _ in indices})
    low.levels.append(level)
    level.body += stores(low, outputs, place_of(indices))
    space = merged(Space(indices, (*low.levels[0].body, *level.body)))
    if not space.indices:
        return one_each((), space.body)
    blocked = transposed_work(space, caches.turned)
    if blocked is not None:
        return blocked
    *outer, last = space.indices
    if not outer:
        strip = caches.strip
        return one_each((strips(last, strip),), (of_strip(last, strip, space.body),))
    row = For(*last, space.body, vector=True)
    if len(outer) == 1:
        return one_each(tuple(outer), (row,))
    *outer, rows = outer
    return one_each((*outer, strips(rows, ROWS)), (of_strip(rows, ROWS, (row,), vector=False),))
