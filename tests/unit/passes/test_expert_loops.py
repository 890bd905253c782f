"""A loop over experts is computed for the rows of all of them; whatever is no such loop stays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.frontend.builder.tracer import active
from anyshape.ir import Graph, evaluate
from anyshape.passes import PASSES, run_passes
from anyshape.passes.infra import Passed

EXPERTS, WIDTH, HIDDEN = 4, 8, 6
RNG = np.random.default_rng(0)
UP = RNG.standard_normal((EXPERTS, WIDTH, HIDDEN)).astype(np.float32)
GATE = RNG.standard_normal((EXPERTS, WIDTH, HIDDEN)).astype(np.float32)
DOWN = RNG.standard_normal((EXPERTS, HIDDEN, WIDTH)).astype(np.float32)
BIAS = RNG.standard_normal((EXPERTS, HIDDEN)).astype(np.float32)
BEFORE = PASSES[: [step.name for step in PASSES].index("worklists") + 1]


def put(x: Any, rows: Any, updates: Any, combine: str = "add") -> Any:
    return active().emit("scatter", x, rows, updates, axis=0, combine=combine)


def expert(h: Any, e: int) -> Any:
    return (ash.silu(h @ GATE[e]) * (h @ UP[e])) @ DOWN[e]


def loop(x: Any, route: Any, numbers: Any = range(EXPERTS), apply: Any = expert) -> Any:
    """As seed 002 writes it; `out[rows] += h` is a read and a write."""
    out = ash.zeros_like(x)
    for e in numbers:
        (rows,) = ash.nonzero(route == e)
        out = put(out, rows, out[rows] + apply(x[rows], e), "set")
    return out


@ash.jit
def one_choice(x: ash.f32["t", WIDTH], scores: ash.f32["t", EXPERTS]):
    return loop(x, ash.argmax(scores, axis=1))


@ash.jit
def routes_of_the_caller(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route)


@ash.jit
def weighted_choices(x: ash.f32["t", WIDTH], route: ash.i32["t", 2], w: ash.f32["t", 2]):
    out = x
    for e in range(EXPERTS):
        rows, choice = ash.nonzero(route == e)
        h = expert(x[rows], e) * w[rows, choice][:, None]
        out = put(out, rows, h)
    return out


@ash.jit
def choices_first(x: ash.f32["t", WIDTH], route: ash.i64["t", 2], w: ash.f32["t", 2]):
    """A one-hot mask with the axis of experts first, as `transformers` has it."""
    mask = ash.transpose(ash.one_hot(route, EXPERTS, ash.i64), (2, 1, 0))
    out = ash.zeros_like(x)
    for e in range(EXPERTS):
        choice, rows = ash.nonzero(mask[e])
        out = put(out, rows, expert(x[rows], e) * w[rows, choice][:, None])
    return out


@ash.jit
def best_choices(x: ash.f32["t", WIDTH], scores: ash.f32["t", EXPERTS]):
    """What `topk` takes differs, so that `+=` meets no token twice."""
    weights, route = ash.topk(scores, 2)
    out = ash.zeros_like(x)
    for e in range(EXPERTS):
        rows, choice = ash.nonzero(route == e)
        out[rows] += expert(x[rows], e) * weights[rows, choice][:, None]
    return out


@ash.jit
def with_biases(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route, apply=lambda h, e: ash.relu(h @ UP[e] + BIAS[e]) @ DOWN[e])


@ash.jit
def weights_of_the_caller(x: ash.f32["t", WIDTH], route: ash.i64["t"], w: ash.f32[4, 8, 8]):
    return loop(x, route, apply=lambda h, e: h @ w[e])


def routes(rows: int, *choices: int) -> Any:
    """Now and then no expert at all."""
    return np.random.default_rng(rows).integers(-1, EXPERTS + 1, (rows, *choices))


def floats(*shape: int) -> Any:
    return np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32)


GIVEN: dict[Any, Callable[[int], tuple[Any, ...]]] = {
    one_choice: lambda t: (floats(t, WIDTH), floats(t, EXPERTS)),
    routes_of_the_caller: lambda t: (floats(t, WIDTH), routes(t)),
    weighted_choices: lambda t: (
        floats(t, WIDTH),
        routes(t, 2).astype(np.int32),
        floats(t, 2),
    ),
    choices_first: lambda t: (floats(t, WIDTH), routes(t, 2), floats(t, 2)),
    best_choices: lambda t: (floats(t, WIDTH), floats(t, EXPERTS)),
    with_biases: lambda t: (floats(t, WIDTH), routes(t)),
    weights_of_the_caller: lambda t: (floats(t, WIDTH), routes(t), floats(4, 8, 8)),
}


def passed(graph: Graph) -> Passed:
    return run_passes(graph, BEFORE, verify=True)


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in passed(graph).graph.nodes()]


@pytest.mark.parametrize("function", GIVEN, ids=lambda f: f.graph.name)
def test_a_loop_is_a_worklist_and_grouped_products(function: Any) -> None:
    made = ops(function.graph)
    assert made.count("worklist") == 1
    assert "nonzero" not in made
    assert "scatter" not in made
    assert "dot" not in made


@pytest.mark.parametrize("function", GIVEN, ids=lambda f: f.graph.name)
@pytest.mark.parametrize("tokens", [0, 1, 7, 40])
def test_values_of_a_loop(function: Any, tokens: int) -> None:
    given = GIVEN[function](tokens)
    executable = compile_graph(function.graph, strict=True)
    (found,), (expected,) = executable(*given), evaluate(function.graph, *given)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_gate_and_up_are_one_product() -> None:
    assert ops(one_choice.graph).count("grouped_dot") == 2


def test_choices_that_may_repeat_are_no_sum() -> None:
    """A caller's token may choose an expert twice: `out[rows] += h` then keeps one of the two."""

    @ash.jit
    def repeated(x: ash.f32["t", WIDTH], route: ash.i64["t", 2]):
        out = x * 1
        for e in range(EXPERTS):
            rows, _ = ash.nonzero(route == e)
            out[rows] += expert(x[rows], e)
        return out

    assert "worklist" not in ops(repeated.graph)
    x, route = floats(5, WIDTH), np.full((5, 2), 1)
    (found,) = compile_graph(repeated.graph)(x, route)
    h = x @ GATE[1]
    expected = x + (h / (1 + np.exp(-h)) * (x @ UP[1])) @ DOWN[1]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


