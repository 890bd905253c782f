"""Tensors that hold sizes: their dims are what the tensors are at every binding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.frontend.builder import control
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported import held_sizes
from anyshape.frontend.imported.held_sizes import sizes_in
from anyshape.ir import evaluate
from anyshape.ir.types import bool_, i8, i32, i64
from anyshape.sym import Axis, Dim

Build = Callable[[Any], Any]
AXES = {"batch": 2, "seq": 5}


def shape_of(x: Any) -> Any:
    return active().emit("shape_of", x)


def held(tensor: Any) -> tuple[Dim, ...] | None:
    return sizes_in(active().value(tensor))


def traced(build: Build, low: int = 0) -> tuple[tuple[Dim, ...] | None, Any]:
    """What a tensor made of an input [batch, seq, 12] holds, and the graph that computes it."""
    sizes: list[tuple[Dim, ...] | None] = []

    def f(x: Any) -> Any:
        tensor = build(x)
        sizes.append(held(tensor))
        return tensor

    axes = [Axis("batch", min=low), Axis("seq", min=low)]
    f.__annotations__["x"] = ash.f32["batch", "seq", 12]
    graph = ash.jit(axes=axes)(f).graph
    return sizes[0], graph


def texts(build: Build, low: int = 0) -> list[str] | None:
    """The dims as text, once the graph's own interpreter has confirmed them."""
    sizes, graph = traced(build, low)
    if sizes is None:
        return None
    (array,) = evaluate(graph, np.zeros((AXES["batch"], AXES["seq"], 12), np.float32))
    binding = {Axis(name).symbol: size for name, size in AXES.items()}
    assert [dim.evaluate(binding) for dim in sizes] == np.ravel(array).tolist()
    return [str(dim) for dim in sizes]


def constant(*numbers: int, dtype: Any = np.int64) -> Any:
    return ash.asarray(np.array(numbers, dtype))


def size(x: Any, axis: int) -> Any:
    return active().emit("dim_of", x, axis=axis)


