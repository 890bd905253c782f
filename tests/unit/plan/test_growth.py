"""Planning takes work in proportion to the graph: pairs, lowerings and questions are counted."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST
from tests.unit.plan.planning import scheduled

import anyshape as ash
from anyshape.families import lower as lowering
from anyshape.families import lower_graph as graphs
from anyshape.families.lower import lower_region
from anyshape.ir.graph import Graph
from anyshape.passes import PASSES, run_passes
from anyshape.passes.fuse import Fuse
from anyshape.plan import schedule_order as order
from anyshape.plan.lifetimes import Lifetimes
from anyshape.program import ArenaStore
from anyshape.sym import FactScope
from anyshape.sym.decide import decider


def tree(values: list[Any]) -> Any:
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [a + b for a, b in pairs] + values[len(values) // 2 * 2 :]
    return values[0]


def wide(count: int) -> Graph:
    """Softmaxes that differ in one number, and a tree of sums."""

    @ash.jit
    def sums(x: ash.f32["n", "m"]):
        return tree([ash.softmax(x * (1 + i / 1024), axis=-1) for i in range(count)])

    return sums.graph


def kernels(graph: Graph) -> Graph:
    return run_passes(graph, PASSES).graph


class Counted:
    """Calls of a function, which goes on as before."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        self.calls = 0
        function = getattr(owner, name)

        def counting(*args: Any, **named: Any) -> Any:
            self.calls += 1
            return function(*args, **named)

        patch.setattr(owner, name, counting)


def test_questions_about_lifetimes_grow_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which buffers conflict is asked of those that are written within a window, not of all."""
    graph = kernels(wide(512))
    counted = Counted(monkeypatch, Lifetimes, "are_over")
    plan = scheduled(graph)
    assert counted.calls <= 16 * len(plan.steps)
    stores = [b.store for b in plan.buffers if isinstance(b.store, ArenaStore)]
    pairs = sum(len(store.conflicts) for store in stores)
    assert pairs <= 2 * plan.window * len(stores)  # steps write a result and a workspace


def test_choosing_an_order_grows_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[float] = []
    for count in (64, 512):
        graph = kernels(wide(count))
        counted = Counted(monkeypatch, order, "_growth")
        looked.append((order.ordered_nodes(graph), counted.calls / count)[1])
        monkeypatch.undo()
    assert looked[1] <= 1.5 * looked[0]


def test_kernels_that_differ_in_numbers_are_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = kernels(wide(200))
    lowered = Counted(monkeypatch, graphs, "lower_region")
    plan = scheduled(graph)
    softmaxes = [step for step in plan.steps if "softmax" in step.name]
    inside = (node for step in softmaxes for node in step.node.regions[0].nodes())
    assert sum(node.op.name == "softmax" for node in inside) == 200
    assert len({step.lowered.kernel for step in softmaxes}) < 20  # some take sums along
    assert lowered.calls < 20
    assert graphs.lower_region is not lower_region


def test_wide_graphs_are_right() -> None:
    graph = wide(100)
    x = np.random.default_rng(0).standard_normal((3, 17)).astype(np.float32)
    executable = ash.compile(graph, threads=2)
    (expected,) = ash.compile(graph, executor="reference")(x)
    np.testing.assert_allclose(executable(x)[0], expected, rtol=1e-4, atol=1e-5)
    assert "79 kernels differ in numbers only" in str(executable.explain())


def slices(count: int) -> Graph:
    """The sum of slices of at most one element each."""

    @ash.jit
    def sums(x: ash.f32["n"]):
        return tree([x[i : i + 1] for i in range(count)])

    return sums.graph


def test_regions_that_differ_in_names_are_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = kernels(slices(1000))
    count = sum(node.op.name == "kernel" for node in graph.nodes())
    lowered = Counted(monkeypatch, lowering, "_lowered")
    scheduled(graph)
    assert count > 40
    assert lowered.calls < count / 2


def test_a_short_slice_takes_few_steps_of_the_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the questions that tracing and passes ask about it needs a refutation."""
    refuted = Counted(monkeypatch, decider, "refuted")
    kernels(slices(200))
    assert refuted.calls == 0


def test_what_fusion_moves_is_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = run_passes(slices(200), FIRST).graph
    asked = Counted(monkeypatch, FactScope, "require")
    run_passes(graph, [Fuse()])
    assert asked.calls == 0
