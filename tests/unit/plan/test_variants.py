"""Two ways to do one step: level 2 takes the cheaper one, and says what the other would cost."""

from collections.abc import Set
from dataclasses import replace

import numpy as np
import pytest

import anyshape.families.lower_graph as planning
from anyshape.execute import Executable, compile_graph
from anyshape.families.lower import Known, Lowered, lower_region
from anyshape.ir import parse
from anyshape.ir.node import Region
from anyshape.ir.types import f32
from anyshape.loop import Apply, Buffer, For, Kernel, Let, Literal, Load, Local, Store
from anyshape.lower.effort import Effort, Variant
from anyshape.lower.tiling import Tiling
from anyshape.plan.costs import Costing, MachineCosts
from anyshape.sym import Dim, Facts, Symbol

T, J = Symbol("t"), Symbol("j")
COSTS = MachineCosts()


def doubling(lowered: Lowered) -> Kernel:
    """A row per task, through a workspace of its own; twice the value, to be told apart."""
    x, y = lowered.kernel.buffers
    rows, columns = (Dim.of(size) for size in lowered.kernel.sizes)
    row = Buffer("row", f32, (columns + 4096,), (Dim.of(1),))
    j, offset = Dim.of(J), Dim.of(T) * columns + Dim.of(J)
    local = Local("v", f32)
    twice = Apply("mul", (Load(row, (j,)), Literal.of(2, f32)), f32)
    body = (
        For(J, columns, (Let(local, Load(x, (offset,))), Store(row, (j,), local))),
        For(J, columns, (Store(y, (offset,), Apply("maximum", (twice, Literal.of(0, f32)), f32)),)),
    )
    return Kernel((x, y), lowered.kernel.sizes, T, rows, body, lowered.kernel.facts, (row,))


def two_ways(
    region: Region, facts: Facts, constants: Set[int], tiling: Tiling, known: Known
) -> Lowered:
    """The usual kernel costs as its elements say, the other as much as 1000 operations a row."""
    lowered = lower_region(region, facts, constants, tiling, known)
    rows, columns = (Dim.of(size) for size in lowered.kernel.sizes)
    other = Variant("doubling", doubling(lowered), Effort(operations=rows * 1000))
    return replace(lowered, effort=Effort(operations=rows * columns), others=(other,))


@pytest.fixture
def executable(monkeypatch: pytest.MonkeyPatch) -> Executable:
    monkeypatch.setattr(planning, "lower_region", two_ways)
    text = "axes { n: 0..   m: 0.. }\ngraph g(x: f32[n, m]) -> f32[n, m] {\n"
    graph = parse(text + "  %0 = relu(x) : f32[n, m]\n  return %0\n}\n")
    return compile_graph(graph, threads=1)


@pytest.mark.parametrize(("n", "m", "factor"), [(3, 8, 1), (7, 100_000, 2), (0, 5, 1), (5, 0, 1)])
def test_the_cheaper_one_runs(executable: Executable, n: int, m: int, factor: int):
    x = np.random.default_rng(0).standard_normal((n, m)).astype(np.float32)
    np.testing.assert_array_equal(executable(x)[0], factor * np.maximum(x, 0))


def raw(executable: Executable, **sizes: int):
    return executable.specialize(**sizes)._native


def test_numbers_of_the_choice(executable: Executable):
    few, many = raw(executable, n=3, m=8).steps[0], raw(executable, n=7, m=100_000).steps[0]
    assert few.variant_names == many.variant_names == ("plain", "doubling")
    assert (few.variant, many.variant) == (0, 1)
    assert (few.tasks, many.tasks) == (1, 7)
    for step in (few, many):
        assert step.variant_costs[step.variant] == min(step.variant_costs)
        assert step.cost is not None
    assert few.variant_costs[1] - few.variant_costs[0] > 0
    assert many.variant_costs[0] > 40 * many.variant_costs[1]


def test_only_the_chosen_workspace_takes_memory(executable: Executable):
    assert raw(executable, n=3, m=8).memory.arena == 0
    assert raw(executable, n=7, m=100_000).memory.arena == 4 * 104_096


def test_absurd_sizes_are_not_refused_for_their_cost(executable: Executable):
    """The bytes of 2^60 elements fit in 64 bits, and their picoseconds do not."""
    step = raw(executable, n=1 << 57, m=8).steps[0]
    assert step.variant_costs[1] == (1 << 63) - 1
    assert step.variant == 0


# ---- formulas ----------------------------------------------------------------------------------


def ps(dim: Dim, n: int) -> int:
    return dim.evaluate({Symbol("n"): n})


N = Dim.of(Symbol("n"))


def test_a_roofline():
    compute = Effort(flops=N * 1000, bytes=N)
    assert (
        ps(COSTS.alone(compute, Dim.of(1)), 1000)
        == (1000 * 1000 * COSTS.flop + COSTS.task + COSTS.step) // 1000
    )
    moved = Effort(operations=N, bytes=N * 1000)
    inside, beyond = COSTS.cache_bytes, 10**9 - COSTS.cache_bytes
    expected = inside * COSTS.cached_byte + beyond * COSTS.memory_byte + COSTS.task + COSTS.step
    assert ps(COSTS.alone(moved, Dim.of(1)), 10**6) == expected // 1000


def test_threads_share_whole_tasks():
    costs = replace(COSTS, threads=2, task=0, step=0)
    effort = Effort(flops=Dim.of(10**6))
    alone = ps(costs.alone(effort, N), 1)
    assert [ps(costs.shared(effort, N), tasks) for tasks in (1, 2, 4)] == [
        alone, alone // 2, alone // 2
    ]  # fmt: skip
    assert ps(costs.shared(effort, N), 3) == alone // 3 * 2
    assert ps(costs.shared(effort, N), 0) == 0


# --- sizes of the kernel's own --------------------------------------------------------------------


def regions_of(*axes: str) -> list[Region]:
    texts = (f"graph g(x: f32[{a}]) -> f32[{a}] {{\n  %0 = relu(x) : f32[{a}]" for a in axes)
    return [parse(f"{text}\n  return %0\n}}\n").body for text in texts]


def test_steps_that_share_a_kernel_share_their_formulas() -> None:
    known: Known = {}
    costing = Costing(COSTS)
    regions = regions_of("n", "m", "n + 6")
    ways = [costing.variants(lower_region(r, Facts(), known=known), r) for r in regions]
    assert ways[0].variants is ways[1].variants
    assert [str(dim) for way in ways for _, dim in way.sizes] == ["n", "m", "n + 6"]


def test_sizes_that_say_nothing_of_the_graphs_leave_it_in_the_graphs() -> None:
    """A kernel of `2*n` elements, told only that: its effort cannot be said in its own size."""
    (region,) = regions_of("n")
    lowered = lower_region(region, Facts())
    own = Costing(COSTS).variants(lowered, region)
    doubled = Costing(COSTS).variants(replace(lowered, sizes=(2 * Dim.of("n"),)), region)
    assert own.sizes
    assert not doubled.sizes
    (own_choice,), (choice,) = own.variants, doubled.variants
    (size,) = lowered.kernel.sizes
    assert choice.tasks.evaluate({Symbol("n"): 9000}) == own_choice.tasks.evaluate({size: 18_000})
    extra = choice.tasks.evaluate({Symbol("n"): 9000}) - own_choice.tasks.evaluate({size: 9000})
    difference = choice.alone.evaluate({Symbol("n"): 9000}) - own_choice.alone.evaluate(
        {size: 9000}
    )
    assert difference == extra * COSTS.task // 1000
