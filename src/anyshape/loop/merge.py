"""Merging loops that walk memory as one.

`for i < a { for j < b { out[i, j] = x[i, j] } }` over dense buffers is a single loop over a*b
elements: one long vector loop instead of a short one per row. Two neighbouring indices merge when
every access moves `b` times as far for a step of `i` as for one of `j`, and nothing else looks at
them. Accesses become flat: the buffer is seen as one axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from anyshape.loop.ir import Buffer, Index, Statement
from anyshape.loop.rewrite import Access, accesses, map_statement, plain_dims
from anyshape.sym import Dim, Symbol, product
from anyshape.sym.factor import FloorDiv, Mod


@dataclass(frozen=True, slots=True)
class Space:
    """A perfect nest: indices with their extents, outermost first, around straight-line code."""

    indices: tuple[tuple[Symbol, Dim], ...]
    body: tuple[Statement, ...]


def merged(space: Space, apart: Set[int] = frozenset()) -> Space:
    """The nest with as few loops as the accesses allow; all accesses flat.

    Loops at the depths in `apart` are not merged with the one around them.
    """
    flat = Space(space.indices, flattened(space.body))
    pair = len(flat.indices) - 2
    while pair >= 0:
        if pair + 1 not in apart and _mergeable(flat, pair):
            flat = _merge_pair(flat, pair)
        pair -= 1
    return flat


def flattened(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Every buffer as one axis, every access as its offset."""
    return tuple(map_statement(statement, {}, _flat_access) for statement in body)


def _flat_access(buffer: Buffer, index: Index) -> Access:
    return flat_buffer(buffer), (recombined(buffer.offset(index)),)


def recombined(offset: Dim) -> Dim:
    """The same number with `d*(x//d) + x % d` written as `x`.

    Reshapes take a position apart; in a dense buffer the parts meet again.
    """
    for monomial, coefficient in offset.terms:
        for factor, power in monomial:
            if isinstance(factor, FloorDiv) and power == 1:
                rest = Dim.of_terms({tuple(m for m in monomial if m[0] is not factor): coefficient})
                whole = _rejoined(offset, factor, rest)
                if whole is not None:
                    return recombined(whole)
    return offset


def _rejoined(offset: Dim, quotient: FloorDiv, times: Dim) -> Dim | None:
    """`offset`, of which `times * quotient` is a term, if the remainder is there too."""
    for rest in _remainders(offset, quotient):
        step = times // rest.den
        if step * rest.den is times:
            without = offset - step * (rest.den * (rest.num // rest.den) + rest.num % rest.den)
            if len(without.terms) == len(offset.terms) - 2:
                return without + step * rest.num
    return None


def _remainders(offset: Dim, quotient: FloorDiv) -> Iterator[Mod]:
    """Those of divisions with this quotient. `k//64` is that of `k` by 64 and of `k//8` by 8."""
    for monomial, _ in offset.terms:
        for factor, _ in monomial:
            if isinstance(factor, Mod):
                before = quotient.den // factor.den
                fits = before != 0 and before * factor.den is quotient.den
                if fits and quotient.num // before is factor.num:
                    yield factor


def flat_buffer(buffer: Buffer) -> Buffer:
    size = (product(buffer.shape),)
    return Buffer(buffer.name, buffer.dtype, size, (Dim.of(1),), buffer.written)


def _mergeable(space: Space, pair: int) -> bool:
    (outer, _), (inner, extent) = space.indices[pair], space.indices[pair + 1]
    if any({outer, inner} & dim.symbols for dim in plain_dims(space.body)):
        return False
    steps = [
        (step_of(index[0], outer), step_of(index[0], inner)) for _, index in accesses(space.body)
    ]
    return all(a is not None and b is not None and a is extent * b for a, b in steps)


def step_of(offset: Dim, index: Symbol) -> Dim | None:
    """How far `offset` moves for one step of `index`; None where that is not constant."""
    if index not in offset.symbols:
        return Dim.of(0)
    start = offset.substitute({index: 0})
    step = offset.substitute({index: 1}) - start
    same = start + Dim.of(index) * step is offset
    return step if same and index not in step.symbols else None


def _merge_pair(space: Space, pair: int) -> Space:
    """The inner index takes over; the outer one is 0 and gone."""
    (outer, rows), (inner, columns) = space.indices[pair], space.indices[pair + 1]

    def access(buffer: Buffer, index: Index) -> Access:
        return buffer, tuple(dim.substitute({outer: Dim.of(0)}) for dim in index)

    body = tuple(map_statement(statement, {}, access) for statement in space.body)
    single = ((inner, rows * columns),)
    return Space((*space.indices[:pair], *single, *space.indices[pair + 2 :]), body)
