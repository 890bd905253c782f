"""Arithmetic of sizes, and ops that take computed ones."""

from __future__ import annotations

from tests.fuzz.onnx_graphs.generator import DTYPES, FLOATS, Generator, Unfit
from tests.fuzz.onnx_graphs.moves.reductions import ordered
from tests.fuzz.onnx_graphs.program import Constant


def size_of(g: Generator, x: str, axis: int) -> str:
    """One size as a vector of one number, spelled in one of several ways."""
    rank = g.rank(x)
    if g.opset >= 15 and g.rng.random() < 0.4:
        start = axis % rank
        return g.node(
            "Shape", x, start=start, end=g.rng.choice((start + 1, start - rank + 1 or None))
        )
    shape = g.node("Shape", x)
    if g.rng.random() < 0.5:
        return g.node("Gather", shape, g.constant([axis % rank]))
    if g.opset >= 13 and g.rng.random() < 0.5:
        scalar = g.node("Gather", shape, g.constant(axis % rank), axis=0)
        return g.node("Unsqueeze", scalar, g.constant([0]))
    if g.opset >= 10:
        start = axis % rank
        return g.node("Slice", shape, g.constant([start]), g.constant([start + 1]))
    return g.node("Slice", shape, starts=(axis % rank,), ends=(axis % rank + 1,))


def changed(g: Generator, size: str) -> str:
    """A number made of a size, not below 0."""
    match g.rng.randrange(8):
        case 0:
            return g.node("Add", size, g.constant([1]))
        case 1:
            return g.node("Mul", size, g.constant([2]))
        case 2:
            return g.node("Div", size, g.constant([2]))
        case 3:
            return g.node("Max" if g.opset >= 12 else "Add", size, g.constant([3]))
        case 4:
            halved = g.node("Div", g.node("Cast", size, to=1), g.constant([2.0], "float32"))
            whole = g.node(g.rng.choice(("Ceil", "Floor")), halved)
            return g.node("Cast", whole, to=7)
        case 5:
            return g.node("Mod", size, g.constant([3]))
        case _:
            return size


def any_size(g: Generator) -> str:
    x = g.pick(DTYPES, range(1, 5))
    return changed(g, size_of(g, x, g.axis(x)))


def shape(g: Generator) -> None:
    x = g.pick(DTYPES)
    if g.opset >= 15 and g.rng.random() < 0.5:
        g.node("Shape", x, start=g.rng.randint(-3, 3), end=g.rng.choice((None, -1, 1, 2, 9)))
    else:
        g.node(g.rng.choice(("Shape", "Size")), x)


def number(g: Generator) -> None:
    any_size(g)


def reshape(g: Generator) -> None:
    """Sizes of the operand, and what is left."""
    x = g.pick(DTYPES, range(1, 5))
    kept = [size_of(g, x, axis) for axis in range(g.rng.randint(0, g.rank(x)))]
    tail = g.rng.choice(([-1], [1, -1], [-1, 1]))
    if len(kept) == g.rank(x) and g.rng.random() < 0.5:
        tail = [1]
    parts = [*kept, g.constant(tail)]
    if len(kept) > 1 and g.rng.random() < 0.4:
        if not all(value.size for value in g.each(x)):
            raise Unfit  # docs/onnx.md has the difference
        parts = [g.node("Mul", kept[0], kept[1]), *parts[2:]]
    g.node("Reshape", x, g.node("Concat", *parts, axis=0))


def expand(g: Generator) -> None:
    x = g.pick(DTYPES, range(3))
    shape = g.node("Shape", x)
    first = any_size(g)
    g.node("Expand", x, g.node("Concat", first, shape, axis=0))


