"""What models are made of besides rows, products and attention: convolutions, numbers of bytes,
loops, shared heads, chosen rows, layers that repeat, and functions of every kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tests.fuzz.generate import MAX_RANK, Generator, NotApplicableError
from tests.fuzz.optimizer.building import heads_of, keep, picked, projected, weights, width_of

from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.opdef import lookup
from anyshape.ir.types import FLOATS, TensorType, bf16, bool_, f16, f32, f64, i8, i32, i64
from anyshape.ops.compose import Expr, iota
from anyshape.ops.control import ScanAttrs, WhileAttrs
from anyshape.sym import Dim

# --- elementwise ----------------------------------------------------------------------------------


def function(g: Generator) -> None:
    """Functions where they are defined; at their ends, rounding decides what is NaN."""
    x = picked(g, 0)
    size = x.apply("abs") + 0.1
    forms: tuple[Callable[[], Expr], ...] = (
        lambda: size.apply("sqrt"),
        lambda: size.apply("rsqrt"),
        lambda: size.apply("log"),
        lambda: x.apply("abs").apply("log1p"),
        lambda: x.apply("minimum", x.lift(8.0)).apply("expm1"),
        lambda: x.apply("sin"),
        lambda: x.apply("cos") * x,
        lambda: x.apply("erf"),
        lambda: x / size,
        lambda: x.lift(1.0) / size,
        lambda: x.apply("maximum", x.lift(-1.5)).apply("minimum", x.lift(1.5)),
        lambda: x.apply("gt", x.lift(0.0)).apply("select", x, x * 0.1),
    )
    keep(g, g.rng.choice(forms)())


def cast(g: Generator) -> None:
    x = picked(g)
    keep(g, x.cast(g.rng.choice((f16, bf16, f32, f64))))


def parts(g: Generator) -> None:
    """A concatenation of so many parts that it is one of concatenations."""
    x = picked(g)
    axis = g.rng.randrange(x.rank)
    scaled = [x * g.rng.choice((1.0, 2.0, -0.5)) for _ in range(g.rng.randint(5, 9))]
    keep(g, scaled[0].apply("concat", *scaled[1:], axis=axis))


def layers(g: Generator) -> None:
    """Kernels of one form with other numbers, more than are compiled one by one."""
    x = picked(g)
    for _ in range(g.rng.choice((3, 10))):
        total = (x * g.rng.uniform(0.2, 0.8)).apply("tanh").reduce("sum", x.rank - 1)
        x = x * 0.5 + total * g.rng.uniform(-0.1, 0.1)
    keep(g, x)


# --- products -------------------------------------------------------------------------------------


def shared_heads(g: Generator) -> None:
    """Four heads for queries, and fewer for keys and values, which are repeated."""
    x = picked(g, 2)
    if x.rank > MAX_RANK - 2:
        raise NotApplicableError
    few = g.rng.choice((1, 2))
    q, *kv = (
        heads_of(projected(x, weights(g, width_of(x), 4 * heads, dtype=x.dtype)), heads)
        for heads in (4, few, few)
    )
    k, v = (_repeated(part, 4 // few) for part in kv)
    batch = tuple(range(q.rank - 2))
    last = q.rank - 1
    scores = q.apply("dot", k, contract=((last,), (last,)), batch=(batch, batch)) * 0.5
    if g.rng.random() < 0.5:
        row, column = (iota(g.builder, scores.shape[-2:], axis, i64) for axis in (0, 1))
        scores = column.apply("le", row).apply("select", scores, scores.lift(-math.inf))
    share = scores.apply("softmax", axis=last)
    keep(g, share.apply("dot", v, contract=((last,), (last - 1,)), batch=(batch, batch)))


def _repeated(x: Expr, often: int) -> Expr:
    """[…, kv, seq, width] to […, kv * often, seq, width], neighbours alike."""
    *lead, heads, seq, width = x.shape
    one = x.reshape(*lead, heads, Dim.of(1), seq, width)
    many = one.apply("broadcast", shape=(*lead, heads, Dim.of(often), seq, width))
    return many.reshape(*lead, heads * often, seq, width)


def bytes_(g: Generator) -> None:
    """A product of numbers of bytes, whole or as the numbers that they stand for."""
    x = picked(g)
    depth, columns = width_of(x), g.rng.choice((1, 8, 17))
    known = x.apply("eq", x).apply("select", x, x.lift(0.0)).cast(f32)
    near = (known * 8.0).apply("maximum", known.lift(-120.0)).apply("minimum", known.lift(120.0))
    q = near.apply("round").cast(i8)
    rng = np.random.default_rng(g.rng.getrandbits(32))
    stored = g.builder.constant(rng.integers(-128, 128, (depth, columns), np.int8))
    w = Expr(g.builder, stored)
    zero = g.rng.choice((0, 3))
    if g.rng.random() < 0.3:
        keep(g, projected(q.cast(i32) - zero, w.cast(i32)).cast(f32) * 0.01)
        return
    scales = Expr(g.builder, g.builder.constant(rng.uniform(0.5, 1.5, columns).astype(np.float32)))
    keep(g, projected((q.cast(i32) - zero).cast(f32) * 0.125, w.cast(f32) * scales))


def convolution(g: Generator) -> None:
    """Two convolutions of one region, with channels first or last, and what is between them."""
    x = picked(g, 3)
    if x.rank > MAX_RANK or x.dtype not in (f32, f16):
        raise NotApplicableError
    y = _conv(g, x)
    is_first = g.rng.random() < 0.6
    order = (0, y.rank - 1, *range(1, y.rank - 1))
    y = y.apply("transpose", perm=order) if is_first else y
    channels = (Dim.of(4), *(Dim.of(1),) * (y.rank - 2)) if is_first else (Dim.of(4),)
    for numbers in (weights(g, 4, dtype=x.dtype) for _ in range(g.rng.randint(0, 2))):
        apply = g.rng.choice(("mul", "add"))
        y = y.apply(apply, numbers.reshape(*channels))
    y = y.apply(g.rng.choice(("relu", "silu", "tanh"))) + y if g.rng.random() < 0.7 else y
    if g.rng.random() < 0.5:
        keep(g, y)
    back = (0, *range(2, y.rank), 1)
    keep(g, _conv(g, y.apply("transpose", perm=back) if is_first else y))


def _conv(g: Generator, x: Expr) -> Expr:
    spatial = x.rank - 2
    taps = [g.rng.choice((1, 1, 2, 3)) for _ in range(spatial)]
    kernel = weights(g, 1, *taps, width_of(x), 4, dtype=x.dtype)
    low = [tap - 1 if g.rng.random() < 0.7 else tap // 2 for tap in taps]
    return x.apply(
        "conv",
        kernel * (1 / math.sqrt(math.prod(taps) * max(1, width_of(x)))),
        strides=tuple(g.rng.choice((1, 1, 2)) for _ in taps),
        dilations=(1,) * spatial,
        low=tuple(low),
        high=tuple(tap - 1 - before for tap, before in zip(taps, low, strict=True)),
    )


# --- loops ----------------------------------------------------------------------------------------


def recurrent(g: Generator) -> None:
    """A cell over rows: half of its products are those of all rows."""
    x = picked(g, 2)
    depth = width_of(x)
    element = x.value.tensor.with_shape(x.shape[1:])
    state = x.lift(0.0).apply("broadcast", shape=(*x.shape[1:-1], Dim.of(4)))
    body = g.builder.nested()
    s, row = (Expr(body, body.param(type_)) for type_ in (state.value.tensor, element))
    inside = Generator(g.rng, body, [])
    of_row = projected(row, weights(inside, depth, 4, dtype=x.dtype))
    of_state = projected(s, weights(inside, 4, 4, dtype=x.dtype))
    after = (of_row + of_state).apply("tanh")
    gate = of_row.apply("sigmoid") if g.rng.random() < 0.5 else after
    attrs = ScanAttrs(1, 1, x.shape[0], reverse=g.rng.random() < 0.5)
    region = body.region([after.value, (after * gate).value])
    _add(g, g.builder, "scan", [state.value, x.value], attrs, [region])


def invariant(g: Generator) -> None:
    """A loop that does the same product in each of its iterations."""
    x = picked(g, 2)
    if x.shape[-1].constant is None:
        raise NotApplicableError
    w = weights(g, width_of(x), width_of(x), dtype=x.dtype)
    types = [i64[()], x.value.tensor, x.value.tensor, w.value.tensor]
    condition, body = g.builder.nested(), g.builder.nested()
    count, *_ = (Expr(condition, condition.param(type_)) for type_ in types)
    step, y, same, weight = (Expr(body, body.param(type_)) for type_ in types)
    product = projected(same, weight)
    changed = (y * 0.5 + product) if g.rng.random() < 0.5 else (y + product).apply("tanh")
    regions = [
        condition.region([count.apply("lt", count.lift(g.rng.randint(0, 3))).value]),
        body.region([(step + 1).value, changed.value]),
    ]
    start = g.builder.constant(np.zeros((), np.int64))
    _add(g, g.builder, "while", [start, x.value, x.value, w.value], WhileAttrs(2), regions)


def _add(
    g: Generator, b: Builder, op: str, operands: list[Value], attrs: object, regions: object
) -> None:
    node = b.node(lookup(op), operands, attrs, regions)
    g.pool.extend(
        value
        for value in node.results
        if isinstance(value.type, TensorType) and value.type.dtype in FLOATS
    )


# --- rows that data choose ------------------------------------------------------------------------


def chosen(g: Generator) -> None:
    """The places where a mask is true, and what is there: their number is known at run time."""
    mask = Expr(g.builder, g.tensor(lambda t: t.dtype is bool_))
    size = mask.value.tensor.size
    found = mask.reshape(size).apply("nonzero")
    rows = found.reshape(found.shape[0])
    places = iota(g.builder, (size,), 0, f32) * 0.1
    keep(g, places.apply("gather", rows, axis=0).apply("sin"))


def followed(g: Generator) -> None:
    """A mask of positions that are all alike."""
    x = picked(g)
    n = x.shape[-1]
    position = iota(g.builder, (n,), 0, i64)
    after = position + 1
    same = (after - position).apply("eq", position.lift(1))
    keep(g, same.apply("select", x, x.lift(0.0)))
