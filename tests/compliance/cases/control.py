"""Control flow: the same written with Python's own if, while and for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.compliance.case import Collection, type_of_text
from tests.compliance.tolerance import ELEMENTWISE, accumulated

from anyshape.ir import Builder, Region, Value, lookup
from anyshape.ir.attrs import make_attrs

CASES = Collection()

Body = Callable[..., Sequence[Value]]


def region(b: Builder, params: Sequence[str | Any], body: Body) -> Region:
    """A region whose body is written as a Python function."""
    inner = b.nested()
    types = [type_of_text(param) if isinstance(param, str) else param for param in params]
    return inner.region(body(inner, *(inner.param(type_) for type_ in types)))


def apply(
    b: Builder, op: str, operands: Sequence[Value], regions: Sequence[Region], **attrs: object
) -> tuple[Value, ...]:
    entry = lookup(op)
    return b.node(entry, operands, make_attrs(op, entry.attrs, attrs), regions).results


def number(b: Builder, value: float, dtype: Any = np.float32) -> Value:
    return b.constant(np.array(value, dtype))


# --- cond -----------------------------------------------------------------------------------------


def _cond(then: Body, other: Body) -> Any:
    def make(b: Builder, predicate: Value, *captures: Value) -> tuple[Value, ...]:
        types = [capture.type for capture in captures]
        regions = [region(b, types, then), region(b, types, other)]
        return apply(b, "cond", [predicate, *captures], regions)

    return make


CASES.add(
    "cond", "one type", ("bool[]", "f32[batch, seq]", "f32[batch, seq]"),
    _cond(lambda b, x, y: [b.emit("add", x, y)], lambda b, x, y: [b.emit("sub", x, y)]),
    ("f32[batch, seq]",), lambda p, x, y: x + y if p else x - y, tolerance=ELEMENTWISE,
)  # fmt: skip
CASES.add(
    "cond", "two results", ("bool[]", "f32[batch]", "i64[]"),
    _cond(lambda b, x, n: [x, n], lambda b, x, n: [b.emit("neg", x), b.emit("neg", n)]),
    ("f32[batch]", "i64[]"), lambda p, x, n: (x, n) if p else (-x, -n),
)  # fmt: skip


def _half(b: Builder, x: Value) -> Value:
    size = x.tensor.shape[0]
    return b.emit("slice", x, starts=(0,), stops=(size // 2,), steps=(1,))


CASES.add(
    "cond", "sizes differ", ("bool[]", "f32[seq]"),
    _cond(lambda b, x: [x], lambda b, x: [_half(b, x)]),
    ("f32[?0]",), lambda p, x: x if p else x[: len(x) // 2],
)  # fmt: skip


def _selected(b: Builder, x: Value) -> Value:
    found = b.emit("nonzero", x)
    column = b.emit("reshape", found, shape=(found.tensor.shape[0],))
    return b.emit("gather", x, column, axis=0)


CASES.add(
    "cond", "a late axis inside", ("bool[]", "f32[seq]"),
    _cond(lambda b, x: [_selected(b, x)], lambda b, x: [x]),
    ("f32[?1]",), lambda p, x: x[x != 0] if p else x,
)  # fmt: skip
CASES.add(
    "cond", "fresh size", ("bool[]", "i32[?, 4]"),
    _cond(lambda b, x: [x], lambda b, x: [b.emit("reverse", x, axes=(0,))]),
    ("i32[?0, 4]",), lambda p, x: x if p else x[::-1],
)  # fmt: skip


# --- while ----------------------------------------------------------------------------------------


def _doubling(b: Builder, x: Value, limit: Value) -> tuple[Value, ...]:
    """Doubles while the largest element is below a captured limit."""
    types = [x.type, limit.type]

    def condition(b: Builder, x: Value, limit: Value) -> list[Value]:
        top = b.emit("max", x, axes=tuple(range(x.tensor.rank)))
        positive = b.emit("gt", top, number(b, 0))
        return [b.emit("logical_and", b.emit("lt", top, limit), positive)]

    body = region(b, types, lambda b, x, limit: [b.emit("add", x, x)])
    return apply(b, "while", [x, limit], [region(b, types, condition), body], carried=1)


def _doubled(x: Any, limit: Any) -> Any:
    while x.size and 0 < x.max() < limit:
        x = x + x
    return x


CASES.add(
    "while", "until large", ("f32[batch, seq]", "f32[]"), _doubling, ("f32[batch, seq]",),
    _doubled, tolerance=ELEMENTWISE,
    fill=lambda rng, shapes, dtypes: [
        rng.uniform(-1, 1, shapes[0]).astype(np.float32), np.array(100, np.float32)
    ],
)  # fmt: skip


def _growing(b: Builder, x: Value, count: Value) -> tuple[Value, ...]:
    """Appends a row in each of `count` rounds: a size of the region's own."""
    params = ["f32[n, 3]", "i64[]"]

    def condition(b: Builder, x: Value, count: Value) -> list[Value]:
        return [b.emit("gt", count, number(b, 0, np.int64))]

    def body(b: Builder, x: Value, count: Value) -> list[Value]:
        row = b.emit("broadcast", number(b, 1), shape=(1, 3))
        longer = b.emit("concat", x, row, axis=0)
        return [longer, b.emit("sub", count, number(b, 1, np.int64))]

    regions = [region(b, params, condition), region(b, params, body)]
    return apply(b, "while", [x, count], regions, carried=2)