def expand_where(g: Generator) -> None:
    """As exporters spell `expand(-1, n)`: a size of -1 is replaced by 1."""
    x = g.pick(DTYPES, range(1, 3))
    one = g.node("Unsqueeze", x, g.constant([0])) if g.opset >= 13 else x
    count = any_size(g)
    rank = g.rank(one)
    if rank < 2:
        one = g.node("Reshape", one, g.constant([1, -1]))
        rank = 2
    sizes = g.node("Concat", count, *[g.constant([-1])] * (rank - 1), axis=0)
    ones = g.node("ConstantOfShape", g.constant([rank]), value=Constant("one", "int64", (1,), (1,)))
    minus = g.node("Mul", ones, g.constant(-1))
    g.node("Expand", one, g.node("Where", g.node("Equal", sizes, minus), ones, sizes))


def filled(g: Generator) -> None:
    sizes = g.node("Concat", *(any_size(g) for _ in range(g.rng.choice((1, 2)))), axis=0)
    dtype = g.rng.choice(DTYPES)
    value = Constant("value", dtype, (1,), (g.rng.choice((0, 1, 3)),))
    g.node("ConstantOfShape", sizes, value=g.rng.choice((None, value)))


def range_(g: Generator) -> None:
    count = any_size(g)
    last = _scalar(g, count)
    match g.rng.randrange(4):
        case 0:
            g.node("Range", g.constant(0), last, g.constant(g.rng.choice((1, 2, 3))))
        case 1:
            g.node(
                "Range", last, g.constant(g.rng.choice((0, -2))), g.constant(g.rng.choice((-1, -2)))
            )
        case 2:
            last = g.node("Cast", last, to=1)
            g.node("Range", g.constant(0.5, "float32"), last, g.constant(0.5, "float32"))
        case _:
            last = g.node("Cast", last, to=6)
            g.node("Range", g.constant(1, "int32"), last, g.constant(2, "int32"))


def _scalar(g: Generator, x: str) -> str:
    if g.opset >= 13 and g.rng.random() < 0.5:
        return g.node("Squeeze", x, g.constant([0]))
    return g.node("Gather", x, g.constant(0))


def slice_(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    axis = g.constant([g.axis(x)])
    start, end = any_size(g), any_size(g)
    match g.rng.randrange(4):
        case 0:
            start = g.constant([g.rng.choice((0, 1, -2))])
        case 1:
            end = g.constant([2**63 - 1])
        case 2:
            start = g.node("Neg", start)
        case _:
            start = g.node("Div", start, g.constant([2]))
    steps = (1, 1, 2, -1) if not end.startswith("c") else (1, 2)
    g.node("Slice", x, start, end, axis, g.constant([g.rng.choice(steps)]))


def tile(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 3))
    times = [g.constant([g.rng.choice((1, 2))]) for _ in range(g.rank(x))]
    times[g.rng.randrange(len(times))] = any_size(g)
    g.node("Tile", x, g.node("Concat", *times, axis=0))


def pad(g: Generator) -> None:
    x = g.pick(FLOATS, range(1, 3))
    widths = [g.constant([g.rng.choice((0, 1))]) for _ in range(2 * g.rank(x))]
    widths[g.rng.randrange(len(widths))] = any_size(g)
    if g.opset >= 11:
        g.node("Pad", x, g.node("Concat", *widths, axis=0))


def top(g: Generator) -> None:
    x = ordered(g)
    axis = g.axis(x)
    count = g.node("Min", size_of(g, x, axis), g.constant([g.rng.choice((1, 2, 4))]))
    g.several("TopK", 2, x, count, axis=axis)


def split(g: Generator) -> None:
    x = g.pick(DTYPES, range(1, 4))
    axis = g.axis(x)
    size = size_of(g, x, axis)
    half = g.node("Div", size, g.constant([2]))
    parts = g.node("Concat", half, g.node("Sub", size, half), axis=0)
    g.several("Split", 2, x, parts, axis=axis)


def gathered(g: Generator) -> None:
    """The last element along an axis, by its place."""
    x = g.pick(DTYPES, range(1, 4))
    axis = g.axis(x)
    g.node("Gather", x, g.node("Sub", size_of(g, x, axis), g.constant([1])), axis=axis)


SIZES = (
    shape, number, reshape, reshape, expand, expand_where, filled, range_, range_, slice_, slice_,
    tile, pad, top, split, gathered,
)  # fmt: skip
