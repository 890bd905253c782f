"""What must hold for copies and products of matrices to stay in bounds, as predicates.

A matrix is in bounds if its first and last row and column are: along each axis of its memory on its
own, which are inequalities without products of sizes, and these axes are within the buffer. For
axes of a dense buffer the latter is an identity: the sizes cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from anyshape.loop.ir import Copy, Index, Matrix, Multiply, Span
from anyshape.loop.merge import step_of
from anyshape.sym import (
    Answer,
    Dim,
    Less,
    LessEqual,
    Predicate,
    Prover,
    Symbol,
    ceildiv,
    maximum,
    minimum,
    product,
)
from anyshape.sym.factor import Min
from anyshape.sym.terms import factor_of

_ZERO = Dim.of(0)


def bounds_of(statement: Copy | Multiply, prover: Prover) -> tuple[Predicate, ...]:
    """If all of these hold, or there is nothing to do, every access of the statement is in bounds.

    The prover may know on which side of its start a matrix lies.
    """
    match statement:
        case Copy(target, source, rows, columns):
            stores, loads = (target.shape, rows, columns), ((source, rows, columns),)
        case Multiply(_, lhs, rhs, rows, columns, depth, padded):
            room = statement.room
            read = (room[1] if padded else columns) * statement.group
            steps = ceildiv(depth, statement.group)
            stores, loads = (room, rows, columns), ((lhs, rows, depth), (rhs, steps, read))
    found = [*_room(*stores), *(test for load in loads for test in _inside(*load, prover))]
    if isinstance(statement, Multiply):
        found += _exists(statement)
    return tuple(dict.fromkeys(found))


def _exists(product: Multiply) -> Iterator[Predicate]:
    """Which of several tiles it is."""
    for index, size in zip(product.at, product.tile.shape, strict=False):
        yield LessEqual(_ZERO, index)
        yield from (Less(index, limit) for limit in limits_of(size))


def work_of(statement: Copy | Multiply) -> tuple[Predicate, ...]:
    """What holds if the statement accesses operands at all."""
    sizes = [statement.rows, statement.columns]
    if isinstance(statement, Multiply):
        sizes.append(statement.depth)
    return tuple(Less(_ZERO, size) for size in sizes)


def _room(sizes: Index, rows: Dim, columns: Dim) -> Iterator[Predicate]:
    """Products store whole vectors, of which their tiles are made."""
    for size, room in zip((rows, columns), sizes, strict=True):
        yield from (LessEqual(size, limit) for limit in limits_of(room))


def _inside(matrix: Matrix, rows: Dim, columns: Dim, prover: Prover) -> Iterator[Predicate]:
    for span in matrix.spans:
        for place in _lowest(span, rows, columns):
            yield LessEqual(_ZERO, place)
        for place in _highest(span, rows, columns):
            yield from (Less(place, limit) for limit in limits_of(span.extent))
    low = high = matrix.origin
    for span in matrix.spans:
        before, after = _reach((span.extent - 1) * span.stride, span.stride, prover)
        low, high = low + before, high + after
    yield LessEqual(_ZERO, low)
    yield Less(high, product(matrix.buffer.shape))


def limits_of(size: Dim) -> tuple[Dim, ...]:
    """To be below the least of several is to be below each: questions without a choice."""
    factor = factor_of(size.terms)
    return factor.args if isinstance(factor, Min) else (size,)


def ends_of(index: Dim, ranges: Sequence[tuple[Symbol, Dim]], prover: Prover) -> tuple[Dim, Dim]:
    """The least and the greatest value of an index with products of sizes: at the ends of loops.

    `i * n + j` is at most `(m - 1) * n + (n - 1)`, for i < m and j < n. Innermost ranges are first,
    as they may depend on those around. What stays is asked of the prover.
    """
    low = high = index
    if all(len(monomial) < 2 for monomial, _ in index.terms):
        return low, high
    for symbol, extent in reversed(ranges):
        low = _at_end(low, symbol, (_ZERO, extent - 1), prover)
        high = _at_end(high, symbol, (extent - 1, _ZERO), prover)
    return low, high


def _at_end(dim: Dim, symbol: Symbol, ends: tuple[Dim, Dim], prover: Prover) -> Dim:
    """`dim` with the first end for `symbol` if it grows with it, with the second if it shrinks."""
    step = step_of(dim, symbol)
    if step is None or step == 0:
        return dim
    for end, test in zip(ends, (LessEqual(_ZERO, step), LessEqual(step, _ZERO)), strict=True):
        if prover.proves(test) is Answer.TRUE:
            return dim.substitute({symbol: end})
    return dim


def _lowest(span: Span, rows: Dim, columns: Dim) -> Iterable[Dim]:
    """Places of which one is the first of a matrix along an axis."""
    return _ends(span.first, ((rows, span.down), (columns, span.right)), last=False)


def _highest(span: Span, rows: Dim, columns: Dim) -> Iterable[Dim]:
    return _ends(span.first, ((rows, span.down), (columns, span.right)), last=True)


def _ends(first: Dim, moves: Iterable[tuple[Dim, Dim]], *, last: bool) -> list[Dim]:
    places = [first]
    for count, step in moves:
        end, size = (count - 1) * step, step.constant
        if size is None:  # either end may be the last one
            places = [place + move for place in places for move in (_ZERO, end)]
        elif (size > 0) == last:
            places = [place + end for place in places]
    return places


def _reach(length: Dim, stride: Dim, prover: Prover) -> tuple[Dim, Dim]:
    """How far an axis reaches before and after its first place."""
    if prover.proves(LessEqual(_ZERO, stride)) is Answer.TRUE:
        return _ZERO, length
    if prover.proves(LessEqual(stride, _ZERO)) is Answer.TRUE:
        return length, _ZERO
    return minimum(0, length), maximum(0, length)
