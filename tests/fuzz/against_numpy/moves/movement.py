"""Moves: functions that place elements, take parts and put parts together."""

from __future__ import annotations

from tests.fuzz.against_numpy.dtypes import ALL, INTEGERS, SIGNED, NoMeaning
from tests.fuzz.against_numpy.generator import Dim, Generator
from tests.fuzz.against_numpy.moves.reductions import axis_of, some_axes
from tests.fuzz.against_numpy.program import Instruction


def tuple_text(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def reshape(g: Generator) -> Instruction:
    """Axes merged, ones put in, and now and then one size left open."""
    operand = g.pick(least=1)
    texts = [f"{operand}.shape[{axis}]" for axis in range(g.rank(operand))]
    if len(texts) > 1 and g.rng.random() < 0.8:
        at = g.rng.randrange(len(texts) - 1)
        texts[at : at + 2] = [f"{texts[at]} * {texts[at + 1]}"]
    if g.rng.random() < 0.3:
        texts.insert(g.rng.randint(0, len(texts)), "1")
    sizes = [1 if dim == 0 else dim for dims in g.dims(operand) for dim in dims]
    if 0 not in [d for dims in g.dims(operand) for d in dims] and g.rng.random() < 0.3 and sizes:
        texts[g.rng.randrange(len(texts))] = "-1"
    return g.make("reshape", operand, shape=tuple_text(texts))


def split_axis(g: Generator) -> Instruction:
    """An axis of even size as two."""
    operand = g.pick(least=1)
    axis = g.rng.randrange(g.rank(operand))
    factor = g.rng.choice((2, 3))
    if any(size % factor for size in g.dims(operand)[axis]):
        raise NoMeaning("not divisible")
    texts = [f"{operand}.shape[{i}]" for i in range(g.rank(operand))]
    whole = texts[axis]
    parts = [f"{whole} // {factor}", str(factor)]
    texts[axis : axis + 1] = parts if g.rng.random() < 0.5 else parts[::-1]
    return g.make("reshape", operand, shape=tuple_text(texts))


def transpose(g: Generator) -> Instruction:
    operand = g.pick(least=1)
    rank = g.rank(operand)
    if g.rng.random() < 0.4:
        return g.make("T", operand)
    order = g.rng.sample(range(rank), rank)
    return g.make("transpose", operand, axes=tuple_text([str(axis) for axis in order]))


def reordered(g: Generator) -> Instruction:
    operand = g.pick(least=2)
    one, two = axis_of(g, operand), axis_of(g, operand)
    choice = g.rng.randrange(3)
    if choice == 0:
        return g.make("swapaxes", operand, axis1=one, axis2=two)
    if choice == 1:
        return g.make("moveaxis", operand, source=one, destination=two)
    return g.make("matrix_transpose", operand)


def ones_in_and_out(g: Generator) -> Instruction:
    operand = g.pick()
    dims = g.dims(operand)
    ones = [axis for axis, dim in enumerate(dims) if set(dim) == {1}]
    if ones and g.rng.random() < 0.5:
        return g.make("squeeze", operand, axis=g.rng.choice(ones))
    rank = len(dims)
    axis = g.rng.choice((g.rng.randint(-rank - 1, rank), (0, -1)))
    return g.make("expand_dims", operand, axis=axis)


def broadcast_to(g: Generator) -> Instruction:
    operand = g.pick(most=3)
    dims = list(g.dims(operand))
    known = [dim for name in g.names for dim in g.dims(name)] or [(2,) * len(g.bindings)]
    dims = [g.rng.choice(known) if set(dim) == {1} else dim for dim in dims]
    dims = [g.rng.choice(known) for _ in range(g.rng.randint(0, 1))] + dims
    texts = [g.size_text(dim) for dim in dims]
    return g.make("broadcast_to", operand, shape=tuple_text(texts))


def flip(g: Generator) -> Instruction:
    operand = g.pick(least=1)
    return g.make("flip", operand, axis=some_axes(g, operand))


def repeat(g: Generator) -> Instruction:
    operand = g.pick(least=1, most=3)
    return g.make("repeat", operand, repeats=g.rng.choice((0, 1, 2, 3)), axis=axis_of(g, operand))


# --- parts ----------------------------------------------------------------------------------------


def bound(g: Generator, size: str) -> str:
    """A position in an axis, also from its end or beyond it, or of a sign that sizes decide."""
    plain = "", "", "1", "2", "-1", "-2", "5", f"{size} // 2", f"{size} - 1"
    if g.rng.random() < 0.8:
        return g.rng.choice(plain)
    other = g.rng.choice([f"{v}.shape[{axis}]" for v in g.names for axis in range(g.rank(v))])
    return g.rng.choice((f"-({size} // 2)", f"-{other}", f"{other} - 3", f"{size} - {other}"))


def slice_text(g: Generator, size: str) -> str:
    step = g.rng.choice(("", "", "", ":2", ":3", ":-1", ":-2"))
    return f"{bound(g, size)}:{bound(g, size)}{step}"


def basic_index(g: Generator) -> Instruction:
    operand = g.pick(least=1)
    items: list[str] = []
    for axis, dim in enumerate(g.dims(operand)):
        whole = [":", slice_text(g, f"{operand}.shape[{axis}]")]
        single = ["0", "-1"] if min(dim) > 0 else []
        items.append(g.rng.choice([*whole, *whole, *single]))
    while items and g.rng.random() < 0.3:
        items.pop()
    if g.rng.random() < 0.2:
        items.insert(g.rng.randint(0, len(items)), "None")
    if g.rng.random() < 0.2 and len(items) <= g.rank(operand):
        items.insert(g.rng.choice((0, len(items))), "...")
    return g.make("index", operand, item=", ".join(items or ["..."]))


def index_input(g: Generator, dim: Dim, kind: str, dims: list[Dim] | None = None) -> str:
    """A new input with indices into an axis of this size."""
    known = [found for name in g.names for found in g.dims(name)] or [dim]
    rank = g.rng.choice((0, 1, 1, 2)) if dims is None else len(dims)
    chosen = dims if dims is not None else [g.rng.choice(known) for _ in range(rank)]
    shape = [g.axis_text(found) for found in chosen]
    dtype = g.rng.choice(SIGNED if kind == "index" and g.rng.random() < 0.8 else INTEGERS)
    return g.add_input(dtype, shape, f"{kind}:{g.axis_text(dim)}")


def take(g: Generator) -> Instruction:
    operand = g.pick(least=1, most=3)
    axis = axis_of(g, operand)
    negative = g.rng.random() < 0.6
    indices = index_input(g, g.dims(operand)[axis], "index" if negative else "position")
    return g.make("take" if negative else "gather", operand, indices, axis=axis)


def tensor_index(g: Generator) -> Instruction:
    """One or two index tensors among slices."""
    operand = g.pick(least=1, most=3)
    dims = g.dims(operand)
    first = g.rng.randrange(len(dims))
    items = [":"] * len(dims)
    items[first] = index_input(g, dims[first], "index")
    if len(dims) > 1 and g.rng.random() < 0.5:
        second = g.rng.choice([axis for axis in range(len(dims)) if axis != first])
        same = list(g.dims(items[first]))
        items[second] = index_input(g, dims[second], "index", same)
    return g.make("index", operand, item=", ".join(items))


def one_hot(g: Generator) -> Instruction:
    classes = g.rng.choice([dim for name in g.names for dim in g.dims(name)] or [(3,)])
    indices = index_input(g, classes, "position")
    dtype = f"ash.{g.rng.choice(ALL)}"
    return g.make(
        "one_hot", indices, classes=g.size_text(g.dim_of(g.axis_text(classes))), dtype=dtype
    )


def pieces(g: Generator) -> Instruction:
    operand = g.pick(least=1)
    axis = axis_of(g, operand)
    dim = g.dims(operand)[axis]
    count = g.rng.choice((1, 2, 3))
    if all(size % count == 0 for size in dim) and g.rng.random() < 0.6:
        return g.make("split", operand, results=count, sections=count, axis=axis)
    size = f"{operand}.shape[{axis}]"
    at = g.rng.choice((f"{size} // 2", "1" if min(dim) else f"{size} // 3"))
    return g.make("split", operand, results=2, sections=f"[{at}]", axis=axis)


# --- put together ---------------------------------------------------------------------------------


def concat(g: Generator) -> Instruction:
    first = g.pick(least=1)
    axis = axis_of(g, first)
    place = axis % g.rank(first)
    dims = g.dims(first)

    def fits(name: str) -> bool:
        found = g.dims(name)
        others = [(a, b) for i, (a, b) in enumerate(zip(found, dims, strict=True)) if i != place]
        return all(a == b for a, b in others)

    same = [name for name in g.names if g.rank(name) == len(dims) and fits(name)]
    chosen = [first, *(g.rng.choice(same) for _ in range(g.rng.randint(1, 2)))]
    return g.make("concat", *chosen, axis=axis)


def stack(g: Generator) -> Instruction:
    first = g.pick(most=4)
    same = [name for name in g.names if g.dims(name) == g.dims(first)]
    chosen = [first, *(g.rng.choice(same) for _ in range(g.rng.randint(0, 2)))]
    return g.make("stack", *chosen, axis=g.rng.randint(-g.rank(first) - 1, g.rank(first)))


def pad(g: Generator) -> Instruction:
    operand = g.pick(least=1)
    width = g.rng.choice(("1", "(0, 2)", "(3, 1)", None))
    if width is None:
        size = f"{operand}.shape[0]"
        pairs = [g.rng.choice(("(0, 0)", "(1, 2)", f"({size}, 1)")) for _ in g.dims(operand)]
        width = f"[{', '.join(pairs)}]"
    value = g.rng.choice(("0", "1", "True" if g.dtype(operand) == "bool" else "7"))
    return g.make("pad", operand, value if g.dtype(operand) != "bool" else "True", width=width)


def triangle(g: Generator) -> Instruction:
    return g.make(g.rng.choice(("tril", "triu")), g.pick(least=2), k=g.rng.randint(-2, 2))


# --- from nothing ---------------------------------------------------------------------------------


def some_sizes(g: Generator, rank: int) -> list[str]:
    known = [dim for name in g.names for dim in g.dims(name)] or [(2,) * len(g.bindings)]
    return [g.size_text(g.rng.choice(known)) for _ in range(rank)]


def source(g: Generator) -> Instruction:
    op = g.rng.choice(("full", "zeros", "ones", "full_like", "zeros_like", "ones_like"))
    dtype = f"ash.{g.rng.choice(ALL)}"
    if op.endswith("_like"):
        more = {"value": "3", "dtype": dtype} if op == "full_like" else {}
        return g.make(
            op, g.pick(), **({**more, "value": "1"} if dtype == "ash.bool" and more else more)
        )
    shape = tuple_text(some_sizes(g, g.rng.randint(0, 3)))
    value = {"value": "1" if dtype == "ash.bool" else "2"} if op == "full" else {}
    return g.make(op, shape=shape, dtype=dtype, **value)


def counting(g: Generator) -> Instruction:
    dtype = f"ash.{g.rng.choice(('i64', 'i64', 'i32', 'f32', 'f64', 'i16', 'u8', 'f16'))}"
    choice = g.rng.randrange(3)
    if choice == 0:
        rank = g.rng.randint(1, 3)
        shape = tuple_text(some_sizes(g, rank))
        return g.make("iota", shape=shape, axis=g.rng.randrange(rank), dtype=dtype)
    first, second = some_sizes(g, 2)
    if choice == 1:
        columns = g.rng.choice((second, "None"))
        return g.make("eye", rows=first, columns=columns, dtype=dtype)
    start, stop = g.rng.choice(((first, "None"), ("1", first), (first, second), (first, "0")))
    step = g.rng.choice((1, 1, 2, 3, -1, -2))
    return g.make("arange", start=start, stop=stop, step=step, dtype=dtype)


def late(g: Generator) -> Instruction:
    operand = g.pick(least=1, most=3)
    if g.rng.random() < 0.5:
        return g.make("argwhere", operand)
    return g.make("nonzero", operand, results=g.rank(operand))


def ravel(g: Generator) -> Instruction:
    return g.make("ravel", g.pick())


MOVEMENT = [
    *[reshape] * 2, split_axis, *[transpose] * 2, reordered, ones_in_and_out, broadcast_to, flip,
    repeat, *[basic_index] * 4, *[take] * 2, *[tensor_index] * 2, one_hot, pieces, *[concat] * 3,
    stack, pad, triangle, source, counting, late, ravel,
]  # fmt: skip
