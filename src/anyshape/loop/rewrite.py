"""Replacing symbols and accesses inside statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from anyshape.loop.ir import (
    Apply,
    Bind,
    Buffer,
    Copy,
    For,
    Guard,
    Index,
    Let,
    Literal,
    Load,
    Local,
    Multiply,
    Number,
    Prepare,
    Scalar,
    Statement,
    Store,
    Update,
)
from anyshape.sym import Dim, Symbol

AccessMap = Callable[[Buffer, Index], tuple[Buffer, Index]]
Access = tuple[Buffer, Index]


def map_statement(statement: Statement, dims: Mapping[Symbol, Dim], access: AccessMap) -> Statement:
    """The statement with symbols replaced; accesses go through `access` instead."""
    match statement:
        case Let(local, value):
            return Let(local, map_scalar(value, dims, access))
        case Bind(symbol, value, extent):
            return Bind(symbol, map_scalar(value, dims, access), extent.substitute(dims))
        case Store(buffer, index, value):
            return Store(*access(buffer, index), map_scalar(value, dims, access))
        case Update(local, value):
            return Update(local, map_scalar(value, dims, access))
        case For(index, extent, body, states, vector):
            inner = tuple(map_statement(item, dims, access) for item in body)
            return For(index, extent.substitute(dims), inner, states, vector)
        case Copy(target, source, rows, columns):
            sizes = (dim.substitute(dims) for dim in (rows, columns))
            return Copy(target, source.substitute(dims), *sizes)
        case Multiply(_, lhs, rhs):
            sides = {"lhs": lhs.substitute(dims), "rhs": rhs.substitute(dims)}
            sizes = ("rows", "columns", "depth")
            new = {name: getattr(statement, name).substitute(dims) for name in sizes}
            ahead = statement.ahead and statement.ahead.substitute(dims)
            at = tuple(dim.substitute(dims) for dim in statement.at)
            return replace(statement, **sides, **new, ahead=ahead, at=at)
        case Prepare(keys, body):
            return Prepare(keys, tuple(map_statement(item, dims, access) for item in body))
        case _:
            assert_never(statement)


def map_scalar(value: Scalar, dims: Mapping[Symbol, Dim], access: AccessMap) -> Scalar:
    match value:
        case Load(buffer, index):
            return Load(*access(buffer, index))
        case Number(dim):
            return Number(dim.substitute(dims))
        case Apply(op, args, dtype):
            return Apply(op, tuple(map_scalar(arg, dims, access) for arg in args), dtype)
        case Guard(conditions, inside, outside):
            tests = tuple(test.substitute(dims) for test in conditions)
            return Guard(tests, map_scalar(inside, dims, access), map_scalar(outside, dims, access))
        case Literal() | Local():
            return value
        case _:
            assert_never(value)


def substitute(body: Sequence[Statement], dims: Mapping[Symbol, Dim]) -> tuple[Statement, ...]:
    """The statements with symbols replaced everywhere."""

    def access(buffer: Buffer, index: Index) -> Access:
        return buffer, tuple(dim.substitute(dims) for dim in index)

    return tuple(map_statement(statement, dims, access) for statement in body)


def accesses(body: Sequence[Statement]) -> list[Access]:
    """Every load and store, in order."""
    found: list[Access] = []

    def note(buffer: Buffer, index: Index) -> Access:
        found.append((buffer, index))
        return buffer, index

    for statement in body:
        map_statement(statement, {}, note)
    return found


def plain_dims(body: Sequence[Statement]) -> Iterator[Dim]:
    """Dims that are used as numbers or tested, not as places in a buffer."""
    for statement in body:
        match statement:
            case Let(_, value) | Update(_, value):
                yield from _scalar_dims(value)
            case Store(_, _, value):
                yield from _scalar_dims(value)
            case Bind(symbol, value, extent):
                yield Dim.of(symbol)
                yield extent
                yield from _scalar_dims(value)
            case For(_, extent, inner, _, _):
                yield extent
                yield from plain_dims(inner)
            case Copy() | Multiply():
                yield from statement.dims
            case Prepare(_, inner):
                yield from plain_dims(inner)
            case _:
                assert_never(statement)


def _scalar_dims(value: Scalar) -> Iterator[Dim]:
    match value:
        case Number(dim):
            yield dim
        case Apply(_, args, _):
            for arg in args:
                yield from _scalar_dims(arg)
        case Guard(conditions, inside, outside):
            for test in conditions:
                yield from test.sides
            yield from _scalar_dims(inside)
            yield from _scalar_dims(outside)
        case Load() | Literal() | Local():
            pass
        case _:
            assert_never(value)
