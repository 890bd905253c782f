"""Kernels: a region computed as a whole means what its ops mean one after the other."""

from __future__ import annotations

import numpy as np
from tests.compliance.case import Collection
from tests.compliance.cases.control import apply, region
from tests.compliance.tolerance import accumulated

from anyshape.ir import Builder, Value

CASES = Collection()


def _affine(b: Builder, x: Value, y: Value) -> tuple[Value, ...]:
    body = region(b, [x.type, y.type], lambda i, p, q: [i.emit("add", i.emit("mul", p, p), q)])
    return apply(b, "kernel", [x, y], [body])


def _segment(b: Builder, x: Value, y: Value) -> tuple[Value, ...]:
    """Two kernels, one of which needs the other's result, as fusion would leave them."""

    def body(i: Builder, p: Value, q: Value) -> list[Value]:
        product = region(i, [p.type, q.type], lambda k, p, q: [k.emit("mul", p, q)])
        (first,) = apply(i, "kernel", [p, q], [product])
        total = region(i, [p.type], lambda k, p: [k.emit("sum", p, axes=(1,))])
        return [first, *apply(i, "kernel", [first], [total])]

    return apply(b, "segment", [x, y], [region(b, [x.type, y.type], body)])


def _two_results(b: Builder, x: Value) -> tuple[Value, ...]:
    body = region(b, [x.type], lambda i, p: [i.emit("neg", p), i.emit("sum", p, axes=(1,))])
    return apply(b, "kernel", [x], [body])


CASES.add(
    "kernel", "a map", ("f32[batch, seq]", "f32[seq]"), _affine,
    ("f32[batch, seq]",), lambda x, y: x * x + y, tolerance=accumulated(4),
)  # fmt: skip
CASES.add(
    "kernel", "two results", ("f32[batch, seq]",), _two_results,
    ("f32[batch, seq]", "f32[batch]"), lambda x: (-x, np.sum(x, axis=1)),
    tolerance=accumulated(64),
)  # fmt: skip
CASES.add(
    "segment", "two kernels", ("f32[batch, seq]", "f32[batch, seq]"), _segment,
    ("f32[batch, seq]", "f32[batch]"), lambda x, y: (x * y, np.sum(x * y, axis=1)),
    tolerance=accumulated(64),
)  # fmt: skip