CASES.add(
    "while", "growing", ("f32[batch, 3]", "i64[]"), _growing, ("f32[?0, 3]", "i64[]"),
    lambda x, count: (
        np.concatenate([x, np.ones((max(int(count), 0), 3), np.float32)]), np.minimum(count, 0)
    ),
)  # fmt: skip


# --- scan -----------------------------------------------------------------------------------------


def _running(reverse: bool) -> Any:
    def make(b: Builder, start: Value, xs: Value, scale: Value) -> tuple[Value, ...]:
        def body(b: Builder, total: Value, x: Value, scale: Value) -> list[Value]:
            following = b.emit("add", total, b.emit("mul", x, scale))
            return [following, following]

        types = [start.type, xs.tensor.with_shape(xs.tensor.shape[1:]), scale.type]
        return apply(
            b, "scan", [start, xs, scale], [region(b, types, body)],
            carried=1, scanned=1, length=xs.tensor.shape[0], reverse=reverse,
        )  # fmt: skip

    return make


def _running_sums(reverse: bool) -> Any:
    def expect(start: Any, xs: Any, scale: Any) -> tuple[Any, Any]:
        order = xs[::-1] if reverse else xs
        sums = start + np.cumsum(order * scale, axis=0)
        final = sums[-1] if len(xs) else start
        return final, sums[::-1] if reverse else sums

    return expect


for _reverse in (False, True):
    CASES.add(
        "scan", "running sum" + " backwards" * _reverse,
        ("f32[batch]", "f32[seq, batch]", "f32[]"), _running(_reverse),
        ("f32[batch]", "f32[seq, batch]"), _running_sums(_reverse), tolerance=accumulated(64),
    )  # fmt: skip


def _counting(b: Builder, x: Value) -> tuple[Value, ...]:
    """No sequence goes in: squares of 0, 1, … come out."""

    def body(b: Builder, step: Value) -> list[Value]:
        return [b.emit("add", step, number(b, 1, np.int64)), b.emit("mul", step, step)]

    start = number(b, 0, np.int64)
    length = x.tensor.shape[0] // 2
    attrs = {"carried": 1, "scanned": 0, "length": length}
    return apply(b, "scan", [start], [region(b, ["i64[]"], body)], **attrs)


CASES.add(
    "scan", "squares", ("f32[seq]",), _counting, ("i64[]", "i64[seq//2]"),
    lambda x: (np.int64(len(x) // 2), np.arange(len(x) // 2, dtype=np.int64) ** 2),
)  # fmt: skip


def _pairs(b: Builder, xs: Value, ys: Value) -> tuple[Value, ...]:
    """Two sequences, the size of one fresh, and no state."""
    types = [xs.tensor.with_shape(()), ys.tensor.with_shape(ys.tensor.shape[1:])]
    body = region(b, types, lambda b, x, y: [b.emit("mul", y, x)])
    attrs = {"carried": 0, "scanned": 2, "length": ys.tensor.shape[0]}
    return apply(b, "scan", [xs, ys], [body], **attrs)


CASES.add(
    "scan", "two sequences", ("i32[?]", "i32[seq, 2]"), _pairs, ("i32[seq, 2]",),
    lambda xs, ys: xs[:, None] * ys,
)  # fmt: skip
