"""Moves that make one or a few nodes without regions."""

from __future__ import annotations

import numpy as np
from tests.fuzz.generate import MAX_RANK, Generator, Move, NotApplicableError
from tests.fuzz.ordered_moves import ORDERED

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.node import Value
from anyshape.ir.opdef import AnyOp, Trait, all_ops, lookup
from anyshape.ir.types import ALL_DTYPES, FLOATS, NUMERIC, DType, i64, u32
from anyshape.sym import Answer, Dim, minimum, product

ELEMENTWISE = [op for op in all_ops() if op.has(Trait.ELEMENTWISE) and op.signature.limit != 3]


def takes(op: AnyOp, dtype: DType) -> bool:
    """Most ops say which dtypes they allow; now and then one is tried that may refuse."""
    return dtype in getattr(op.dtype_rule, "allowed", ALL_DTYPES)


def elementwise(g: Generator) -> None:
    x = g.tensor()
    fitting = [op for op in ELEMENTWISE if takes(op, x.tensor.dtype)]
    op = g.rng.choice(ELEMENTWISE if g.rng.random() < 0.1 else fitting)
    if op.name == "cast":
        g.emit("cast", x, to=g.rng.choice(ALL_DTYPES))
    elif op.signature.limit == 1:
        attrs = {"approximate": g.rng.choice(["none", "tanh"])} if op.name == "gelu" else {}
        g.emit(op.name, x, **attrs)
    else:
        g.emit(op.name, x, partner(g, x))


def partner(g: Generator, x: Value) -> Value:
    """Something that often broadcasts with `x`."""
    choice = g.rng.randrange(4)
    if choice == 0:
        return g.builder.constant(np.ones((), x.tensor.dtype.numpy))
    if choice == 1:
        shape = tuple(g.rng.choice((dim, Dim.of(1))) for dim in x.tensor.shape)
        one = g.builder.constant(np.ones((), x.tensor.dtype.numpy))
        return g.builder.emit("broadcast", one, shape=shape)
    return g.tensor(lambda t: t.dtype == x.tensor.dtype)


def select(g: Generator) -> None:
    x = g.tensor(lambda t: t.dtype in NUMERIC)
    condition = g.builder.emit("le", x, partner(g, x))
    g.emit("select", condition, x, partner(g, x))


