"""Graphs with host nodes: what is divided, what is refused, what is checked when."""

import os

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import FactViolationError, RankMismatchError, UnsupportedError
from anyshape.base.options import options_from_environment
from anyshape.execute import Executable
from anyshape.execute.compile import ProgramCompiler
from anyshape.execute.compile_options import CompileOptions
from anyshape.execute.executor import Executor
from anyshape.execute.host import HostExecutor
from anyshape.execute.native import NativeExecutor
from anyshape.execute.regions import HostStep, SegmentStep, Step, plan_graph
from anyshape.ir import Graph, evaluate, parse
from anyshape.passes import PASSES, run_passes
from anyshape.passes.donation import NOTHING_DONATED
from anyshape.passes.native_forms import is_host


def host(executable: Executable) -> HostExecutor:
    assert isinstance(executable.executor, HostExecutor)
    return executable.executor


def kinds(steps: tuple[Step, ...]) -> list[str]:
    return [s.node.op.name if isinstance(s, HostStep) else "segment" for s in steps]


def test_a_graph_without_host_nodes_is_one_program() -> None:
    graph = parse("graph f(x: f32[n]) -> f32[n] {\n  %0 = exp(x)\n  return %0\n}")
    executor = ash.compile(graph, strict=True).executor
    assert isinstance(executor, NativeExecutor)
    assert executor.run == executor.linked.program.run, "nothing of Python is in between"


def test_strict_names_every_node_that_python_computes_and_its_places() -> None:
    @ash.jit
    def f(x: ash.f32["n"]):
        def branch(v):
            return v[ash.nonzero(v)[0]].sum()

        noise = ash.random.uniform(ash.random.new_key(), x.shape)
        more = ash.random.normal(ash.random.new_key(), x.shape)
        return noise, more, ash.cond(x.sum() > 0, branch, lambda v: v.sum() * 2, x)

    with pytest.raises(UnsupportedError) as caught:
        ash.compile(f, strict=True)
    assert caught.value.ops == {"entropy": 2}, "branches and late sizes are the runtime's own"
    first = f.__wrapped__.__code__.co_firstlineno
    file = os.path.relpath(__file__)
    at = [f"{file}:{first + line}" for line in (5, 6)]
    assert str(caught.value) == (
        f"no native form of entropy (2)\n"
        f"entropy: {at[0]}, {at[1]}\n"
        f"fix: compile without strict=True, and they run on the host"
    )


LATE = """
graph late(x: f32[n], y: f32[n, 4]) -> f32[4] {
  %0 = exp(x)
  %1 = nonzero(%0) late [k <= n]
  %2 = reshape(%1) {shape=[k]}
  %3 = gather(y, %2) {axis=0}
  %4 = sum(%3) {axes=[0]}
  return %4
}
"""


def test_values_are_let_go_after_their_last_use() -> None:
    entry, prefix, rest = host(ash.compile(parse(LATE))).plan.steps
    assert isinstance(entry, SegmentStep)
    assert isinstance(prefix, HostStep)
    assert entry.over == ()
    assert prefix.over == entry.results
    assert rest.over == prefix.results


def test_a_graph_whose_kernels_all_wait_has_an_entry_without_steps() -> None:
    text = """
    axes { n: 1..8 }
    graph count(count: i64[1], x: f32[n]) -> i64[] {
      %0 = prefix(count, x) late [k <= n]
      %1 = dim_value() {value=2*k}
      return %1
    }
    """
    executable = ash.compile(parse(text))
    assert kinds(host(executable).plan.steps) == ["segment", "prefix", "segment"]
    assert executable(np.array([2]), np.zeros(3, np.float32))[0] == 4
    assert executable.specialize(n=3).steps == ()
    with pytest.raises(RankMismatchError):
        executable(np.array([2]), np.zeros((3, 1), np.float32))


def test_tokens_go_through() -> None:
    text = """
    graph keys(t: token, x: f32[n]) -> (u32[n], token, f32[n], u32[2]) {
      %0, %1 = entropy(t)
      %2 = random_bits(%0) {shape=[n]}
      return %2, %1, x, %0
    }
    """
    x = np.arange(3, dtype=np.float32)
    bits, same, key = ash.compile(parse(text))(x)
    np.testing.assert_array_equal(same, x)
    again = "graph f(k: u32[2]) -> u32[3] {\n  %0 = random_bits(k) {shape=[3]}\n  return %0\n}"
    np.testing.assert_array_equal(bits, evaluate(parse(again), key)[0])


def test_a_token_alone_goes_through_too() -> None:
    text = "graph f(t: token, x: f32[n]) -> (token, f32[n]) {\n  return t, x\n}"
    (found,) = ash.compile(parse(text))(np.ones(2, np.float32))
    np.testing.assert_array_equal(found, [1, 1])


BRANCH = """
graph halves(p: bool[], x: f32[n]) -> f32[n] {
  %0 = cond(p, x)
    then(a0: f32[n]) -> f32[n] {
      %0 = reshape(a0) {shape=[n//2, 2]}
      %1 = exp(%0)
      %2 = reshape(%1) {shape=[n]}
      return %2
    }
    else(a0: f32[n]) -> f32[n] {
      return a0
    }
  return %0
}
"""


def test_facts_of_a_region_are_checked_when_it_runs() -> None:
    executable = ash.compile(parse(BRANCH))
    even, odd = np.ones(4, np.float32), np.ones(3, np.float32)
    np.testing.assert_allclose(executable(np.array(True), even)[0], np.exp(even))
    np.testing.assert_array_equal(executable(np.array(False), odd)[0], odd)
    with pytest.raises(FactViolationError) as found:
        executable(np.array(True), odd)
    with pytest.raises(FactViolationError) as wanted:
        evaluate(executable.source, np.array(True), odd)
    assert str(found.value) == str(wanted.value)


def test_reports_are_of_all_segments() -> None:
    executable = ash.compile(parse(LATE))
    executable(np.ones(3, np.float32), np.ones((3, 4), np.float32))
    segments = host(executable).segments
    assert len(segments) == 2
    metrics = executable.metrics()
    assert (metrics.runs, metrics.misses) == (1, 2)  # one call, a binding for each segment
    assert executable.executor.kernel_summary().steps == 5
    assert sum(segment.kernel_summary().steps for segment in segments) == 5
    assert executable.memory().code == sum(s.memory().code for s in segments)


# --- constructors compile nothing -----------------------------------------------------------------


def test_every_segment_is_compiled_before_there_is_an_executor() -> None:
    passed = run_passes(parse(LATE), PASSES).graph
    compiled: list[str] = []
    options = options_from_environment()
    compiler = ProgramCompiler.of(options, CompileOptions.of(), NOTHING_DONATED)

    def compile_program(graph: Graph) -> Executor:
        assert not [node for node in graph.nodes() if is_host(node)], "kernels and sources only"
        compiled.append(graph.as_text())
        return compiler.executor(graph)

    plan = plan_graph(passed, compile_program)
    assert len(compiled) == len(list(plan.segments)) == 2
    executor = HostExecutor(passed, plan)
    assert executor.plan is plan
    assert len(compiled) == 2
