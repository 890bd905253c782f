"""What occurs in loops: statements, expressions, predicates, buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyshape.loop.ir import (
    Apply,
    Bind,
    Copy,
    For,
    Guard,
    Let,
    Load,
    Local,
    Multiply,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.sym import Predicate, Symbol


def statements(body: Sequence[Statement]) -> Iterator[Statement]:
    """All of them, those in inner loops included."""
    for statement in body:
        yield statement
        if isinstance(statement, For | Prepare):
            yield from statements(statement.body)


def scalars(body: Sequence[Statement]) -> Iterator[Scalar]:
    """Every expression and subexpression, each object once."""
    seen = set[int]()
    for statement in statements(body):
        if isinstance(statement, Let | Bind | Store | Update):
            yield from _within(statement.value, seen)


def _within(scalar: Scalar, seen: set[int]) -> Iterator[Scalar]:
    if id(scalar) in seen:
        return
    seen.add(id(scalar))
    yield scalar
    match scalar:
        case Apply(_, args, _):
            for arg in args:
                yield from _within(arg, seen)
        case Guard(_, inside, outside):
            yield from _within(inside, seen)
            yield from _within(outside, seen)
        case _:
            pass


def stored_buffers(body: Sequence[Statement]) -> frozenset[str]:
    stores = {s.buffer.name for s in statements(body) if isinstance(s, Store)}
    tiles = {s.tile.name for s in statements(body) if isinstance(s, Multiply)}
    copies = {s.target.name for s in statements(body) if isinstance(s, Copy)}
    return frozenset(stores | tiles | copies)


def updated_locals(body: Sequence[Statement]) -> frozenset[str]:
    """Accumulators that the body combines into, but for those of its own loops."""
    inner = [s for s in statements(body) if isinstance(s, For)]
    own = {state.local.name for loop in inner for state in loop.accumulators}
    found = {s.local.name for s in statements(body) if isinstance(s, Update)}
    return frozenset(found - own)


def read_locals(body: Sequence[Statement]) -> frozenset[str]:
    return frozenset(s.name for s in scalars(body) if isinstance(s, Local))


def loaded_indices(body: Sequence[Statement]) -> Iterator[Load | Store]:
    """Every access to memory."""
    yield from (s for s in scalars(body) if isinstance(s, Load))
    yield from (s for s in statements(body) if isinstance(s, Store))


def bound_symbols(body: Sequence[Statement]) -> frozenset[Symbol]:
    """Indices that data decide."""
    return frozenset(s.symbol for s in statements(body) if isinstance(s, Bind))


def guard_conditions(body: Sequence[Statement]) -> list[Predicate]:
    """Each once, in the order of their appearance."""
    guards = (s for s in scalars(body) if isinstance(s, Guard))
    return list(dict.fromkeys(condition for guard in guards for condition in guard.conditions))
