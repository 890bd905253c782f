"""Every family of ops: applied to a part, it gives that part of what it gives for the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from tests.unit.passes.sampling import SPECIAL_FLOATS

from anyshape.ir import evaluate
from anyshape.ir.build import Builder
from anyshape.ir.node import Node, Value
from anyshape.ir.types import Array, TensorType, bool_, f32, i64
from anyshape.passes.independent_axes import FAMILIES, attrs_for, operand_axes
from anyshape.passes.ranges import Cut, Part
from anyshape.sym import Dim, parse_dim

A, B, C, ONE = Dim.of("a"), Dim.of("b"), Dim.of("c"), Dim.of(1)
BINDINGS = [{"a": 2, "b": 3, "c": 4}, {"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 5, "c": 2}]
PARTS = (("0", "{n}", 1), ("{n}-min({n}, 1)", "{n}", 1), ("0", "min({n}, 1)", 1), ("0", "{n}", 2))

Make = Callable[["Inputs"], Value]


@dataclass
class Inputs:
    """A builder, and the inputs it has got."""

    b: Builder

    def __call__(self, *shape: Dim | int, dtype: object = f32) -> Value:
        assert dtype in (f32, bool_, i64)
        return self.b.param(TensorType(dtype, tuple(map(Dim.of, shape))))

    def emit(self, op: str, *operands: Value, **attrs: object) -> Value:
        return self.b.emit(op, *operands, **attrs)


def attention(alignment: str, *mask: Dim | int) -> Make:
    def make(i: Inputs) -> Value:
        q, k, v = i(A, 2, B, 8), i(A, 2, B + C, 8), i(A, 2, B + C, 3)
        more = [i(*mask, dtype=bool_)] if mask else []
        return i.emit("attention", q, k, v, *more, causal=alignment)

    return make


def same_length(i: Inputs) -> Value:
    return i.emit("attention", *(i(A, 2, B, 8) for _ in range(3)), causal="top_left")


def of_one(op: str, **attrs: object) -> Make:
    return lambda i: i.emit(op, i(A, B, C), **attrs)


CASES: Mapping[str, tuple[Make, ...]] = {
    "add": (
        lambda i: i.emit("add", i(A, B), i(A, B)),
        lambda i: i.emit("add", i(A, 1, B), i(C, B)),
        lambda i: i.emit("add", i(A, B), i(B)),
    ),
    "select": (lambda i: i.emit("select", i(A, 1, dtype=bool_), i(B), i(A, B)),),
    "broadcast": (lambda i: i.emit("broadcast", i(1, B), shape=[A, C, B]),),
    "reshape": (
        lambda i: i.emit("reshape", i(A, B, 4, 8), shape=[A, B, 32]),
        lambda i: i.emit("reshape", i(A, B, C), shape=[A * B, 1, C]),
        lambda i: i.emit("reshape", i(A, 6, C), shape=[A, 2, 3, C]),
    ),
    "transpose": (of_one("transpose", perm=[2, 0, 1]),),
    "reverse": (of_one("reverse", axes=[1]),),
    "concat": (lambda i: i.emit("concat", i(A, B, C), i(A, 2, C), axis=1),),
    "pad": (
        lambda i: i.emit("pad", i(A, B), i.b.constant(np.float32(7)), low=[0, 1], high=[0, C]),
    ),
    "gather": (
        lambda i: i.emit("gather", i(A, 3, C), i(B, 2, dtype=i64), axis=1),
        lambda i: i.emit("gather", i(3, C), i(B, dtype=i64), axis=0),
    ),
    "take_along": (lambda i: i.emit("take_along", i(A, 3, C + 1), i(A, B, C, dtype=i64), axis=1),),
    "softmax": (of_one("softmax", axis=1),),
    "log_softmax": (of_one("log_softmax", axis=2),),
    "layer_norm": (
        lambda i: i.emit("layer_norm", i(A, B, C, 4), i(C, 4), i(C, 4), axis=2),
        of_one("layer_norm", axis=1),
    ),
    "rms_norm": (lambda i: i.emit("rms_norm", i(A, B, C), i(C), axis=2),),
    **{op: (of_one(op, axis=1),) for op in ("cumsum", "cumprod", "cummax", "cummin")},
    **{
        op: (of_one(op, axes=[1]), of_one(op, axes=[0, 2], keepdims=True), of_one(op, axes=[]))
        for op in ("sum", "prod", "max", "min", "mean")
    },
    **{
        op: (
            lambda i, op=op: i.emit(op, i(A, 3, C), axis=1),
            lambda i, op=op: i.emit(op, i(A, 3, C), axis=1, keepdims=True),
        )
        for op in ("argmax", "argmin")
    },
    "dot": (
        lambda i: i.emit("dot", i(A, B, 4), i(4, C), contract=[[2], [0]]),
        lambda i: i.emit("dot", i(4, A, B), i(B, C, 4), contract=[[0], [2]], batch=[[2], [0]]),
    ),
    "attention": (
        attention("none"),
        attention("none", A, 1, B, B + C),
        attention("none", B, 1),
        attention("bottom_right", A, 2, 1, B + C),
        attention("top_left"),
        same_length,
    ),
}

MOVED = [(op, n) for op, makes in CASES.items() for n in range(len(makes))]


def test_every_family_has_cases():
    assert set(FAMILIES) == set(CASES) - {"add", "select"}


def cuts(value: Value, builder: Builder) -> Iterator[Cut]:
    for axis, size in enumerate(value.tensor.shape):
        for start, stop, step in PARTS:
            bounds = (parse_dim(text.format(n=f"({size})")) for text in (start, stop))
            yield Cut(value.node, axis, Part(*bounds, step), builder.scope)


def sliced(value: Value, axis: int, part: Part, builder: Builder) -> Value:
    whole = [Part(Dim.of(0), size) for size in value.tensor.shape]
    parts = [*whole[:axis], part, *whole[axis + 1 :]]
    starts, stops = [p.start for p in parts], [p.stop for p in parts]
    return builder.emit("slice", value, starts=starts, stops=stops, steps=[p.step for p in parts])


def on_parts(cut: Cut, builder: Builder) -> Value | str:
    """The op on parts of its operands."""
    axes = operand_axes(cut)
    if isinstance(axes, str):
        return axes
    pairs = zip(cut.node.operands, axes, strict=True)
    operands = [v if axis is None else sliced(v, axis, cut.part, builder) for v, axis in pairs]
    return builder.node(cut.node.op, operands, attrs_for([cut])).result()


FINITE = np.linspace(-2, 2, 23)
SPECIAL = np.array(SPECIAL_FLOATS[:-2])  # NaN spreads along rows, so that it is a test of its own


def data(
    type_: TensorType, sizes: Mapping[str, int], numbers: Array, rng: np.random.Generator
) -> Array:
    shape = [dim.substitute({s: Dim.of(sizes[str(s)]) for s in dim.symbols}) for dim in type_.shape]
    counts = [int(dim) for dim in shape]
    if type_.dtype is f32:
        return rng.choice(numbers, counts).astype(np.float32)
    return rng.integers(0, 2, counts).astype(type_.dtype.numpy)


@pytest.mark.parametrize(("op", "number"), MOVED)
def test_a_part_of_the_result_comes_from_parts(op: str, number: int):
    inputs = Inputs(Builder.at_entry())
    every = inputs(A, B, C)  # so that all axes have sizes
    whole = CASES[op][number](inputs)
    before, after = [every], [every]
    for cut in cuts(whole, inputs.b):
        found = on_parts(cut, inputs.b)
        if not isinstance(found, str):
            before.append(sliced(whole, cut.axis, cut.part, inputs.b))
            after.append(found)
    assert len(after) > len(PARTS) / 2
    assert [value.type for value in before] == [value.type for value in after]
    names = [f"x{n}" for n in range(len(inputs.b.params))]
    graphs = [inputs.b.graph("parts", names, values) for values in (before, after)]
    for sizes, numbers in product(BINDINGS, (FINITE, SPECIAL)):
        rng = np.random.default_rng(0)
        types = [value.tensor for value in inputs.b.params]
        arrays = [data(type_, sizes, numbers, rng) for type_ in types]
        pairs = zip(*(evaluate(graph, *arrays) for graph in graphs), strict=True)
        for wanted, got in pairs:
            np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)


# --- what does not pass ---------------------------------------------------------------------------


def objection(make: Make, axis: int, part: Part) -> str:
    inputs = Inputs(Builder.at_entry())
    found = operand_axes(Cut(make(inputs).node, axis, part, inputs.b.scope))
    assert isinstance(found, str)
    return found


def weights(i: Inputs) -> Value:
    return i.b.constant(np.ones((4, 6), np.float32))


FIRST, EVEN = Part(Dim.of(0), ONE), Part(Dim.of(0), B, 2)


@pytest.mark.parametrize(
    ("make", "axis", "part", "why"),
    [
        (lambda i: i.emit("add", i(A + 1), i(B)), 0, FIRST, "a + 1 may or may not repeat"),
        (lambda i: i.emit("reshape", i(A, B), shape=[A * B]), 0, FIRST, "takes the axis apart"),
        (lambda i: i.emit("reshape", i(A, B), shape=[B, A]), 0, FIRST, "takes the axis apart"),
        (lambda i: i.emit("reverse", i(A), axes=[0]), 0, FIRST, "turns the axis round"),
        (lambda i: i.emit("concat", i(A), i(B), axis=0), 0, FIRST, "makes the axis of several"),
        (lambda i: i.emit("softmax", i(A, B), axis=1), 1, FIRST, "needs the whole axis"),
        (lambda i: i.emit("cumsum", i(A, B), axis=0), 0, FIRST, "needs the whole axis"),
        (lambda i: i.emit("layer_norm", i(A, B), axis=0), 1, FIRST, "needs the whole axis"),
        (
            lambda i: i.emit("sum", i(A, B), axes=[0], keepdims=True),
            0, FIRST, "has made the axis",
        ),
        (
            lambda i: i.emit("dot", i(A, 4), weights(i), contract=[[1], [0]]),
            1, FIRST, "constant operands of a dot are stored whole",
        ),
        (attention("bottom_right"), 2, EVEN, "not neighbours see keys by no bounds"),
        (lambda i: i.emit("iota", shape=[A], axis=0, dtype=f32), 0, FIRST, "is not taken apart"),
    ],
)  # fmt: skip
def test_objections(make: Make, axis: int, part: Part, why: str):
    assert why in objection(make, axis, part)


def aligned(make: Make, part: Part) -> str:
    inputs = Inputs(Builder.at_entry())
    node: Node = make(inputs).node
    return attrs_for([Cut(node, 2, part, inputs.b.scope)]).causal


def test_causality_of_a_part():
    """The last queries see all keys but those after them; the first ones none but the first."""
    assert aligned(attention("bottom_right"), Part(B - 1, B)) == "bottom_right"
    assert aligned(attention("top_left"), FIRST) == "top_left"
    assert aligned(same_length, Part(B - 1, B)) == "bottom_right"
    assert aligned(same_length, FIRST) == "top_left"


def test_other_bounds_of_a_part():
    """The first queries of a sequence that follows another see what comes before it."""
    inputs = Inputs(Builder.at_entry())
    node: Node = attention("bottom_right")(inputs).node
    attrs = attrs_for([Cut(node, 2, FIRST, inputs.b.scope)])
    queries, keys = (node.operands[n].tensor.shape[2] for n in range(2))
    assert (attrs.causal, attrs.high) == ("none", keys - queries)