# --- what is no such loop -------------------------------------------------------------------------


def not_taken(function: Any) -> list[str]:
    reports = passed(function.graph).reports
    return [d.why for report in reports if report.name == "expert-loops" for d in report.refused]


@ash.jit
def two_routes(x: ash.f32["t", WIDTH], a: ash.i64["t"], b: ash.i64["t"]):
    return put(loop(x, a, range(3)), ash.nonzero(b == 3)[0], expert(x[ash.nonzero(b == 3)[0]], 3))


@ash.jit
def other_experts(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route, apply=lambda h, e: h @ UP[e] @ DOWN[e] if e else ash.tanh(h))


@ash.jit
def gaps_between(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route, (0, 1, 3))


@ash.jit
def rows_meet(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route, apply=lambda h, e: expert(h, e) - ash.sum(h, axis=0))


@ash.jit
def one_expert(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    return loop(x, route, (0,))


REFUSED = {
    two_routes: "experts look at different routes",
    other_experts: "groups compute different ops",
    gaps_between: "experts are not numbered 0, 1, 2, …",
    rows_meet: "sum is not computed row by row",
    one_expert: "it is not a loop",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.graph.name)
def test_what_is_refused_says_why_and_keeps_its_values(function: Any) -> None:
    assert not_taken(function) == [REFUSED[function]]
    given = floats(9, WIDTH), *(routes(9) for _ in function.graph.body.params[1:])
    (found,), (expected,) = compile_graph(function.graph)(*given), evaluate(function.graph, *given)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


# --- keys that are not what they seem -------------------------------------------------------------


@ash.jit
def every_second_row(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    """A mask of fewer rows than there are keys."""
    hot, out = ash.one_hot(route, EXPERTS, ash.i64)[::2], ash.zeros_like(x)
    for e in range(EXPERTS):
        (rows,) = ash.nonzero(hot[:, e])
        out = put(out, rows, x[rows] @ UP[e] @ DOWN[e])
    return out


@ash.jit
def narrow_keys(x: ash.f32["t", WIDTH], route: ash.i64["t"]):
    """257 is group 1, as an i8."""
    return loop(x, route.astype(ash.i8))


@pytest.mark.parametrize("function", [every_second_row, narrow_keys], ids=lambda f: f.graph.name)
def test_keys_are_read_as_they_are_compared(function: Any) -> None:
    given = floats(7, WIDTH), np.array([0, 1, 256, 257, 2, 3, 1])
    (found,), (expected,) = compile_graph(function.graph)(*given), evaluate(function.graph, *given)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def counted(width: Any) -> Any:
    """Rows sorted by group, whose numbers are counted in some dtype."""

    @ash.jit
    def function(x: ash.f32["t", WIDTH], scores: ash.f32["t", EXPERTS]):
        order = ash.argsort(route := ash.argmax(scores, axis=1))
        hits = (route[:, None] == ash.arange(EXPERTS)).astype(ash.i64)
        ends = ash.cumsum(ash.sum(hits, axis=0).astype(width).astype(ash.i64))
        return ash.grouped_dot(x[order], UP, ends)

    return function


def test_counts_that_wrap_are_no_ends() -> None:
    assert "worklist" in ops(counted(ash.i32).graph)
    assert "worklist" not in ops(counted(ash.i8).graph)
