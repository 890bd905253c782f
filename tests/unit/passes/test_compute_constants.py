"""Work on constants alone: what is computed, what is left, and how much memory it may take."""

from typing import Any

import numpy as np

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.ir.types import Array
from anyshape.passes import PASSES, SIMPLIFY, run_passes
from anyshape.passes.compute_constants import ComputeConstants
from anyshape.passes.constant_work import constant_pieces
from anyshape.passes.expand import Expand
from anyshape.passes.infra import PassReport

RNG = np.random.default_rng(0)
W, V = (RNG.standard_normal((300, 300)).astype(np.float32) for _ in range(2))
SCALES = RNG.standard_normal((300, 1)).astype(np.float32)
SMALL = RNG.integers(-128, 128, (300, 300)).astype(np.int8)
X = ash.f32["n", 300]


def simplified(function: Any) -> Graph:
    return run_passes(function.graph, (Expand(), *SIMPLIFY)).graph


def computed(function: Any, growth: float = 0.25) -> tuple[Graph, PassReport]:
    passed = run_passes(simplified(function), [ComputeConstants(growth)], verify=True)
    x = np.linspace(-1, 1, 900, dtype=np.float32).reshape(3, 300)
    for found, wanted in zip(evaluate(passed.graph, x), evaluate(function.graph, x), strict=True):
        assert np.array_equal(found, wanted)
    return passed.graph, passed.reports[0]


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes() if node.op.name not in ("param", "constant")]


def test_weight_arithmetic_is_a_weight():
    @ash.jit
    def scaled(x: X):
        return x @ (ash.asarray(W) * 2).mT

    graph, report = computed(scaled)
    assert ops(graph) == ["transpose", "dot"]
    assert len(graph.weights) == 1, "what it was computed from is gone"
    assert [d.why for d in report.taken] == ["computed once: 360000 bytes in place of 360000"]


def test_norms_of_weights_and_what_follows_are_one_piece():
    @ash.jit
    def normed(x: X):
        w = ash.asarray(W)
        return x @ (SCALES * w / ash.sqrt((w * w).sum(1, keepdims=True))).mT

    graph, report = computed(normed)
    assert ops(graph) == ["transpose", "dot"]
    assert [d.why for d in report.taken] == ["computed once: 360000 bytes in place of 361200"]


def test_what_takes_more_memory_than_allowed_is_left():
    @ash.jit
    def dequantised(x: X):
        return x @ (ash.asarray(SMALL).astype(ash.f32) * SCALES).mT

    graph, report = computed(dequantised)
    assert "mul" in ops(graph)
    why = "it would hold 268800 bytes more, and 22800 of 22800 are left"
    assert [d.why for d in report.refused] == [why]
    assert ops(computed(dequantised, growth=3)[0]) == ["transpose", "dot"]


def test_the_bound_is_shared_and_the_smallest_growth_comes_first():
    tables = [RNG.standard_normal((n, 300)).astype(np.float32) for n in (300, 100, 40)]

    @ash.jit
    def several(x: X):
        """Each table is needed as it is too, so that its double is held beside it."""
        sides = [(x @ ash.asarray(t).mT, x @ (ash.asarray(t) * 2).mT) for t in tables]
        return tuple(side for pair in sides for side in pair)

    graph, report = computed(several)
    assert [str(d.node.types[0]) for d in report.taken] == ["f32[40, 300]"]
    assert ops(graph).count("mul") == 2
    assert [d.why for d in report.refused] == [
        "it would hold 120000 bytes more, and 84000 of 132000 are left",
        "it would hold 360000 bytes more, and 84000 of 132000 are left",
    ]


def test_views_are_read_where_they_are():
    @ash.jit
    def views(x: X):
        w = ash.asarray(W)
        return x @ w.mT, x[:, :10] @ w[:10], x + ash.broadcast_to(ash.asarray(W)[0], (300, 300))[:1]

    assert constant_pieces(simplified(views)) == []


def test_a_contraction_stores_reshaped_constants():
    @ash.jit
    def reshaped(x: X):
        heads = ash.asarray(W).reshape(300, 3, 100)
        return ash.einsum("nk,khe->nhe", x, heads), x

    graph, _ = computed(reshaped)
    assert ops(graph) == ["dot"]
    assert len(graph.weights) == 1


def test_other_readers_take_reshapes_as_names():
    @ash.jit
    def added(x: X):
        return x.reshape(x.shape[0], 1, 300) + ash.asarray(W).reshape(1, 300, 300)

    assert constant_pieces(simplified(added)) == []


