"""What schedules decide: names, writing in place, the order of steps. Results stay right."""

import numpy as np
import pytest
from tests.unit.plan.checking import wrong_with
from tests.unit.plan.planning import scheduled
from tests.unit.plan.random_plans import random_graph

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import Graph, evaluate, parse
from anyshape.passes import PASSES, run_passes
from anyshape.plan.schedule import Schedule
from anyshape.plan.schedule_order import ordered_nodes, typical_bindings
from anyshape.program import AliasStore, ConstantStore
from anyshape.sym import Symbol


def planned(graph: Graph) -> Schedule:
    return scheduled(run_passes(graph, PASSES).graph)


def stores(plan: Schedule, kind: type) -> list:
    return [buffer.store for buffer in plan.buffers if isinstance(buffer.store, kind)]


@ash.jit
def residual(x: ash.f32["n", 64], w: ash.f32[64, 64]):
    """The first product is needed twice: by the second, and where that is added to it."""
    first = x @ w
    return ash.softmax(first + (ash.exp(first) @ w), axis=-1) @ w


@pytest.mark.parametrize("n", [0, 1, 5, 6, 97, 200])
def test_in_place_results_are_right(n: int):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((m, 64)).astype(np.float32) / 8 for m in (n, 64))
    executable = compile_graph(residual.graph)
    assert executable.specialize(n=n)._native.memory.in_place >= n * 64 * 4
    (found,), (wanted,) = executable(x, w), evaluate(residual.graph, x, w)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_nothing_is_written_over_what_is_needed_later():
    @ash.jit
    def function(x: ash.f32["n", 64], w: ash.f32[64, 64]):
        first = x @ w
        return ash.softmax(first, axis=-1) @ w, ash.tanh(first) @ w

    assert not any(store.in_place for store in stores(planned(function.graph), AliasStore))


def test_a_name_for_the_end_of_a_buffer_is_not_the_buffer():
    """Element i of the result belongs where element i of `first` is, not element i of its end."""

    @ash.jit
    def function(x: ash.f32["2*m", 64]):
        m = x.shape[0] // 2
        first = ash.softmax(x, axis=-1)
        end = first[m:]
        padded = ash.pad(end, ((0, m), (0, 0))) + ash.sum(end) + ash.sum(first)  # of all: no part
        return ash.softmax(padded, axis=-1), ash.sum(padded, axis=0), ash.sort(end, axis=-1)

    plan = planned(function.graph)
    aliases = stores(plan, AliasStore)
    assert [(str(alias.offset), alias.in_place) for alias in aliases] == [("256*m", False)]
    assert wrong_with(plan, {Symbol("m"): 96}) is None


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_compute_what_they_say(seed: int):
    graph = random_graph(seed)
    executable = compile_graph(graph)
    rng = np.random.default_rng(seed)
    for n, m in [(5, 7), (97, 3), (1, 0), (33, 64)]:
        shapes = [(n, m), (m, n), (m, m), (n, n)]
        arrays = [rng.standard_normal(shape).astype(np.float32) / 10 for shape in shapes]
        for found, wanted in zip(executable(*arrays), evaluate(graph, *arrays), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4)


# ---- names -------------------------------------------------------------------------------------

SLICED = """
axes { n: 4.. }
graph g(x: f32[n, 8], w: f32[8, 8]) -> f32[3, 8] {
  %0 = kernel(x)
    body(a0: f32[n, 8]) -> f32[3, 8] {
      %0 = slice(a0) {starts=[1, 0], stops=[4, 8], steps=[1, 1]} : f32[3, 8]
      return %0
    } : f32[3, 8]
  %1 = kernel(%0, w)
    body(a0: f32[3, 8], a1: f32[8, 8]) -> f32[3, 8] {
      %0 = dot(a0, a1) {contract=([1], [0])} : f32[3, 8]
      return %0
    } : f32[3, 8]
  return %1
}
"""


def test_a_stretch_of_another_buffer_is_a_name():
    plan = scheduled(parse(SLICED))
    assert len(plan.steps) == 1
    (alias,) = stores(plan, AliasStore)
    assert (alias.of, alias.offset.constant, alias.in_place) == (0, 32, False)


def test_a_stretch_that_may_lie_outside_is_copied():
    plan = scheduled(parse(SLICED.replace("n: 4..", "n: 0..")))
    assert len(plan.steps) == 2


# ---- constants ---------------------------------------------------------------------------------


def test_a_constant_has_a_buffer_for_each_form_that_is_read():
    weights = np.ones((96, 96), np.float32)

    @ash.jit
    def packed(x: ash.f32["n", 96]):
        return x @ weights

    @ash.jit
    def both(x: ash.f32["n", 96]):
        return x @ weights, ash.softmax(x, axis=0)[:1] + weights

    def are_packed(plan: Schedule) -> list[bool]:
        constants = (plan.constants[store.index] for store in stores(plan, ConstantStore))
        return sorted(constant.packing is not None for constant in constants)

    assert are_packed(planned(packed.graph)) == [True]
    assert are_packed(planned(both.graph)) == [False, True]


