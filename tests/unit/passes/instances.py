"""For each canonicalization rule, a generator of programs in which the rule applies.

A generator takes a `Draw` and returns the value the rule is to be applied at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from tests.unit.passes.sampling import Draw

from anyshape.ir.node import Value
from anyshape.ir.opdef import lookup
from anyshape.ir.types import ALL_DTYPES, FLOATS, INTEGERS, NUMERIC, SIGNED, DType, bool_
from anyshape.passes.rules import CANONICAL
from anyshape.passes.rules.casts import represents
from anyshape.sym import Dim

Instance = Callable[[Draw], Value]


def allowed(op: str) -> tuple[DType, ...]:
    """The dtypes an op of one dtype takes."""
    rule = lookup(op).dtype_rule
    return getattr(rule, "allowed", FLOATS)


# --- traits ---------------------------------------------------------------------------------------


def twice(op: str, d: Draw) -> Value:
    x = d.param(d.dtype(allowed(op)))
    return d.b.emit(op, d.b.emit(op, x))


def with_itself(op: str, d: Draw) -> Value:
    x = d.param(d.dtype(allowed(op)))
    return d.b.emit(op, x, x)


def neutral(op: str, d: Draw) -> Value:
    exact = [t for t in allowed(op) if not (t.is_float and lookup(op).neutral == 0)]
    x = d.param(d.dtype(exact))
    operands = [x, d.full(lookup(op).neutral or 0, x)]
    d.random.shuffle(operands)
    return d.b.emit(op, *operands)


def constant_left(op: str, d: Draw) -> Value:
    dtype = d.dtype(allowed(op))
    x = d.param(dtype)
    return d.b.emit(op, d.b.constant(np.array(1).astype(dtype.numpy)), x)


# --- arithmetic -----------------------------------------------------------------------------------


def with_number(op: str, number: float, dtypes: tuple[DType, ...], d: Draw) -> Value:
    x = d.param(d.dtype(dtypes))
    return d.b.emit(op, x, d.full(number, x))


def with_negated(op: str, d: Draw) -> Value:
    dtype = d.dtype(FLOATS + SIGNED)
    x, y = d.param(dtype, shape := d.shape()), d.param(dtype, shape)
    return d.b.emit(op, x, d.b.emit("neg", y))


# --- selection ------------------------------------------------------------------------------------


def select_known(condition: bool, d: Draw) -> Value:
    dtype = d.dtype(ALL_DTYPES)
    x, y = d.param(dtype, shape := d.shape()), d.param(dtype, shape)
    return d.b.emit("select", d.b.constant(np.array(condition)), x, y)


def select_same(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    return d.b.emit("select", d.param(bool_, x.tensor.shape), x, x)


def select_not(d: Draw) -> Value:
    dtype = d.dtype(ALL_DTYPES)
    x, y = d.param(dtype, shape := d.shape()), d.param(dtype, shape)
    return d.b.emit("select", d.b.emit("logical_not", d.param(bool_, shape)), x, y)


# --- casts ----------------------------------------------------------------------------------------


def cast_same(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    return d.b.emit("cast", x, to=x.tensor.dtype)


def cast_cast(d: Draw) -> Value:
    """Through a dtype that holds every value; float to integer is left out: NaN is unspecified."""
    start = d.dtype(ALL_DTYPES)
    middle = d.dtype([t for t in ALL_DTYPES if represents(t, start) and _keeps_kind(start, t)])
    end = d.dtype([t for t in ALL_DTYPES if t.is_float or not start.is_float])
    if start.is_integer and middle.is_float and end.is_float:
        end = bool_
    return d.b.emit("cast", d.b.emit("cast", d.param(start), to=middle), to=end)


def _keeps_kind(start: DType, middle: DType) -> bool:
    """Integers through a float and back may overflow the last cast, which is unspecified."""
    return start.is_float == middle.is_float or start is bool_


# --- movement -------------------------------------------------------------------------------------


def reshape_same(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    return d.b.emit("reshape", x, shape=x.tensor.shape)


def reshape_reshape(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    shape = list(x.tensor.shape)
    flat = d.b.emit("reshape", x, shape=(x.tensor.size,))
    shape.insert(d.random.randint(0, len(shape)), Dim.of(1))
    return d.b.emit("reshape", flat, shape=shape)


def broadcast_same(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    return d.b.emit("broadcast", x, shape=x.tensor.shape)


def broadcast_broadcast(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES), (Dim.of(1), d.dim()))
    once = d.b.emit("broadcast", x, shape=(d.dim(), x.tensor.shape[1]))
    return d.b.emit("broadcast", once, shape=(d.dim(), *once.tensor.shape))


def transpose_identity(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    return d.b.emit("transpose", x, perm=range_of(x))


def range_of(x: Value) -> list[int]:
    return list(range(x.tensor.rank))


def transpose_ones(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES), (d.dim(), Dim.of(1), d.dim(), Dim.of(1)))
    return d.b.emit(
        "transpose", x, perm=d.random.choice([(1, 0, 3, 2), (0, 2, 1, 3), (3, 0, 1, 2)])
    )


def transpose_broadcast(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES), (d.dim(), Dim.of(1), d.dim()))
    once = d.b.emit("broadcast", x, shape=(x.tensor.shape[0], d.dim(), x.tensor.shape[2]))
    return d.b.emit("transpose", once, perm=d.random.choice([(1, 0, 2), (2, 1, 0), (1, 2, 0)]))


def reshape_iota(d: Draw) -> Value:
    size = d.dim()
    positions = d.b.emit("iota", shape=(size,), axis=0, dtype=d.dtype(INTEGERS))
    ones = [Dim.of(1)] * d.random.randint(0, 2)
    return d.b.emit("reshape", positions, shape=(*ones, size, Dim.of(1)))


def transpose_transpose(d: Draw) -> Value:
    value = d.param(d.dtype(ALL_DTYPES))
    for _ in range(2):
        perm = range_of(value)
        d.random.shuffle(perm)
        value = d.b.emit("transpose", value, perm=perm)
    return value


def reverse_nothing(d: Draw) -> Value:
    return d.b.emit("reverse", d.param(d.dtype(ALL_DTYPES)), axes=())


def reverse_reverse(d: Draw) -> Value:
    value = d.param(d.dtype(ALL_DTYPES))
    for _ in range(2):
        axes = [axis for axis in range_of(value) if d.random.random() < 0.5]
        value = d.b.emit("reverse", value, axes=axes)
    return value


def concat_one(d: Draw) -> Value:
    return d.b.emit("concat", d.param(d.dtype(ALL_DTYPES), (d.dim(), d.dim())), axis=1)


def concat_empty(d: Draw) -> Value:
    dtype, rows = d.dtype(ALL_DTYPES), d.dim()
    parts = [d.param(dtype, (rows, size)) for size in (d.dim(), Dim.of(0), d.dim())]
    d.random.shuffle(parts)
    return d.b.emit("concat", *parts, axis=1)


def concat_concat(d: Draw) -> Value:
    dtype, rows = d.dtype(ALL_DTYPES), d.dim()
    x, y, z = (d.param(dtype, (rows, d.dim())) for _ in range(3))
    parts = [d.b.emit("concat", x, y, axis=1), z]
    d.random.shuffle(parts)
    return d.b.emit("concat", *parts, axis=1)


def pad_nothing(d: Draw) -> Value:
    dtype = d.dtype(ALL_DTYPES)
    x, zero = d.param(dtype), Dim.of(0)
    none = [zero] * x.tensor.rank
    return d.b.emit("pad", x, d.param(dtype, ()), low=none, high=none)


def pad_pad(d: Draw) -> Value:
    dtype = d.dtype(ALL_DTYPES)
    value, fill = d.param(dtype), d.param(dtype, ())
    for _ in range(2):
        low, high = ([d.dim() for _ in range_of(value)] for _ in range(2))
        value = d.b.emit("pad", value, fill, low=low, high=high)
    return value


# --- slices ---------------------------------------------------------------------------------------


def slice_all(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES))
    rank = x.tensor.rank
    return d.b.emit("slice", x, starts=[0] * rank, stops=x.tensor.shape, steps=[1] * rank)


def slice_slice(d: Draw) -> Value:
    """Sizes are sums, so that bounds are provably inside."""
    parts = [d.dim() for _ in range(5)]
    size = sum(parts[1:], parts[0])
    x = d.param(d.dtype(ALL_DTYPES), (size, Dim.of(7)))
    inner_size = parts[1] + parts[2] + parts[3]
    inner = d.b.emit("slice", x, starts=(parts[0], 1), stops=(parts[0] + inner_size, 6),
                     steps=(1, 2))  # fmt: skip
    stop = parts[1] + parts[2]
    return d.b.emit("slice", inner, starts=(parts[1], 0), stops=(stop, 3), steps=(2, 1))


def slice_broadcast(d: Draw) -> Value:
    parts = [d.dim() for _ in range(3)]
    ones = [Dim.of(1)] * d.random.randint(0, 1)
    x = d.param(d.dtype(ALL_DTYPES), (*ones, d.dim()))
    repeated, kept = sum(parts[1:], parts[0]), x.tensor.shape[-1]
    whole = d.b.emit("broadcast", x, shape=(repeated, kept))
    stops, steps = (parts[0] + parts[1], kept), (d.random.choice([1, 2]), 1)
    return d.b.emit("slice", whole, starts=(parts[0], 0), stops=stops, steps=steps)


def gather_slice(d: Draw) -> Value:
    first, step, count = (d.random.randint(low, 3) for low in (0, 1, 1))
    last = first + step * (count - 1)
    x = d.param(d.dtype(ALL_DTYPES), (d.dim(), Dim.of(last + 1) + d.dim(), d.dim()))
    indices = d.b.constant(np.arange(first, last + 1, step))
    return d.b.emit("gather", x, indices, axis=1)


# --- reductions -----------------------------------------------------------------------------------


def reduce_ones(op: str, d: Draw) -> Value:
    exact = [t for t in allowed(op) if op != "sum" or not t.is_float]
    x = d.param(d.dtype(exact), (Dim.of(1), d.dim(), Dim.of(1)))
    axes = [axis for axis in (0, 2) if d.random.random() < 0.6]
    return d.b.emit(op, x, axes=axes, keepdims=d.random.random() < 0.5)


# --- sizes ----------------------------------------------------------------------------------------


def dim_of(d: Draw) -> Value:
    x = d.param(d.dtype(ALL_DTYPES), d.shape(2))
    return d.b.emit("dim_of", x, axis=d.random.randrange(2))


def shape_of(d: Draw) -> Value:
    return d.b.emit("shape_of", d.param(d.dtype(ALL_DTYPES)))


def dim_value(d: Draw) -> Value:
    return d.b.emit("dim_value", value=d.random.randrange(100))


def size_arithmetic(op: str, d: Draw) -> Value:
    left = d.b.emit("dim_value", value=d.dim() + Dim.of("a"))
    right = d.b.emit("dim_value", value=d.dim() + 1)
    return d.b.emit(op, left, right)


# --- control --------------------------------------------------------------------------------------


def cond_known(d: Draw) -> Value:
    x = d.param(d.dtype(NUMERIC))
    then, other = d.b.nested(), d.b.nested()
    a, b = then.param(x.type), other.param(x.type)
    regions = [then.region([then.emit("add", a, a)]), other.region([other.emit("mul", b, b)])]
    predicate = d.b.constant(np.array(d.random.random() < 0.5))
    entry = lookup("cond")
    return d.b.node(entry, [predicate, x], entry.attrs(), regions).result()


def while_never(d: Draw) -> Value:
    x = d.param(d.dtype(NUMERIC))
    condition, body = d.b.nested(), d.b.nested()
    condition.param(x.type)
    a = body.param(x.type)
    never = condition.region([condition.constant(np.array(False))])
    entry = lookup("while")
    regions = [never, body.region([body.emit("add", a, a)])]
    return d.b.node(entry, [x], entry.attrs(carried=1), regions).result()


NAMED: dict[str, Instance] = {
    "add-negative-zero": partial(with_number, "add", -0.0, FLOATS),
    "sub-zero": partial(with_number, "sub", 0, NUMERIC),
    "div-one": partial(with_number, "div", 1, FLOATS),
    "pow-one": partial(with_number, "pow", 1, FLOATS),
    "floordiv-one": partial(with_number, "floordiv", 1, INTEGERS),
    "mod-one": partial(with_number, "mod", 1, INTEGERS),
    "mul-zero": partial(with_number, "mul", 0, INTEGERS),
    "sub-self": lambda d: d.b.emit("sub", x := d.param(d.dtype(INTEGERS)), x),
    "add-negated": partial(with_negated, "add"),
    "sub-negated": partial(with_negated, "sub"),
    "select-true": partial(select_known, True),
    "select-false": partial(select_known, False),
    "select-same": select_same,
    "select-not": select_not,
    "cast-same": cast_same,
    "cast-cast": cast_cast,
    "reshape-same": reshape_same,
    "reshape-reshape": reshape_reshape,
    "broadcast-same": broadcast_same,
    "broadcast-broadcast": broadcast_broadcast,
    "transpose-identity": transpose_identity,
    "transpose-transpose": transpose_transpose,
    "transpose-ones": transpose_ones,
    "transpose-broadcast": transpose_broadcast,
    "reshape-iota": reshape_iota,
    "reverse-nothing": reverse_nothing,
    "reverse-reverse": reverse_reverse,
    "concat-one": concat_one,
    "concat-empty": concat_empty,
    "concat-concat": concat_concat,
    "pad-nothing": pad_nothing,
    "pad-pad": pad_pad,
    "slice-all": slice_all,
    "slice-slice": slice_slice,
    "slice-broadcast": slice_broadcast,
    "gather-slice": gather_slice,
    "dim-of": dim_of,
    "shape-of": shape_of,
    "dim-value-constant": dim_value,
    "cond-known": cond_known,
    "while-never": while_never,
}

FAMILIES: dict[str, Callable[[str, Draw], Value]] = {
    "-constant-right": constant_left,
    "-neutral": neutral,
    "-involution": twice,
    "-of-one": reduce_ones,
    "-of-sizes": size_arithmetic,
}
"""By the end of the name; what stands before is the op."""


def instance_of(rule: str) -> Instance | None:
    if rule in NAMED:
        return NAMED[rule]
    if rule.endswith("-idempotent"):
        name = rule.removesuffix("-idempotent")
        family = twice if lookup(name).signature.limit == 1 else with_itself
        return partial(family, name)
    for suffix, family in FAMILIES.items():
        if rule.endswith(suffix):
            return partial(family, rule.removesuffix(suffix))
    return None


INSTANCES = {rule.name: instance_of(rule.name) for rule in CANONICAL}
