"""Lowering as a stage: every kernel node has its kernels, equal ones have the same."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import anyshape as ash
from anyshape.families.lower import lower_region
from anyshape.families.lower_graph import LoweredGraph, lower_graph, memory_sharing
from anyshape.families.shared_constants import SMALL
from anyshape.ir import Graph, parse
from anyshape.ir.types import f32
from anyshape.lower.tiling import NARROW, WIDE
from anyshape.ops.known import KERNEL
from anyshape.passes import PASSES, run_passes
from anyshape.sym import Facts


def lowered(graph: Graph) -> LoweredGraph:
    return lower_graph(run_passes(graph, PASSES).graph)


@ash.jit
def layers(x: ash.f32["n", 64], w: ash.f32[64, 64]):
    for _ in range(3):
        x = ash.gelu(x @ w)
    return x, ash.cumsum(x, axis=0)


def test_every_kernel_node_has_its_kernel_in_the_order_of_the_graph() -> None:
    found = lowered(layers.graph)
    nodes = [node for node in found.graph.nodes() if node.op is KERNEL]
    assert list(found.kernels) == nodes
    assert all(found.kernels[node].region == node.regions[0] for node in nodes)
    with pytest.raises(FrozenInstanceError):
        found.kernels = {}  # type: ignore[misc]


def test_nodes_with_equal_regions_share_their_kernel() -> None:
    first, second, third, *others = lowered(layers.graph).kernels.values()
    assert first is second is third
    assert first not in others


def test_it_is_for_a_tiling() -> None:
    graph = run_passes(layers.graph, PASSES).graph
    wide, narrow = (
        next(iter(lower_graph(graph, tiling).kernels.values())).lowered.kernel.as_text()
        for tiling in (WIDE, NARROW)
    )
    assert wide != narrow


def test_it_says_which_families_refused() -> None:
    graph = parse("""axes { n: 0.. }
graph f(x: f32[n], y: f32[n]) -> f32[] {
  %0 = dot(x, y) {contract=([0], [0])} : f32[]
  return %0
}
""")
    found = lowered(graph)
    passed = {p.family for k in found.kernels.values() for p in k.lowered.passed_over}
    whys = [d.why for d in found.decisions if d.rule == "lower"]
    assert passed == {"dot"}
    assert whys
    assert all(why.startswith("it is no dot kernel: ") for why in whys)
    assert len(set(found.decisions)) == len(found.decisions)


def test_what_is_looked_up_in_panels_is_lowered_for_panels() -> None:
    table = np.ones((8195, 67), np.float32)
    assert table.nbytes >= SMALL

    @ash.jit
    def tied(ids: ash.i64["n"]):
        return ash.einsum("nk,vk->nv", ash.gather(table, ids, axis=0) * 2.0, table)

    found = lowered(tied.graph)
    packed = [kernel.lowered.packed for kernel in found.kernels.values()]
    assert [sorted(forms) for forms in packed] == [[0], [1]]
    assert packed[0][0] == packed[1][1]
    assert [(d.rule, d.taken) for d in found.decisions] == [("hold_once", True)]


def test_memory_is_shared_only_as_all_variants_allow() -> None:
    axes = "axes { n: 0..   m: 0.. }"
    relu, turned = (
        lower_region(parse(f"{axes}\ngraph g({text}\n  return %0\n}}\n").body, Facts()).kernel
        for text in (
            "x: f32[n, n]) -> f32[n, n] {\n  %0 = relu(x) : f32[n, n]",
            "x: f32[n, n]) -> f32[n, n] {\n  %0 = transpose(x) {perm=[1, 0]} : f32[n, n]",
        )
    )
    assert memory_sharing([relu]).overwritable == {(0, 1)}
    assert memory_sharing([relu, turned]).overwritable == set()
    assert memory_sharing([turned]).copied_from is None


def test_a_copy_of_a_stretch_is_known() -> None:
    text = "axes { n: 4.. }\ngraph g(x: f32[n, 8]) -> f32[2, 8] {\n"
    op = "slice(x) {starts=[1, 0], stops=[3, 8], steps=[1, 1]} : f32[2, 8]"
    kernel = lower_region(parse(f"{text}  %0 = {op}\n  return %0\n}}\n").body, Facts()).kernel
    sharing = memory_sharing([kernel])
    assert sharing.copied_from is not None
    operand, start = sharing.copied_from
    assert (operand, start.constant) == (0, 8)
    assert memory_sharing([kernel, kernel]).copied_from is None, "of several none is a name"
    assert kernel.results[0].dtype == f32
