"""Names, numbers and owners of buffers: from lowered graphs, without a schedule."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import anyshape as ash
from anyshape.families.lower_graph import LoweredGraph, lower_graph
from anyshape.ir import Graph, parse
from anyshape.passes import PASSES, run_passes
from anyshape.plan.aliases import aliases_of
from anyshape.plan.costs import MachineCosts, cost_table
from anyshape.plan.given_memory import given_memory, outputs_of
from anyshape.plan.lifetimes import StepOrder, lifetimes_of
from anyshape.plan.schedule_order import ordered_nodes
from anyshape.plan.schedule_tables import Tables, Workspace, step_buffers, tables_of
from anyshape.plan.step_buffers import waits_of, writers_of
from anyshape.plan.stores import arena_stores, planned_buffers, temporaries
from anyshape.program import AliasStore, ArenaStore, InputStore, OutputStore


def kernel(operand: str, params: str, op: str, type_: str) -> str:
    body = f"body({params}) -> {type_} {{\n      %0 = {op} : {type_}\n      return %0\n    }}"
    return f"kernel({operand})\n    {body} : {type_}"


def cut(operand: str, start: str, stop: str, type_: str = "f32[n, 8]") -> str:
    op = f"slice(a0) {{starts=[{start}, 0], stops=[{stop}, 8], steps=[1, 1]}}"
    return kernel(operand, f"a0: {type_}", op, f"f32[{stop} - {start}, 8]")


def graph_of(*lines: str, result: str, axes: str = "n: 4..") -> Graph:
    body = "\n".join(f"  %{number} = {line}" for number, line in enumerate(lines))
    head = f"axes {{ {axes} }}\ngraph g(x: f32[n, 8]) -> {result} {{\n{body}\n"
    return parse(f"{head}  return %{len(lines) - 1}\n}}\n")


SOFT = kernel("x", "a0: f32[n, 8]", "softmax(a0) {axis=1}", "f32[n, 8]")


def relu(operand: str, type_: str) -> str:
    return kernel(operand, f"a0: {type_}", "relu(a0)", type_)


def named(graph: Graph) -> list[tuple[str, str, str]]:
    """Names with their roots and offsets."""
    names = {node: f"%{number}" for number, node in enumerate(graph.nodes())}
    aliases = aliases_of(lower_graph(graph), given_memory(graph)).items()
    return [(names[v.node], names[a.root.node], str(a.offset)) for v, a in aliases]


# --- aliases --------------------------------------------------------------------------------------


def test_names_of_names_have_the_same_root() -> None:
    graph = graph_of(
        SOFT,
        cut("%0", "1", "4"),
        "reshape(%1) {shape=[24]} : f32[24]",
        relu("%2", "f32[24]"),
        result="f32[24]",
    )
    assert named(graph) == [("%2", "%1", "32"), ("%3", "%1", "32")]


def test_offsets_add_up() -> None:
    inner = cut("%1", "1", "3", "f32[3, 8]")
    graph = graph_of(SOFT, cut("%0", "1", "4"), inner, relu("%2", "f32[2, 8]"), result="f32[2, 8]")
    assert [offset for _, _, offset in named(graph)] == ["32", "64"]


def test_what_may_lie_outside_and_what_is_returned_are_no_names() -> None:
    lines = SOFT, cut("%0", "1", "4"), relu("%1", "f32[3, 8]")
    assert len(named(graph_of(*lines, result="f32[3, 8]"))) == 1
    assert named(graph_of(*lines, result="f32[3, 8]", axes="n: 0..")) == []
    assert named(graph_of(SOFT, cut("%0", "1", "4"), result="f32[3, 8]")) == []


def test_outputs_are_counted_once() -> None:
    text = f"axes {{ n: 4.. }}\ngraph g(x: f32[n, 8]) -> (f32[n, 8], f32[n, 8]) {{\n  %0 = {SOFT}\n"
    graph = parse(f"{text}  return %0, %0\n}}\n")
    assert len(outputs_of(graph)) == 1
    assert list(given_memory(graph).outputs.values()) == [0]


# --- tables ---------------------------------------------------------------------------------------


def tables(lowered: LoweredGraph, threads: int = 1) -> Tables:
    given = given_memory(lowered.graph)
    costs = cost_table(lowered, MachineCosts(threads=threads))
    nodes = ordered_nodes(lowered.graph)
    return tables_of(lowered, costs, nodes, aliases_of(lowered, given), given)


def test_numbers_follow_the_order_of_steps() -> None:
    graph = graph_of(SOFT, cut("%0", "1", "4"), relu("%1", "f32[3, 8]"), result="f32[3, 8]")
    made = tables(lower_graph(graph))
    assert [step.buffers for step in made.steps] == [(0, 1), (2, 3)]
    assert {n: (root, str(offset)) for n, (root, offset) in made.aliases.items()} == {2: (1, "32")}
    assert [str(row.bytes) for row in made.buffers] == ["32*n", "32*n", "96", "96"]
    with pytest.raises(FrozenInstanceError):
        made.buffers = ()  # type: ignore[misc]


def test_a_part_of_a_buffer_is_seen_through_and_not_overwritten() -> None:
    part = graph_of(SOFT, cut("%0", "1", "4"), relu("%1", "f32[3, 8]"), result="f32[3, 8]")
    made = tables(lower_graph(part))
    second = step_buffers(made.steps[1], made.aliases)
    assert (second.operands, second.results) == ((1,), (3,))
    assert second.overwritable == set()
    whole = graph_of(
        SOFT,
        "reshape(%0) {shape=[8*n]} : f32[8*n]",
        relu("%1", "f32[8*n]"),
        result="f32[8*n]",
    )
    made = tables(lower_graph(whole))
    assert step_buffers(made.steps[1], made.aliases).overwritable == {(0, 1)}


def test_a_constant_has_a_number_for_each_form() -> None:
    weights = np.ones((96, 96), np.float32)

    @ash.jit
    def both(x: ash.f32["n", 96]):
        return x @ weights, ash.softmax(x, axis=0)[:1] + weights

    made = tables(lower_graph(run_passes(both.graph, PASSES).graph))
    constants = [(v, form) for v, form in made.numbers if v.node.op.name == "constant"]
    assert sorted(form is not None for _, form in constants) == [False, True]


@ash.jit
def attends(q: ash.f32["b", "s", 4, 16], k: ash.f32["b", "t", 4, 16], v: ash.f32["b", "t", 4, 16]):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    return ash.attention(q, k, v)


def test_workspaces_belong_to_variants() -> None:
    made = tables(lower_graph(run_passes(attends.graph, PASSES).graph))
    found = {n for step in made.steps for numbers in step.workspaces for n in numbers}
    assert found
    assert found == {n for n, row in enumerate(made.buffers) if isinstance(row, Workspace)}
    (several,) = [step for step in made.steps if len(step.workspaces) > 1]
    assert len(several.workspaces) == len(several.costed.variants)
    for index, numbers in enumerate(several.workspaces):
        for row in map(made.buffers.__getitem__, numbers):
            assert isinstance(row, Workspace)
            assert row.only is not None, "it takes memory only where its variant is chosen"
            assert row.only.index == index
            assert row.only.costs == tuple(v.shared for v in several.costed.variants)


# --- owners ---------------------------------------------------------------------------------------


def test_every_buffer_has_an_owner() -> None:
    graph = graph_of(
        SOFT,
        "reshape(%0) {shape=[8*n]} : f32[8*n]",
        relu("%1", "f32[8*n]"),
        relu("%2", "f32[8*n]"),
        result="f32[8*n]",
    )
    lowered = lower_graph(graph)
    made, given = tables(lowered), given_memory(graph)
    steps = tuple(step_buffers(row, made.aliases) for row in made.steps)
    writers = writers_of(steps, made.appended)
    lives = lifetimes_of(steps, StepOrder.of(waits_of(steps, writers), 3), writers)
    assert {n: str(b) for n, b in temporaries(made, given, writers.keys()).items()} == {
        1: "32*n",
        3: "32*n",
    }
    arena = arena_stores(made, steps, lives.joined({3: 1}), {1})
    assert arena == {1: ArenaStore(0, 2, ())}
    stores = [buffer.store for buffer in planned_buffers(made, given, {3: 1}, arena)]
    assert stores == [
        InputStore(0),
        arena[1],
        AliasStore(1),
        AliasStore(1, in_place=True),
        OutputStore(0),
    ]
