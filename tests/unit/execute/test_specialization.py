"""Level 2's face: what a binding needs, costs and looks like."""

import re
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import BindingNamesError, DimError, FactViolationError
from anyshape.execute import Executable, StepCost, VariantCost
from anyshape.execute.reports import CostReport, MemoryReport, StepReport, step_table
from anyshape.ir import parse

ROWS = """
axes { batch: 0..   seq: 1.. }
graph rows(x: f32[batch, seq, 8], y: f32[seq]) -> (f32[batch, 8*seq], f32[batch, seq]) {
  %0 = sum(x) {axes=[2]}
  %1 = softmax(%0) {axis=1}
  %2 = reshape(x) {shape=[batch, 8*seq]}
  %3 = exp(%2)
  %4 = mul(%1, y)
  return %3, %4
}
"""


@pytest.fixture(scope="module")
def rows() -> Executable:
    return ash.compile(parse(ROWS))


def test_memory(rows: Executable) -> None:
    memory = rows.specialize(batch=4, seq=16).memory()
    assert memory.outputs == 4 * (4 * 16 * 8 + 4 * 16)
    assert memory.lower_bound <= memory.arena
    assert memory.ratio <= 1.1
    assert memory.weights == 0


def test_a_binding_of_nothing_gives_nothing(rows: Executable) -> None:
    memory = rows.specialize(batch=0, seq=16).memory()
    assert (memory.outputs, memory.ratio) == (0, 1.0)


def test_the_report_of_memory_prints() -> None:
    assert str(MemoryReport(30_000, 20_000, 128, 256, 64, 1 << 30)) == (
        "arena 29.3 KiB (1.50 of the lower bound), saved by aliases 128 B, in place 256 B; "
        "results 64 B, weights 1.0 GiB"
    )


def test_steps_name_types_and_places(rows: Executable) -> None:
    specialization = rows.specialize(batch=4, seq=16)
    assert specialization.binding == {"batch": 4, "seq": 16}
    steps = specialization.steps
    assert [step.number for step in steps] == list(range(len(steps)))
    by_result = {step.writes: step for step in steps}
    assert by_result[("result 0",)].results == ("f32[4, 128]",)
    assert by_result[("result 0",)].reads == ("x",)
    assert by_result[("result 1",)].results == ("f32[4, 16]",)
    between = [place for step in steps for place in step.writes if place.startswith("arena")]
    assert all(place in {r for step in steps for r in step.reads} for place in between)


def test_every_step_has_a_cost(rows: Executable) -> None:
    small, large = (rows.specialize(batch=n, seq=512).cost() for n in (1, 512))
    assert small.nanoseconds is not None
    assert large.nanoseconds is not None
    assert large.nanoseconds > 20 * small.nanoseconds
    assert sum(step.nanoseconds or 0 for step in large.steps) == pytest.approx(large.nanoseconds)
    assert [step.name for step in large.steps] == [step.name for step in small.steps]


def test_costs_print_losers_too() -> None:
    variants = (VariantCost("rows", 1500.0, False), VariantCost("tiles", 900.0, True))
    step = StepCost("dot", 12, True, 1700.0, variants)
    assert str(CostReport((step, StepCost("gather", 1, False, None)))) == (
        "     kernel  tasks  split  estimate  variant\n"
        "  0  dot        12  yes    1.7 µs    tiles 900 ns (not rows 1.5 µs)\n"
        "  1  gather      1  no     -\n"
        "  all on one thread: -"
    )


def test_the_table_counts_constants() -> None:
    cost = StepCost("dot+add", 1, False, 900.0)
    step = StepReport(0, ("f32[4]",), cost, ("constant", "x", "constant"), ("result 0",))
    assert step_table([step])[1].endswith(" x, 2 constants  result 0")


def test_text_is_a_table_and_the_same_each_time(rows: Executable) -> None:
    text = rows.specialize(batch=4, seq=16).as_text()
    first, head, *steps, memory = text.splitlines()
    assert first.startswith("rows at batch=4, seq=16: ")
    assert head.split() == [
        "kernel", "result", "tasks", "estimate", "variant", "reads", "writes",
    ]  # fmt: skip
    assert len(steps) == len(rows.specialize(batch=4, seq=16).steps)
    assert memory.startswith("  memory: arena ")
    assert str(ash.compile(parse(ROWS)).specialize(seq=16, batch=4)) == text


def test_sizes_that_follow_from_others_need_not_be_given() -> None:
    @ash.jit(where="pooled == seq // 2")
    def pool(x: ash.f32["seq"], skip: ash.f32["pooled"]):
        return x[: skip.shape[0]] + skip

    executable = ash.compile(pool)
    assert executable.specialize(seq=9).binding == {"seq": 9, "pooled": 4}
    with pytest.raises(FactViolationError, match="'pooled == seq//2' does not hold"):
        executable.specialize(seq=9, pooled=5)
    with pytest.raises(BindingNamesError, match="axis 'seq' has no size"):
        executable.specialize(pooled=4)


@pytest.mark.parametrize("size", [16.0, "16", None])
def test_a_size_is_an_integer(rows: Executable, size: Any) -> None:
    with pytest.raises(DimError, match=re.escape(f"dim 'seq={size!r}': a size is an integer")):
        rows.specialize(batch=4, seq=size)
    assert rows.specialize(batch=4, seq=np.int32(16)).binding == {"batch": 4, "seq": 16}


def test_a_graph_without_axes_has_one_binding() -> None:
    @ash.jit
    def fixed(x: ash.f32[3]):
        return x + 1

    specialization = ash.compile(fixed).specialize()
    assert specialization.binding == {}
    assert specialization.as_text().startswith("fixed at its one shape: 1 step on one thread\n")
    assert specialization.as_text() in str(ash.compile(fixed).explain()).replace("\n  ", "\n")
    np.testing.assert_array_equal(fixed(np.zeros(3, np.float32)), 1)


def test_many_overflow_checks_are_right_together() -> None:
    """Eight and more flags in one function: with them in vectors, LLVM loses some on AVX-512."""

    @ash.jit
    def f(
        x: ash.u8["c+1", "a"],
        y: ash.f32["c"],
        i: ash.i32["b"],
        w: ash.u32[8, "c"],
        j: ash.i64["2*a"],
    ):
        both = ash.concat([x, x])
        product = ash.dot_general(y.astype(ash.u32), w, ((0,), (1,)))
        return x[:, i], ash.logical_and(both, both), both.astype(ash.u32), product, x[j], x

    x, w = np.ones((12, 5), np.uint8), np.ones((8, 11), np.uint32)
    i, j = np.zeros(7, np.int32), np.zeros(10, np.int64)
    shapes = [result.shape for result in f(x, np.ones(11, np.float32), i, w, j)]
    assert shapes == [(12, 7), (24, 5), (24, 5), (8,), (10, 5), (12, 5)]
