"""Tasks: how the outer indices of a kernel become one number that threads divide among them.

Words:
  - *indices*: loop symbols with their extents, outermost first;
  - *strip*: neighbouring values of an index that one task computes together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.loop import Bind, Buffer, For, Number, Statement
from anyshape.loop.rewrite import substitute
from anyshape.lower.movement import delinear
from anyshape.sym import Dim, Symbol, ceildiv, minimum, product

TASK, STRIP, INNER = Symbol("t"), Symbol("s"), Symbol("j")

Indices = tuple[tuple[Symbol, Dim], ...]


def place_of(indices: Indices) -> tuple[Dim, ...]:
    """Where in the results an iteration is."""
    return tuple(Dim.of(index) for index, _ in indices)


@dataclass(frozen=True, slots=True)
class Work:
    """The number of tasks, what one of them does, and the memory it needs for itself."""

    tasks: Dim
    body: tuple[Statement, ...]
    scratch: tuple[Buffer, ...] = ()


def one_each(outer: Indices, body: Sequence[Statement]) -> Work:
    """A task for each combination of the outer indices.

    Several of them are indices of their own, with their ranges: proofs then need no division.
    """
    extents = tuple(extent for _, extent in outer)
    places = delinear(extents, Dim.of(TASK))
    if len(outer) < 2:
        names = {index: place for (index, _), place in zip(outer, places, strict=True)}
        return Work(product(extents), substitute(body, names))
    binds = (Bind(i, Number(place), n) for (i, n), place in zip(outer, places, strict=True))
    return Work(product(extents), (*binds, *body))


def of_strip(
    whole: tuple[Symbol, Dim], width: int, body: Sequence[Statement], *, vector: bool = True
) -> For:
    """The loop over one strip: the index becomes that of the strip and one inside it."""
    index, extent = whole
    start = Dim.of(STRIP) * width
    inside = substitute(body, {index: start + Dim.of(INNER)})
    return For(INNER, minimum(width, extent - start), inside, vector=vector)


def strips(whole: tuple[Symbol, Dim], width: int) -> tuple[Symbol, Dim]:
    """The index that counts strips."""
    return STRIP, ceildiv(whole[1], width)
