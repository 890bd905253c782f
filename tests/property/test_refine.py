"""Refined graphs against the graphs they were made of, with random facts at random bindings.

The interpreter compares every array with its type, so a replacement that is not always right is an
error there, whatever the values are.
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import pytest

from anyshape.base.errors import (
    FactConflictError,
    RequirementError,
    ShapeError,
    VerifyError,
)
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_plan
from anyshape.ir.node import Value
from anyshape.ir.types import Array, TensorType, f32
from anyshape.ir.verify import verify
from anyshape.passes import run_passes
from anyshape.passes.refine import Refine
from anyshape.sym import Axis, Dim, FactScope, Symbol, parse_predicate

NAMES = ("a", "b", "c", "d")
SIZES = (0, 1, 2, 3, 4, 6, 12)
PATTERNS = (
    "{x} == {y}",
    "{x} == 2*{y}",
    "{x} == {y} + 1",
    "{x} == {y} + {z}",
    "{x} == {y} * {z}",
    "{x} * {y} == 12",
    "{x} <= {y}",
    "{x} >= {y}",
    "{x} != 1",
    "{x} % 2 == 0",
    "{x} == 3",
    "broadcastable({x}, {y})",
    "broadcastable({x}, 4)",
    "{x} == {y} // 2",
    "{x} == max({y}, 1)",
)


def draw_axis(rng: random.Random, name: str) -> Axis:
    lo = rng.choice((0, 0, 1, 2, 3))
    hi = rng.choice((None, None, 12, lo))
    return Axis(name, min=lo, max=hi, broadcasts=rng.random() < 0.8)


def draw_scope(rng: random.Random) -> FactScope:
    """Facts that do not contradict each other, as far as is known."""
    scope = FactScope(distinct_names=False)
    for name in NAMES:
        scope.declare(draw_axis(rng, name))
    for _ in range(rng.randint(1, 4)):
        x, y, z = (rng.choice(NAMES) for _ in range(3))
        text = rng.choice(PATTERNS).format(x=x, y=y, z=z)
        try:
            scope.assume(parse_predicate(text), words=text)
        except FactConflictError:
            continue
    return scope


def draw_graph(rng: random.Random) -> Graph:
    """One whose facts do not contradict each other: such a graph proves nothing."""
    while True:
        with suppress(VerifyError):
            return verify(_draw_graph(rng))


def _draw_graph(rng: random.Random) -> Graph:
    builder = Builder(draw_scope(rng))
    values = [builder.param(TensorType(f32, (Dim.of(name),))) for name in NAMES]
    for _ in range(rng.randint(1, 5)):
        values.append(draw_value(rng, builder, values))
    return builder.graph("f", NAMES, values[-3:])


def draw_value(rng: random.Random, builder: Builder, values: Sequence[Value]) -> Value:
    x, y = rng.choice(values), rng.choice(values)
    kind = rng.random()
    try:
        if kind < 0.4:
            return builder.emit(rng.choice(("add", "mul")), x, y)
        if kind < 0.7:
            return builder.emit("concat", x, y, axis=0)
        size = rng.choice(values).tensor.shape[0]
        return builder.emit("broadcast" if kind < 0.85 else "reshape", x, shape=(size,))
    except RequirementError:
        return x


def draw_arrays(rng: random.Random, graph: Graph) -> list[Array]:
    """Of sizes that the facts allow, every other time, if any are met with."""
    sizes = draw_sizes(rng)
    for _ in range(80 if rng.random() < 0.5 else 0):
        if is_legal(graph, sizes):
            break
        sizes = draw_sizes(rng)
    return [np.arange(sizes[Symbol(name)], dtype=np.float32) + 1 for name in NAMES]


def draw_sizes(rng: random.Random) -> dict[Symbol, int]:
    few = [rng.choice(SIZES) for _ in NAMES]
    return {Symbol(name): rng.choice(few) for name in NAMES}


def is_legal(graph: Graph, sizes: Mapping[Symbol, int]) -> bool:
    allowed = all(axis.contains(sizes[axis.symbol]) for axis in graph.axes)
    return allowed and all(fact.holds(sizes) for fact in graph.facts.facts)


def outcome(graph: Graph, arrays: Sequence[Array]) -> list[Array] | str:
    """Results, or the words of the error."""
    try:
        return list(evaluate(graph, *arrays))
    except ShapeError as error:
        return str(error)


def test_refined_graphs_do_the_same() -> None:
    rng = random.Random(5)
    refined_graphs = results = refused = 0
    for _ in range(200):
        graph = draw_graph(rng)
        refined = run_passes(graph, [Refine()], verify=True).graph
        refined_graphs += refined is not graph
        for _ in range(12):
            arrays = draw_arrays(rng, graph)
            before, after = outcome(graph, arrays), outcome(refined, arrays)
            if isinstance(before, str) or isinstance(after, str):
                assert before == after
                refused += 1
                continue
            results += 1
            for one, other in zip(before, after, strict=True):
                np.testing.assert_array_equal(one, other)
    assert refined_graphs > 100
    assert min(results, refused) > 300


def test_every_violated_fact_is_caught_before_a_kernel_runs() -> None:
    rng = random.Random(7)
    caught = ran = 0
    for _ in range(8):
        graph = draw_graph(rng)
        executable = compile_graph(graph, threads=1)
        for _ in range(30):
            arrays = draw_arrays(rng, graph)
            sizes = {Symbol(name): len(array) for name, array in zip(NAMES, arrays, strict=True)}
            runs = executable.metrics().runs
            if not is_legal(graph, sizes):
                with pytest.raises(ShapeError):
                    executable(*arrays)
                assert executable.metrics().runs == runs
                caught += 1
                continue
            ran += 1
            given = executable(*arrays)
            for one, other in zip(given, evaluate(graph, *arrays), strict=True):
                np.testing.assert_array_equal(one, other)
    assert min(caught, ran) > 30


def test_declared_bindings_stay() -> None:
    """The plan of a refined graph is that of the graph as it was declared."""
    rng = random.Random(9)
    for _ in range(100):
        graph = draw_graph(rng)
        refined = run_passes(graph, [Refine()]).graph
        assert entry_plan(refined) == entry_plan(graph)
