"""Elements by their places, and places of elements."""

from __future__ import annotations

import numpy as np
from tests.fuzz.onnx_graphs.generator import DTYPES, FLOATS, INTEGERS, Generator, Unfit
from tests.fuzz.onnx_graphs.moves.reductions import flag


def smallest(g: Generator, x: str, axis: int) -> int:
    """Of the sizes that an axis has: places below it are there. An empty one has none."""
    sizes = [size for size in g.size(x, axis) if size]
    return min(sizes, default=1)


def places(g: Generator, x: str, axis: int, *shape: int) -> str:
    size = smallest(g, x, axis)
    source = np.random.default_rng(g.rng.randrange(2**32))
    low = -size if g.opset >= 11 else 0
    return g.array(source.integers(low, size, shape).astype(g.rng.choice(("int64", "int32"))))


def gather(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    axis = g.axis(x)
    if g.opset < 11:
        axis %= g.rank(x)
    if g.rng.random() < 0.4 and g.opset >= 11:
        dims = (g.random_dim() for _ in range(g.rng.randint(0, 2)))
        index = g.input("int64", *dims, bound=smallest(g, x, axis))
    else:
        index = places(g, x, axis, *(g.rng.randint(0, 3) for _ in range(g.rng.randint(0, 2))))
    g.node("Gather", x, index, axis=g.rng.choice((None, axis, axis)))


def order(g: Generator, x: str, axis: int) -> str:
    """Places along an axis, one for each element of `x`."""
    if any(np.isnan(value).any() for value in g.each(x)):
        raise Unfit
    k = g.node("Gather", g.node("Shape", x), g.constant([axis % g.rank(x)]))
    return g.several("TopK", 2, x, k, axis=axis, largest=flag(g))[1]


def gather_elements(g: Generator) -> None:
    x = g.pick(("float32", "float64", "int64", "int32"), range(1, 4))
    axis = g.axis(x)
    y = g.pick(DTYPES, (g.rank(x),)) if g.rng.random() < 0.3 else x
    g.node("GatherElements", y, order(g, x, axis), axis=axis)


def gather_nd(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    depth = g.rng.randint(1, g.rank(x))
    rows = g.rng.randint(0, 3)
    columns = [np.asarray(g.rng.choices(range(smallest(g, x, i)), k=rows)) for i in range(depth)]
    g.node("GatherND", x, g.array(np.stack(columns, -1).astype(np.int64)))


REDUCTIONS = {16: ("none", "add", "mul"), 18: ("none", "add", "mul", "max", "min")}


def _reduction(g: Generator) -> str | None:
    found = [names for opset, names in REDUCTIONS.items() if g.opset >= opset]
    return g.rng.choice((None, *found[-1])) if found else None


def scatter_elements(g: Generator) -> None:
    x = g.pick(("float32", "float64", "int64", "int32"), range(1, 4))
    axis = g.axis(x)
    op = "ScatterElements" if g.opset >= 11 else "Scatter"
    g.node(op, x, order(g, x, axis), g.node("Mul", x, x), axis=axis, reduction=_reduction(g))


def scatter_nd(g: Generator) -> None:
    x = g.pick((*FLOATS, *INTEGERS, "bool"), range(1, 4))
    rows = sorted(g.rng.sample(range(smallest(g, x, 0)), min(2, smallest(g, x, 0))))
    updates = g.node("Gather", x, g.constant(rows[::-1]))
    index = g.constant([[row] for row in rows])
    g.node("ScatterND", x, index, updates, reduction=_reduction(g))


def non_zero(g: Generator) -> None:
    found = g.node("NonZero", g.pick(DTYPES, range(1, 4)))
    if g.rng.random() < 0.5:
        g.node("Transpose", found)


def compress(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    axis = g.axis(x)
    if g.opset < 11:
        axis %= g.rank(x)
    size = smallest(g, x, axis)
    kept = g.random_constant("bool", g.rng.randint(1, size))
    g.node("Compress", x, kept, axis=g.rng.choice((None, axis, axis)))


def unique(g: Generator) -> None:
    x = g.pick(("float32", "int64", "float64", "int8"), range(1, 3))
    if any(np.isnan(value).any() for value in g.each(x)):
        raise Unfit
    g.several("Unique", g.rng.choice((1, 2, 3, 4)), x, sorted=1)


def one_hot(g: Generator) -> None:
    x = g.pick(("int64", "int32"), range(1, 4))
    depth = g.constant(g.rng.choice((1, 3, 5)))
    values = g.constant([0, 1], g.rng.choice(("float32", "int64", "int32")))
    axis = g.rng.choice((None, -1, 0, g.rank(x)))
    g.node("OneHot", x, depth, values, axis=axis)


def reversed_rows(g: Generator) -> None:
    x = g.pick(DTYPES, range(2, 4))
    rows, length = g.fixed(x, 0), smallest(g, x, 1)
    lengths = g.constant([g.rng.randint(1, length) for _ in range(rows)])
    g.node("ReverseSequence", x, lengths, batch_axis=0, time_axis=1)


INDEXING = (
    gather, gather, gather_elements, gather_nd, scatter_elements, scatter_nd, non_zero, compress,
    unique, one_hot, reversed_rows,
)  # fmt: skip