def test_names_for_constants_and_for_parts_of_them():
    weights = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)

    @ash.jit
    def function(x: ash.f32["n", 64]):
        w = ash.asarray(weights)
        turned = w.reshape(96, 64)
        return x @ w, ash.softmax(turned, axis=-1), turned + x[:1], ash.softmax(w[2:5] - 1), w

    x = np.ones((3, 64), np.float32)
    for found, wanted in zip(ash.compile(function)(x), evaluate(function.graph, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


# ---- order -------------------------------------------------------------------------------------


def test_typical_bindings():
    graph = parse(
        "axes { n: 1.. likely [8, 64]   m: 1..7   k: 200.. }\n"
        "graph g(x: f32[n, m, k]) -> f32[n, m, k] {\n  %0 = relu(x) : f32[n, m, k]\n  return %0\n}"
    )
    n, m, k = map(Symbol, "nmk")
    assert typical_bindings(graph) == [{n: 8, m: 7, k: 200}, {n: 64, m: 7, k: 200}]


def graph_of(kernels: list[tuple[str, str, str]]) -> Graph:
    """Kernels of one op: operands with their types, the op, and the type that it gives."""
    lines: list[str] = []
    for number, (operands, op, type_) in enumerate(kernels):
        names = ", ".join(part.split(":")[0] for part in operands.split(";"))
        types = [part.split(":")[1] for part in operands.split(";")]
        params = ", ".join(f"a{i}:{its_type}" for i, its_type in enumerate(types))
        body = f"body({params}) -> {type_} {{\n      %0 = {op} : {type_}\n      return %0\n    }}"
        lines.append(f"  %{number} = kernel({names})\n    {body} : {type_}\n")
    head = f"axes {{ n: 1.. }}\ngraph g(x: f32[n, 1]) -> {kernels[-1][2]} {{\n"
    return parse(f"{head}{''.join(lines)}  return %{len(kernels) - 1}\n}}\n")


def spread(width: int) -> tuple[str, str, str]:
    return "x: f32[n, 1]", f"broadcast(a0) {{shape=[n, {width}]}}", f"f32[n, {width}]"


def total(operand: str, width: int) -> tuple[str, str, str]:
    return f"{operand}: f32[n, {width}]", "sum(a0) {axes=[1], keepdims=true}", "f32[n, 1]"


def order(graph: Graph) -> list[str]:
    return [str(n.result().type) for n in ordered_nodes(graph) if n.op.name == "kernel"]


def test_the_operand_that_needs_most_comes_first():
    """What is kept for later must not wait beside the huge intermediate of a small operand."""
    last = ("%0: f32[n, 512]; %2: f32[n, 1]", "add(a0, a1)", "f32[n, 512]")
    graph = graph_of([spread(512), spread(4096), total("%1", 4096), last])
    assert order(graph) == ["f32[n, 4096]", "f32[n, 1]", "f32[n, 512]", "f32[n, 512]"]


def test_a_value_is_reduced_before_the_next_is_made():
    """Both are written down first; one of them need not be there while the other is."""
    last = ("%2: f32[n, 1]; %3: f32[n, 1]", "add(a0, a1)", "f32[n, 1]")
    sums = [total("%0", 512), total("%1", 600)]
    graph = graph_of([spread(512), spread(600), *sums, last])
    assert order(graph) == ["f32[n, 600]", "f32[n, 1]", "f32[n, 512]", "f32[n, 1]", "f32[n, 1]"]


def test_the_given_order_stays_where_no_other_is_better():
    last = ("%0: f32[n, 512]; %1: f32[n, 500]", "concat(a0, a1) {axis=1}", "f32[n, 1012]")
    graph = graph_of([spread(512), spread(500), last])
    assert order(graph) == ["f32[n, 512]", "f32[n, 500]", "f32[n, 1012]"]


def test_equal_regions_are_lowered_once():
    @ash.jit
    def layers(x: ash.f32["n", 64], w: ash.f32[64, 64]):
        for _ in range(3):
            x = ash.gelu(x @ w)
        return x

    steps = planned(layers.graph).steps
    assert len(steps) == 3
    assert all(step.lowered is steps[0].lowered for step in steps)
    assert all(step.variants is steps[0].variants for step in steps)


def test_steps_are_named_after_what_they_compute():
    weights = np.ones((96, 96), np.float32)

    @ash.jit
    def layers(x: ash.f32["n", 96], i: ash.f32[3]):
        n = x.shape[0]
        long = ash.sqrt(ash.exp(ash.abs(-x) + 1) * 2)
        return ash.gelu(x @ weights + 1), ash.softmax(x), long, i, ash.arange(n)

    names = [step.name for step in planned(layers.graph).steps]
    assert sorted(names) == ["copy", "dot+add+gelu", "iota", "neg+abs+...+sqrt", "softmax"]


def test_typical_sizes_that_do_not_broadcast():
    text = """
axes { heads: 1..4   seq: 0..9 }
facts { broadcastable(heads, seq//2 + 1) }
graph g(x: f32[3, heads], y: f32[3, seq//2 + 1], w: f32[3, 3]) -> f32[3, 3] {
  %0 = mul(x, y)
  %1 = softmax(%0) {axis=1}
  %2 = dot(%1, %1) {contract=([1], [1])}
  %3 = dot(%2, w) {contract=([1], [0])}
  return %3
}
"""
    assert len(planned(parse(text)).steps) == 3
