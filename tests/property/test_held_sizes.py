"""Random programs on vectors of sizes: the dims that they hold are what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.expressions import STEADY

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.held_sizes import sizes_in
from anyshape.ir import evaluate
from anyshape.ir.types import i16, i64
from anyshape.sym import Axis, Dim

SIZES = ((0, 1), (1, 0), (2, 3), (5, 2), (7, 7))

UNARY: dict[str, Any] = {
    "neg": lambda x: -x,
    "abs": abs,
    "sign": ash.sign,
    "reversed": lambda x: x[::-1],
    "rotated": lambda x: ash.concat([x[1:], x[:1]]),
    "gathered": lambda x: x[ash.asarray(np.array([2, 0, 1]))],
    "stacked": lambda x: ash.transpose(ash.stack([x, x * 2])).reshape(-1)[1:4],
    "total": lambda x: ash.broadcast_to(ash.sum(x), (3,)),
    "product": lambda x: ash.broadcast_to(ash.prod(x[:2]), (3,)),
    "greatest": lambda x: ash.broadcast_to(ash.max(x), (3,)),
    "narrow": lambda x: x.astype(i16).astype(i64),
    "truth": lambda x: (x > 1).astype(i64),
    "halved": lambda x: x // 2,
    "rest": lambda x: x % 3,
}
BINARY: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": ash.maximum,
    "minimum": ash.minimum,
    "quotient": lambda x, y: x // y,
    "where": lambda x, y: ash.where(x >= y, x, y),
    "equal": lambda x, y: ash.where(ash.logical_or(x == y, y < 0), x, y),
    "mixed": lambda x, y: ash.concat([x[:1], y[1:]]),
}

step = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 9), st.just(0)),
    st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
)


def vector(x: Any, steps: list[tuple[str, int, int]]) -> Any:
    """Each step takes values made before it."""
    start = active().emit("shape_of", x)
    values = [start, start + 1, ash.asarray(np.array([-1, 0, 3]))]
    for name, left, right in steps:
        first, second = values[left % len(values)], values[right % len(values)]
        values.append(UNARY[name](first) if name in UNARY else BINARY[name](first, second))
    return values[-1]


@given(st.lists(step, min_size=1, max_size=8))
@settings(STEADY, max_examples=150)
def test_dims_are_what_the_program_computes(steps: list[tuple[str, int, int]]) -> None:
    held: list[tuple[Dim, ...] | None] = []

    def f(x: Any) -> Any:
        result = vector(x, steps)
        held.append(sizes_in(active().value(result)))
        return result

    f.__annotations__["x"] = ash.f32["a", "b", 4]
    try:
        graph = ash.jit(f).graph
    except AnyshapeError:  # a number that its narrow type never holds
        return
    for a, b in SIZES if held[0] is not None else ():
        try:
            (computed,) = evaluate(graph, np.zeros((a, b, 4), np.float32))
        except AnyshapeError:  # what was required does not hold: the call is refused
            continue
        binding = {Axis("a").symbol: a, Axis("b").symbol: b}
        assert [dim.evaluate(binding) for dim in held[0] or ()] == computed.tolist()


def test_most_programs_hold_sizes() -> None:
    """What the property is about must happen: each step alone, on a shape."""
    unknown: list[str] = []

    def f(x: Any) -> Any:
        for name in (*UNARY, *BINARY):
            if sizes_in(active().value(vector(x, [(name, 1, 1)]))) is None:
                unknown.append(name)
        return x

    f.__annotations__["x"] = ash.f32["a", "b", 4]
    assert ash.jit(f).graph
    assert unknown == ["truth"]  # a size may be 0 or more