def test_positions_are_made_not_read():
    @ash.jit
    def masked(x: ash.f32[300, 300]):
        rows, columns = ash.arange(300).reshape(300, 1), ash.arange(300)
        return ash.where(columns <= rows, x, 0.0) @ W

    passed = run_passes(simplified(masked), [ComputeConstants(9)])
    assert "le" in ops(passed.graph)


def test_costly_functions_of_positions_are_a_table_if_there_is_room():
    @ash.jit
    def rotated(x: ash.f32[300, 300]):
        angles = ash.arange(300).astype(ash.f32).reshape(300, 1) / (1.0 + ash.arange(300))
        return (x * ash.cos(angles)) @ W

    passed = run_passes(simplified(rotated), [ComputeConstants(1)])
    assert "cos" not in ops(passed.graph)
    left = run_passes(simplified(rotated), [ComputeConstants(0.5)])
    assert "cos" in ops(left.graph)


def test_cheap_ops_alone_do_not_pay_for_memory():
    @ash.jit
    def both(x: X):
        return x @ W, x[:, :1] + ash.asarray(W)[:1] * 2, ash.asarray(W).sum(0) + x

    @ash.jit
    def doubled(x: ash.f32["n", 300, 300]):
        return x @ W, x + ash.asarray(W) * 2

    assert "mul" in ops(simplified(doubled))
    passed = run_passes(simplified(doubled), [ComputeConstants(2)])
    why = "it saves cheap ops only, and would hold 360000 bytes more"
    assert [d.why for d in passed.reports[0].refused] == [why]
    assert computed(both)[0].weights


def test_a_value_that_others_compute_with_is_held_once():
    @ash.jit
    def chain(x: X):
        doubled = ash.asarray(W) * 2
        return x @ doubled, x @ (doubled + V)

    graph, report = computed(chain)
    assert ops(graph) == ["dot", "dot"]
    assert len(graph.weights) == 2
    assert len(report.taken) == 2


def test_sizes_that_vary_and_checks_are_for_run_time():
    @ash.jit
    def positions(x: X):
        return x * ash.cos(ash.arange(x.shape[0]).astype(ash.f32)).reshape(x.shape[0], 1) @ W

    assert constant_pieces(simplified(positions)) == []


def test_results_that_are_constant_are_computed_once():
    @ash.jit
    def constant(x: X):
        return x, ash.exp(ash.asarray(W))

    graph, _ = computed(constant)
    assert ops(graph) == []


def test_an_evaluation_that_fails_is_left_for_run_time():
    beyond = np.full((300, 300), 999)

    @ash.jit
    def looked_up(x: X):
        return x + ash.gather(ash.asarray(W), ash.asarray(beyond), axis=0).sum((0, 1))

    passed = run_passes(simplified(looked_up), [ComputeConstants(1e9)])
    assert "gather" in ops(passed.graph)
    (refusal,) = passed.reports[0].refused
    assert "index 999 is outside 0..299" in refusal.why


def test_all_pieces_are_one_graph_without_inputs():
    given: list[Graph] = []

    def compute(graph: Graph) -> tuple[Array, ...]:
        given.append(graph)
        return evaluate(graph)

    @ash.jit
    def two(x: X):
        return x @ (ash.asarray(W) * 2) @ ash.exp(ash.asarray(V))

    run_passes(simplified(two), [ComputeConstants()], compute=compute)
    (graph,) = given
    assert (graph.name, graph.inputs, len(graph.results)) == ("two.constants", (), 2)
    assert len(graph.weights) == 2
    given.clear()
    run_passes(simplified(two), [ComputeConstants(), ComputeConstants()], compute=compute)
    assert len(given) == 1, "nothing is left for a second time"


def test_a_copy_that_two_kernels_read_is_a_constant():
    """Fusion leaves it as a kernel of its own: one copy of the weight on every call."""

    @ash.jit
    def twice(x: X):
        turned = ash.asarray(W).mT
        return (x @ turned) @ turned

    graph = run_passes(twice.graph, PASSES).graph
    assert ops(graph) == ["kernel", "kernel"]
    assert len(graph.weights) == 1


def test_a_long_chain_whose_values_are_all_read_is_one_piece():
    @ash.jit
    def chain(x: X):
        w = ash.asarray(W)
        values: list[Any] = []
        for number in range(60):
            w = w * (number + 2.0)
            values.append(x @ w)
        return tuple(values)

    (piece,) = constant_pieces(simplified(chain))
    assert len(piece.roots) == 60
    assert piece.growth == 59 * W.nbytes