def reduction(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    name = g.rng.choice(["sum", "prod", "max", "min", "mean", "argmax", "argmin"])
    keepdims = g.rng.random() < 0.5
    if name.startswith("arg"):
        g.emit(name, x, axis=g.axis(x), keepdims=keepdims)
    else:
        axes = g.rng.sample(range(x.tensor.rank), g.rng.randint(0, x.tensor.rank))
        g.emit(name, x, axes=tuple(sorted(axes)), keepdims=keepdims)


# --- movement -------------------------------------------------------------------------------------


def reshape(g: Generator) -> None:
    x = g.tensor()
    shape = list(x.tensor.shape)
    choice = g.rng.randrange(4)
    if choice == 0:
        shape = [product(shape)]
    elif choice == 1 and len(shape) >= 2:
        at = g.rng.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif choice == 2 and shape and len(shape) < MAX_RANK:
        at = g.rng.randrange(len(shape))
        shape[at : at + 1] = [shape[at] // 2, Dim.of(2)]
    elif len(shape) < MAX_RANK:
        shape.insert(g.rng.randint(0, len(shape)), Dim.of(1))
    g.emit("reshape", x, shape=tuple(shape))


def transpose(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    g.emit("transpose", x, perm=tuple(g.rng.sample(range(x.tensor.rank), x.tensor.rank)))


def broadcast(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank < MAX_RANK)
    shape = [g.dim() if dim == 1 and g.rng.random() < 0.5 else dim for dim in x.tensor.shape]
    g.emit("broadcast", x, shape=(Dim.of(g.rng.randint(0, 3)), *shape))


def reverse(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    g.emit("reverse", x, axes=(g.axis(x),))


def slice_(g: Generator) -> None:
    x = g.tensor()
    bounds = [_bounds(g, dim) for dim in x.tensor.shape]
    steps = tuple(g.rng.choice([1, 1, 2, 3]) for _ in bounds)
    starts, stops = tuple(b[0] for b in bounds), tuple(b[1] for b in bounds)
    g.emit("slice", x, starts=starts, stops=stops, steps=steps)


def _bounds(g: Generator, n: Dim) -> tuple[Dim, Dim]:
    zero = Dim.of(0)
    forms = ((zero, n), (zero, n), (n // 4, n // 2), (zero, minimum(n, 3)), (n - n // 2, n),
             (zero, Dim.of(1)))  # fmt: skip
    return g.rng.choice(forms)


def concat(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    axis = g.axis(x)
    others = [x] * g.rng.randint(0, 2)
    if g.rng.random() < 0.3:
        others.append(g.tensor(lambda t: t.dtype == x.tensor.dtype and t.rank == x.tensor.rank))
    g.emit("concat", x, *others, axis=axis)


def pad(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    fill = g.builder.constant(np.ones((), x.tensor.dtype.numpy))
    widths = [tuple(Dim.of(g.rng.randint(0, 2)) for _ in x.tensor.shape) for _ in range(2)]
    g.emit("pad", x, fill, low=widths[0], high=widths[1])


def gather(g: Generator) -> None:
    x = g.tensor(lambda t: t.rank >= 1)
    axis = g.axis(x)
    index = g.builder.emit("iota", shape=(x.tensor.shape[axis],), axis=0, dtype=i64)
    if g.rng.random() < 0.5:
        index = g.builder.emit("reverse", index, axes=(0,))
    g.emit("gather", x, index, axis=axis)


def gather_found(g: Generator) -> None:
    """Rows whose first element is not zero: a late axis that goes on through other ops."""
    x = g.tensor(lambda t: t.rank >= 1 and all(d != 0 for d in t.shape))
    flat = g.builder.emit("reshape", x, shape=(x.tensor.size,))
    found = g.emit("nonzero", flat)
    rows = g.builder.emit("reshape", found, shape=(found.tensor.shape[0],))
    g.emit("gather", flat, rows, axis=0)


def first_rows(g: Generator) -> None:
    """As many rows as there are elements above zero, of two values at once."""
    x = g.tensor(lambda t: t.rank >= 1 and t.dtype in NUMERIC)
    rows = g.builder.emit("dim_value", value=x.tensor.shape[0])
    count = g.builder.emit("minimum", _positives(g, x), rows)
    found = g.builder.emit("reshape", count, shape=(Dim.of(1),))
    node = g.builder.node(lookup("prefix"), [found, x, x], NO_ATTRS)
    g.pool.extend(node.results)


def told_size(g: Generator) -> None:
    """A size that is the number of elements above zero, and values of that size."""
    x = g.tensor(lambda t: t.dtype in NUMERIC)
    size = g.builder.emit("late_size", _positives(g, x))
    g.emit("iota", shape=(size.tensor.shape[0],), axis=0, dtype=g.rng.choice(NUMERIC))


def _positives(g: Generator, x: Value) -> Value:
    zero = g.builder.constant(np.zeros((), x.tensor.dtype.numpy))
    above = g.builder.emit("cast", g.builder.emit("gt", x, zero), to=i64)
    return g.builder.emit("sum", above, axes=tuple(range(x.tensor.rank)))


# --- sources --------------------------------------------------------------------------------------


def source(g: Generator) -> None:
    choice = g.rng.randrange(5)
    if choice == 0:
        shape = tuple(g.rng.choices((0, 1, 2, 7), k=g.rng.randint(0, 2)))
        dtype = g.rng.choice(ALL_DTYPES)
        g.pool.append(g.builder.constant(np.full(shape, 3).astype(dtype.numpy)))
    elif choice == 1:
        shape = tuple(g.dim() for _ in range(g.rng.randint(1, 3)))
        axis = g.rng.randrange(len(shape))
        g.emit("iota", shape=shape, axis=axis, dtype=g.rng.choice(NUMERIC))
    elif choice == 2:
        g.emit("dim_value", value=g.dim())
    elif choice == 3:
        g.emit("shape_of", g.tensor())
    else:
        x = g.tensor(lambda t: t.rank >= 1)
        g.emit("dim_of", x, axis=g.axis(x))


def random_draw(g: Generator) -> None:
    key = g.builder.constant(np.array([g.rng.getrandbits(31), 7], np.uint32))
    if g.rng.random() < 0.3:
        unseeded = g.tensor(lambda t: t.dtype == u32 and t.shape == (2,))
        key = g.rng.choice((key, unseeded))
    shape = tuple(g.dim() for _ in range(g.rng.randint(0, 2)))
    name = g.rng.choice(["random_bits", "random_uniform", "random_normal"])
    attrs = {} if name == "random_bits" else {"dtype": g.rng.choice(FLOATS)}
    g.emit(name, key, shape=shape, **attrs)


def entropy(g: Generator) -> None:
    """The node is interned, so a graph has one draw however often this move comes up."""
    op = lookup("entropy")
    node = g.builder.node(op, [g.builder.emit("token")], op.attrs())
    g.pool.append(node.result(0))


# --- dot and compounds ----------------------------------------------------------------------------


def dot(g: Generator) -> None:
    lhs = g.tensor(lambda t: t.dtype in NUMERIC and 1 <= t.rank <= 4)
    rhs = g.tensor(lambda t: t.dtype == lhs.tensor.dtype and 1 <= t.rank <= 3)
    pairs = [
        (i, j)
        for i, left in enumerate(lhs.tensor.shape)
        for j, right in enumerate(rhs.tensor.shape)
        if g.builder.scope.proves(left.equals(right)) is Answer.TRUE
    ]
    chosen = _matching(g, pairs)
    cut = g.rng.randint(0, len(chosen))
    if lhs.tensor.rank + rhs.tensor.rank - 2 * len(chosen) + (len(chosen) - cut) > MAX_RANK:
        raise NotApplicableError
    contract, batch = chosen[:cut], chosen[cut:]
    g.emit("dot", lhs, rhs, contract=_split(contract), batch=_split(batch))


def _matching(g: Generator, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Some pairs, no axis twice."""
    chosen: list[tuple[int, int]] = []
    for i, j in g.rng.sample(pairs, len(pairs)):
        if all(i != a and j != b for a, b in chosen) and len(chosen) < 2:
            chosen.append((i, j))
    return chosen


def _split(pairs: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(i for i, _ in pairs), tuple(j for _, j in pairs)


def computed_product(g: Generator) -> None:
    """A matrix product with cheap ops in front of one operand or of both."""
    x = g.tensor(lambda t: t.dtype in NUMERIC and t.rank >= 1)
    depth, columns = x.tensor.shape[-1], Dim.of(g.rng.choice((1, 3, 65)))
    one = g.builder.constant(np.ones((), x.tensor.dtype.numpy))
    sides = [x, g.builder.emit("broadcast", one, shape=(depth, columns))]
    for side in g.rng.choice(((0,), (1,), (0, 1))):
        for _ in range(g.rng.randint(1, 3)):
            op = g.rng.choice(("add", "mul", "maximum", "sub"))
            sides[side] = g.builder.emit(op, sides[side], partner(g, sides[side]))
    if sides[0].tensor.shape[-1] != depth or sides[1].tensor.shape != (depth, columns):
        raise NotApplicableError  # a partner made it longer
    last = sides[0].tensor.rank - 1
    g.emit("dot", *sides, contract=((last,), (0,)), batch=((), ()))


def row_compound(g: Generator) -> None:
    x = g.float_tensor(min_rank=1)
    name = g.rng.choice(["softmax", "log_softmax", "layer_norm", "rms_norm"])
    weights = []
    axis = g.axis(x)
    if name.endswith("norm") and g.rng.random() < 0.5:
        one = g.builder.constant(np.ones((), x.tensor.dtype.numpy))
        weights = [g.builder.emit("broadcast", one, shape=x.tensor.shape[axis:])]
    g.emit(name, x, *weights, axis=axis)


def dense(g: Generator) -> None:
    x = g.float_tensor(min_rank=1)
    dtype = x.tensor.dtype
    one = g.builder.constant(np.full((), 0.1, dtype.numpy))
    weight = g.builder.emit("broadcast", one, shape=(x.tensor.shape[-1], Dim.of(3)))
    bias = [g.builder.constant(np.zeros(3, dtype.numpy))] if g.rng.random() < 0.5 else []
    activation = g.rng.choice(["none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"])
    g.emit("dense", x, weight, *bias, activation=activation)


def attention(g: Generator) -> None:
    x = g.float_tensor(min_rank=2)
    length, width = product(x.tensor.shape[:-1]), x.tensor.shape[-1]
    keys = g.builder.emit("reshape", x, shape=(Dim.of(1), Dim.of(1), length, width))
    heads = g.rng.choice((1, 2))
    query = g.builder.emit("broadcast", keys, shape=(Dim.of(1), Dim.of(heads), length, width))
    mask = []
    if g.rng.random() < 0.4:
        flag = g.builder.constant(np.ones((), np.bool_))
        mask = [g.builder.emit("broadcast", flag, shape=(length, g.rng.choice((length, 1))))]
    causal = g.rng.choice(["none", "top_left", "bottom_right"])
    g.emit("attention", query, keys, keys, *mask, causal=causal)


SIMPLE: list[Move] = [
    elementwise, elementwise, elementwise, select, reduction, reshape, transpose, broadcast,
    reverse, slice_, concat, pad, gather, source, dot, computed_product, row_compound, dense,
    *ORDERED,
]  # fmt: skip
LATE: list[Move] = [gather_found, first_rows, told_size]

RARE: list[Move] = [attention, gather_found, random_draw, entropy]