CASES: dict[str, tuple[Build, list[str]]] = {
    "a constant": (lambda x: constant(3, -1), ["3", "-1"]),
    "a scalar": (lambda x: ash.asarray(7), ["7"]),
    "a dim": (lambda x: ash.asarray(x.shape[0] * 2), ["2*batch"]),
    "one size": (lambda x: size(x, 1), ["seq"]),
    "a shape": (shape_of, ["batch", "seq", "12"]),
    "counting": (lambda x: ash.arange(1, 4), ["1", "2", "3"]),
    "a slice": (lambda x: shape_of(x)[1:], ["seq", "12"]),
    "a slice with a step": (lambda x: shape_of(x)[::2], ["batch", "12"]),
    "reversed": (lambda x: shape_of(x)[::-1], ["12", "seq", "batch"]),
    "an index": (lambda x: shape_of(x)[1], ["seq"]),
    "gathered": (lambda x: shape_of(x)[constant(2, 0)], ["12", "batch"]),
    "gathered from the end": (lambda x: shape_of(x)[constant(-2)], ["seq"]),
    "a matrix": (lambda x: shape_of(ash.transpose(x)).reshape((3, 1)), ["12", "seq", "batch"]),
    "transposed": (
        lambda x: ash.transpose(ash.stack([shape_of(x), shape_of(x) * 2])),
        ["batch", "2*batch", "seq", "2*seq", "12", "24"],
    ),
    "stacked": (lambda x: ash.stack([size(x, 1), size(x, 0)]), ["seq", "batch"]),
    "padded": (lambda x: ash.pad(shape_of(x)[:1], (1, 2), 7), ["7", "batch", "7", "7"]),
    "broadcast": (lambda x: ash.broadcast_to(size(x, 0), (2,)), ["batch", "batch"]),
    "arithmetic": (
        lambda x: (shape_of(x) + 1) * 2 - constant(0, 2, 4),
        ["2*batch + 2", "2*seq", "22"],
    ),
    "negative": (lambda x: -shape_of(x), ["-batch", "-seq", "-12"]),
    "quotients": (lambda x: shape_of(x) // constant(2, 3, 5), ["batch//2", "seq//3", "2"]),
    "remainders": (lambda x: shape_of(x) % constant(2, 3, 5), ["batch % 2", "seq % 3", "2"]),
    "extrema": (
        lambda x: ash.stack([ash.maximum(size(x, 0), 0), ash.minimum(size(x, 0), -1)]),
        ["batch", "-1"],
    ),
    "open extrema": (lambda x: ash.maximum(size(x, 0), 4), ["max(4, batch)"]),
    "a magnitude": (lambda x: abs(-shape_of(x)), ["batch", "seq", "12"]),
    "a product": (lambda x: ash.prod(shape_of(x)), ["12*batch*seq"]),
    "a sum": (lambda x: ash.sum(shape_of(x), axis=0, keepdims=True), ["batch + seq + 12"]),
    "the greatest": (lambda x: ash.max(ash.stack([size(x, 0), size(x, 0) + 1])), ["batch + 1"]),
    "narrow": (lambda x: shape_of(x)[2:].astype(i8).astype(i64), ["12"]),
    "-1 replaced": (
        lambda x: ash.where(constant(-1, 3) == -1, shape_of(x)[:2], constant(-1, 3)),
        ["batch", "3"],
    ),
    "sizes are not -1": (
        lambda x: ash.where(shape_of(x) == -1, ash.ones(3, i64), shape_of(x)),
        ["batch", "seq", "12"],
    ),
    "joined conditions": (
        lambda x: ash.where(
            ash.logical_or(size(x, 0) < 0, ash.logical_not(size(x, 1) >= 0)), 1, size(x, 0)
        ),
        ["batch"],
    ),
    "either way the same": (lambda x: ash.where(x[0, 0, 0] > 0, size(x, 1), size(x, 1)), ["seq"]),
    "running sums": (
        lambda x: ash.cumsum(shape_of(x), axis=0), ["batch", "batch + seq", "batch + seq + 12"]
    ),
    "strides": (
        lambda x: active().emit("cumprod", shape_of(x), axis=0, exclusive=True, reverse=True),
        ["12*seq", "12", "1"],
    ),
    "running products of rows": (
        lambda x: active().emit("cumprod", ash.stack([shape_of(x), shape_of(x)]), axis=0),
        ["batch", "seq", "12", "batch*batch", "seq*seq", "144"],
    ),
    "running maxima": (
        lambda x: active().emit("cummax", ash.stack([size(x, 0), size(x, 0) + 1]), axis=0),
        ["batch", "batch + 1"],
    ),
    "truth as a number": (lambda x: (shape_of(x) >= 0).astype(i64), ["1", "1", "1"]),
    "a chosen part of what data decide": (
        lambda x: ash.concat([ash.argmax(x, axis=2)[:1, :1].reshape(1), shape_of(x)])[2],
        ["seq"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_held(name: str) -> None:
    build, expected = CASES[name]
    sizes = texts(build, low=1) if name == "a chosen part of what data decide" else texts(build)
    assert sizes is not None
    assert [*map(Dim.of, sizes)] == [*map(Dim.of, expected)]


UNKNOWN: dict[str, Build] = {
    "data": lambda x: ash.argmax(x.reshape(-1)),
    "floats": lambda x: shape_of(x).astype(ash.f32),
    "cast from floats": lambda x: x[0, 0, 0].astype(i64),
    "as many as an axis has": lambda x: ash.arange(x.shape[0]),
    "too many": lambda x: ash.ones(65, i64),
    "an index that data decide": lambda x: shape_of(x)[ash.argmax(x[0, 0]) % 3],
    "a condition that is open": lambda x: ash.where(size(x, 0) > 3, 1, 2),
    "a quotient by 0": lambda x: size(x, 0) // 0,
    "one of them": lambda x: ash.stack([size(x, 0), ash.argmax(x[0, 0])]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_decided_by_sizes(name: str) -> None:
    assert traced(UNKNOWN[name], low=1)[0] is None


# --- as ONNX writes shapes ------------------------------------------------------------------------


def test_the_new_shape_of_a_reshape() -> None:
    """Shape -> Gather -> Unsqueeze -> Concat -> Reshape: heads out of a row."""

    def heads(x: Any) -> Any:
        batch, seq = (shape_of(x)[ash.asarray(i)].reshape((1,)) for i in (0, 1))
        shape = held(ash.concat([batch, seq, constant(3), constant(4)]))
        assert shape is not None
        return x.reshape(shape)

    assert str(traced(heads)[1].body.result_types[0]) == "f32[batch, seq, 3, 4]"


def test_the_new_shape_of_an_expand() -> None:
    """Shape -> Slice -> Concat, Equal(-1) -> Where -> Expand."""

    def expanded(x: Any) -> Any:
        given = ash.concat([constant(-1), shape_of(x)[1:]])
        wanted = held(ash.where(given == -1, ash.ones(3, i64) * size(x, 0), given))
        assert wanted is not None
        return ash.broadcast_to(x[:1], wanted)

    assert str(traced(expanded)[1].body.result_types[0]) == "f32[batch, seq, 12]"


# --- what is required -----------------------------------------------------------------------------


def facts(build: Build) -> list[str]:
    return [str(fact.predicate) for fact in traced(build)[1].facts.facts]


def test_a_narrow_type_must_hold_the_size() -> None:
    assert facts(lambda x: size(x, 0).astype(i8)) == ["batch <= 127"]
    assert facts(lambda x: (size(x, 0) * 3).astype(i8).astype(i64)) == ["3*batch <= 127"]
    with pytest.raises(AnyshapeError, match=r"size 300 meets i8, which holds -128\.\.127"):
        traced(lambda x: (size(x, 2) * 25).astype(i8))


def test_nothing_is_required_of_elements_that_nobody_reads() -> None:
    assert facts(lambda x: shape_of(x).astype(i8)[1]) == ["seq <= 127"]
    assert facts(lambda x: (size(x, 0) // shape_of(x))[2]) == []


def test_a_divisor_must_not_be_zero() -> None:
    assert facts(lambda x: size(x, 0) // size(x, 1)) == ["seq != 0"]


def test_nothing_is_required_for_what_stays_unknown() -> None:
    def build(x: Any) -> Any:
        return size(x, 0).astype(i8) + ash.sum(x).astype(i8)

    assert traced(build)[0] is None
    assert facts(build) == []


# --- regions, depth and repetition ----------------------------------------------------------------


def test_a_body_sees_sizes_around_it() -> None:
    sizes: list[tuple[Dim, ...] | None] = []

    def build(x: Any) -> Any:
        outside = shape_of(x)[:2]

        def then() -> Any:
            sizes.append(held(outside * 2))
            return x

        return control.cond(x[0, 0, 0] > 0, then, lambda: x)

    traced(build, low=1)
    assert sizes == [(Dim.of("2*batch"), Dim.of("2*seq"))]


def test_what_a_loop_carries_is_unknown() -> None:
    sizes: list[tuple[Dim, ...] | None] = []

    def build(x: Any) -> Any:
        def step(n: Any) -> Any:
            sizes.append(held(n + 1))
            return n + 1

        return control.while_loop(lambda n: n < 10, step, size(x, 0))

    traced(build)
    assert sizes
    assert set(sizes) == {None}


def test_long_chains_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every link is asked for, as a model with many layers does: the work grows with the chain."""
    seen: list[object] = []
    rule = held_sizes.elements_of

    def counted(tracer: Any, value: Any, operands: Any) -> Any:
        seen.append(value)
        return rule(tracer, value, operands)

    monkeypatch.setattr(held_sizes, "elements_of", counted)

    def build(x: Any) -> Any:
        total = size(x, 0)
        for _ in range(3000):
            total = total + 1
            held(total)
        return total

    assert traced(build)[0] == (Dim.of("batch + 3000"),)
    assert len(seen) == len(set(seen)) == 3002  # a size, a constant, and the links

    def deep(x: Any) -> Any:
        total = size(x, 0)
        for _ in range(3000):
            total = total + 1
        return total

    assert traced(deep)[0] == (Dim.of("batch + 3000"),)


def test_truth_is_a_number_too() -> None:
    assert texts(lambda x: ash.asarray(np.array(True))) == ["1"]
    assert traced(lambda x: x[0, 0, 0].astype(bool_), low=1)[0] is None
    assert texts(lambda x: shape_of(x)[2:].astype(i32).astype(bool_)) == ["1"]
