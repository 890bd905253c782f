"""Moves along one axis: running totals, elements at places that data decide, sorting, groups.

Places are always inside their axis: an op's own places, backwards or in pairs.
"""

from __future__ import annotations

import numpy as np
from tests.fuzz.generate import Generator, Move, NotApplicableError

from anyshape.ir.node import Value
from anyshape.ir.opdef import lookup
from anyshape.ir.types import NUMERIC, Shape, i32, i64
from anyshape.sym import Answer, Dim


def places(g: Generator, shape: Shape, axis: int) -> Value:
    """Indices along `axis`; in pairs, two of them are the same."""
    index = g.builder.emit("iota", shape=shape, axis=axis, dtype=g.rng.choice((i32, i64)))
    if g.rng.random() < 0.5:
        index = g.builder.emit("reverse", index, axes=(axis,))
    if g.rng.random() < 0.5:
        two = g.builder.constant(np.full((), 2, index.tensor.dtype.numpy))
        index = g.builder.emit("floordiv", index, two)
    return index


def cumulative(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1 and t.dtype in NUMERIC)
    name = g.rng.choice(["cumsum", "cumsum", "cumprod", "cummax", "cummin"])
    exclusive, reverse = (g.rng.random() < 0.4 for _ in range(2))
    g.emit(name, x, axis=g.axis(x), exclusive=exclusive, reverse=reverse)


def take_along(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    axis = g.axis(x)
    g.emit("take_along", x, places(g, x.tensor.shape, axis), axis=axis)


def scatter(g: Generator) -> None:
    x, updates = _pair(g)
    axis = g.axis(x)
    indices = places(g, (x.tensor.shape[axis],), 0)
    g.emit("scatter", x, indices, updates, axis=axis, combine=_combine(g, x))


def scatter_along(g: Generator) -> None:
    x, updates = _pair(g)
    axis = g.axis(x)
    indices = places(g, x.tensor.shape, axis)
    g.emit("scatter_along", x, indices, updates, axis=axis, combine=_combine(g, x))


def scatter_number(g: Generator) -> None:
    """One element, at a place that is a constant."""
    x = g.tensor(lambda t: t.rank == 1)
    if g.builder.scope.proves(x.tensor.shape[0] >= 1) is not Answer.TRUE:
        raise NotApplicableError
    index = g.builder.constant(np.zeros(1, np.int64))
    update = g.builder.constant(np.ones(1, x.tensor.dtype.numpy))
    g.emit("scatter", x, index, update, axis=0, combine=_combine(g, x))


def _pair(g: Generator) -> tuple[Value, Value]:
    """Two tensors of one type, perhaps the same one."""
    x = g.tensor(lambda t: t.rank >= 1)
    return x, g.tensor(lambda t: t == x.tensor)


def _combine(g: Generator, x: Value) -> str:
    allowed = ["set", "max", "min"] + ["add", "mul"] * (x.tensor.dtype in NUMERIC)
    return g.rng.choice(allowed)


def sort(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    axis, flag = g.axis(x), g.rng.random() < 0.5
    k = x.tensor.shape[axis] // 2
    op = lookup(g.rng.choice(["sort", "topk"]))
    attrs = {"descending": flag} if op.name == "sort" else {"k": k, "largest": flag}
    g.pool.extend(g.builder.node(op, [x], op.attrs(axis=axis, **attrs)).results)


def grouped_dot(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank == 2 and t.dtype in NUMERIC)
    depth, groups = x.tensor.shape[1], Dim.of(2)
    two = g.builder.constant(np.full((), 2, x.tensor.dtype.numpy))
    weights = g.builder.emit("broadcast", two, shape=(groups, depth, Dim.of(g.rng.choice((1, 5)))))
    ends = g.builder.constant(np.sort(np.array(g.rng.choices(range(6), k=2), np.int64)))
    g.emit("grouped_dot", x, weights, ends)


ORDERED: list[Move] = [
    cumulative, cumulative, take_along, scatter, scatter_along, scatter_number, sort, grouped_dot,
]  # fmt: skip
