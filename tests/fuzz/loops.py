"""Moves that make region ops: bodies are grown by the same moves, one level down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.fuzz.generate import Generator, Move, NotApplicableError
from tests.fuzz.moves import SIMPLE

from anyshape.ir.build import Builder
from anyshape.ir.node import Region, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.types import NUMERIC, TensorType, Type, i64
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.sym import Dim

MAX_DEPTH = 2


def _inner(g: Generator, types: Sequence[Type]) -> Generator:
    """A generator for a region that takes values of these types."""
    if g.depth >= MAX_DEPTH:
        raise NotApplicableError
    builder = g.builder.nested()
    params = [builder.param(type_) for type_ in types]
    return Generator(g.rng, builder, list(params), g.depth + 1, g.inside)


def _grow(body: Generator) -> None:
    body.grow([*SIMPLE, *body.inside], 3)


def _add(
    g: Generator, op: str, operands: list[Value], attrs: object, regions: list[Region]
) -> None:
    node = g.builder.node(lookup(op), operands, attrs, regions)
    g.pool.extend(v for v in node.results if isinstance(v.type, TensorType))


def cond(g: Generator) -> None:
    captures = [g.tensor() for _ in range(g.rng.randint(1, 2))]
    predicate = _predicate(g)
    types = [value.type for value in captures]
    then, other = _inner(g, types), _inner(g, types)
    _grow(then)
    _grow(other)
    pairs = [
        (left, right)
        for left in then.pool
        for right in other.pool
        if left.tensor.dtype == right.tensor.dtype and left.tensor.rank == right.tensor.rank
    ]
    left, right = g.rng.choice(pairs)
    regions = [then.builder.region([left]), other.builder.region([right])]
    _add(g, "cond", [predicate, *captures], lookup("cond").attrs(), regions)


def _predicate(g: Generator) -> Value:
    """A scalar truth that depends on data."""
    x = g.tensor(lambda t: t.dtype in NUMERIC)
    total = g.builder.emit("sum", x, axes=tuple(range(x.tensor.rank)))
    return g.builder.emit("gt", total, g.builder.constant(np.zeros((), x.tensor.dtype.numpy)))


def while_(g: Generator) -> None:
    """Counts to three; one more carried value keeps its type or grows along its first axis."""
    x = g.tensor(lambda t: t.rank >= 1)
    count = g.builder.constant(np.zeros((), np.int64))
    grows = g.rng.random() < 0.5
    carried = [i64[()], _own_first_axis(g, x.tensor) if grows else x.tensor]
    condition, body = _inner(g, carried), _inner(g, carried)
    three = condition.builder.constant(np.array(3))
    test = condition.builder.emit("lt", condition.pool[0], three)
    step = body.builder.emit("add", body.pool[0], body.builder.constant(np.array(1)))
    state = body.pool[1]
    changed = _grown(body.builder, state) if grows else _kept(body, state)
    regions = [condition.builder.region([test]), body.builder.region([step, changed])]
    _add(g, "while", [count, x], WhileAttrs(carried=2), regions)


def _own_first_axis(g: Generator, type_: TensorType) -> TensorType:
    return type_.with_shape((g.builder.scope.fresh(), *type_.shape[1:]))


def _grown(b: Builder, state: Value) -> Value:
    one = b.constant(np.ones((), state.tensor.dtype.numpy))
    row = b.emit("broadcast", one, shape=(Dim.of(1), *state.tensor.shape[1:]))
    return b.emit("concat", state, row, axis=0)


def _kept(body: Generator, state: Value) -> Value:
    """A value of exactly the state's type, with luck not the state itself."""
    _grow(body)
    return body.rng.choice([v for v in body.pool if v.type == state.type])


def scan(g: Generator) -> None:
    xs = g.tensor(lambda t: t.rank >= 1)
    state = g.tensor()
    element = xs.tensor.with_shape(xs.tensor.shape[1:])
    body = _inner(g, [state.type, element])
    kept = _kept(body, body.pool[0])
    last = body.rng.choice(body.pool)
    attrs = ScanAttrs(1, 1, xs.tensor.shape[0], reverse=g.rng.random() < 0.5)
    _add(g, "scan", [state, xs], attrs, [body.builder.region([kept, last])])


LOOPS: list[Move] = [cond, while_, scan]
