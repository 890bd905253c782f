"""Sizes that facts settle are one dim in the graph, and callers see nothing of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import AxisRangeError, BindingNamesError, FactViolationError, VerifyError
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import entry_facts, entry_plan
from anyshape.ir.text.parser import parse
from anyshape.passes import PassContext, run_passes
from anyshape.passes.pipeline import PASSES
from anyshape.passes.refine import Refine
from anyshape.passes.refine_regions import RefineRegions
from anyshape.sym import Axis, Dim, Facts

RNG = np.random.default_rng(0)


def array(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


@ash.jit(where="a == b")
def same(x: ash.f32["a", "c"], y: ash.f32["b", "c"]):
    return ash.concat([x, y], axis=0), x + y


@ash.jit(axes=[Axis("a", min=2), Axis("b", min=2)])
def not_one(x: ash.f32["a", 10], y: ash.f32[10, "b"]):
    return x + y


@ash.jit(where="c == 3*a")
def thrice(x: ash.f32["a", "d"], y: ash.f32["c", "d"]):
    return ash.concat([x, x, x], axis=0) + y


def inputs_of(executable: ash.Executable) -> list[str]:
    return [str(type_) for type_ in executable.graph.body.params]


def test_names_of_one_size_are_one_dim() -> None:
    assert inputs_of(same.executable) == ["f32[a, c]", "f32[a, c]"]
    assert "b" not in {symbol.name for symbol in same.executable.graph.body.symbols}
    x, y = array(4, 3), array(4, 3)
    both, total = same(x, y)
    np.testing.assert_array_equal(both, np.concatenate([x, y]))
    np.testing.assert_array_equal(total, x + y)


def test_what_ops_require_refines_inputs() -> None:
    assert inputs_of(not_one.executable) == ["f32[10, 10]", "f32[10, 10]"]
    x, y = array(10, 10), array(10, 10)
    np.testing.assert_array_equal(not_one(x, y), x + y)
    with pytest.raises(FactViolationError, match=r"'broadcastable\(a, 10\)' does not hold"):
        not_one(array(4, 10), y)
    with pytest.raises(AxisRangeError, match="axis 'a' is 1"):
        not_one(array(1, 10), y)


def test_a_multiple_takes_the_place_of_its_axis() -> None:
    assert inputs_of(thrice.executable) == ["f32[a, d]", "f32[3*a, d]"]
    x, y = array(2, 5), array(6, 5)
    np.testing.assert_array_equal(thrice(x, y), np.concatenate([x, x, x]) + y)
    with pytest.raises(FactViolationError, match=r"'c == 3\*a' does not hold for a=2, c=7"):
        thrice(x, array(7, 5))


def test_errors_speak_of_declared_axes() -> None:
    plain = compile_graph(same.graph, without=["refine"])
    messages = [_message(run, array(4, 3), array(5, 3)) for run in (same.executable, plain)]
    assert messages[0] == messages[1]
    assert "'a == b' does not hold for a=4, b=5" in messages[0]
    assert "input 'y' has 5 (axis 0)" in messages[0]


def _message(executable: ash.Executable, *arrays: Any) -> str:
    with pytest.raises(FactViolationError) as caught:
        executable(*arrays)
    return str(caught.value)


def test_bindings_name_declared_axes() -> None:
    executable = same.executable
    assert [axis.name for axis in executable.axes] == ["a", "c", "b"]
    whole = executable.specialize(a=4, b=4, c=3)
    assert whole.as_text() == executable.specialize(a=4, c=3).as_text()
    with pytest.raises(FactViolationError, match="a == b"):
        executable.specialize(a=4, b=5, c=3)
    with pytest.raises(BindingNamesError):
        executable.specialize(a=4)


def test_explain_names_the_fact() -> None:
    groups = [str(group) for group in same.executable.explain().applied]
    assert any("b is a: a == b (user: a == b @ " in group for group in groups)


def test_both_families_of_sizes_are_one() -> None:
    """Words of level 2: a size is computed once."""
    refined, plain = same.executable, compile_graph(same.graph, without=["refine"])
    counts = [len(exe.executor.linked.words.numbers) for exe in (refined, plain)]  # type: ignore[attr-defined]
    assert counts[0] < counts[1]


def test_donated_inputs_keep_their_orders() -> None:
    @ash.jit(where="heads == h", donate=["past"])
    def grow(past: ash.f32["b", "heads", "s", 4], new: ash.f32["b", "h", 1, 4]):
        return ash.concat([past, new], axis=2)

    past, new = array(2, 3, 5, 4), array(2, 3, 1, 4)
    expected = np.concatenate([past, new], axis=2)
    np.testing.assert_array_equal(grow(past, new), expected)
    with pytest.raises(FactViolationError, match="heads"):
        grow(array(2, 3, 5, 4), array(2, 4, 1, 4))


def test_host_nodes_know_the_sizes() -> None:
    @ash.jit(where="a == b")
    def sized(x: ash.f32["a"], y: ash.f32["b"]):
        return ash.nonzero(x + y)

    x = np.array([0, 1, 2, 0], np.float32)
    np.testing.assert_array_equal(sized(x, x), np.argwhere(x + x).T)
    with pytest.raises(FactViolationError, match="'a == b' does not hold for a=4, b=3"):
        sized(x, x[:3])


TEXT = """
facts {
  a == b  # user
}
graph f(x: f32[a], y: f32[b]) -> f32[a] {
  %0 = add(x, y) : f32[a]
  return %0
}
"""


def test_twice_is_once() -> None:
    graph = parse(TEXT)
    once = Refine().run(graph, PassContext())
    twice = Refine().run(once, PassContext())
    assert once == twice
    assert twice.declared == once.declared


def test_later_requirements_are_checked_too() -> None:
    graph = Refine().run(parse(TEXT), PassContext())
    more = replace(graph.body, facts=replace(graph.facts, facts=(ash_fact("a <= 7"),)))
    assert [str(fact) for fact in entry_facts(graph.with_body(more)).facts] == ["a == b", "a <= 7"]
    assert [name for name, _ in entry_plan(graph).inputs] == ["input 'x'", "input 'y'"]


def ash_fact(text: str) -> Any:
    return parse(f"facts {{ {text} }} graph f(x: f32[a]) -> f32[a] {{ return x }}").facts.facts[0]


def test_a_replacement_without_value_is_refused() -> None:
    """`n // d` with a `d` that is always 0: no call is legal, and the graph is left alone."""
    text = TEXT.replace("a == b", "d == 0").replace("x: f32[a], y: f32[b]", "x: f32[d], y: f32[n]")
    text = text.replace("add(x, y) : f32[a]", "dim_value() {value=n//d} : i64[]")
    graph = parse(text.replace("-> f32[a]", "-> i64[]"))
    passed = run_passes(graph, [Refine()])
    assert passed.graph == graph
    (decision,) = passed.reports[0].refused
    assert "d is 0" in decision.why


# --- products -------------------------------------------------------------------------------------


@ash.jit(where="a*b == 24")
def product(x: ash.f32["a", "b"], y: ash.f32["a*b", "n"]):
    return x.reshape(("a*b", 1)) + y


@ash.jit(where="a*b == c*d")
def products(x: ash.f32["a", "b"], y: ash.f32["c", "d"]):
    return ash.exp(x.reshape(("a*b",))) + y.reshape(("c*d",))


def test_a_product_is_a_number_in_types() -> None:
    assert inputs_of(product.executable) == ["f32[a, b]", "f32[24, n]"]
    assert [str(type_) for type_ in product.executable.graph.body.result_types] == ["f32[24, n]"]
    x, y = array(4, 6), array(24, 3)
    np.testing.assert_array_equal(product(x, y), x.reshape(24, 1) + y)
    np.testing.assert_array_equal(product(x.T.copy(), y), x.T.reshape(24, 1) + y)


def test_errors_of_products_speak_of_what_was_declared() -> None:
    plain = compile_graph(product.graph, without=["refine"])
    arrays = array(4, 5), array(20, 3)
    messages = [_message(run, *arrays) for run in (product.executable, plain)]
    assert messages[0] == messages[1]
    assert "'a*b == 24' does not hold for a=4, b=5" in messages[0]


def test_equal_products_are_one_dim() -> None:
    """So both are of one kernel."""
    graph = products.executable.graph
    assert "a*b" not in graph.as_text().split("graph", 1)[1]
    assert sum(node.op.name == "kernel" for node in graph.nodes()) == 1
    x, y = array(4, 6), array(8, 3)
    np.testing.assert_allclose(products(x, y), np.exp(x).ravel() + y.ravel(), rtol=1e-5)


def test_explain_names_the_fact_of_a_product() -> None:
    groups = [str(group) for group in product.executable.explain().applied]
    assert any("a*b is 24: a*b == 24 (user: a*b == 24 @ " in group for group in groups)


# --- regions --------------------------------------------------------------------------------------

ROW = np.arange(10, dtype=np.float32)


@ash.jit(axes=[Axis("a", min=2)])
def branches(p: ash.bool[()], x: ash.f32["a"]):
    return ash.cond(p, lambda x: (ash.exp(x) + ROW).sum(), lambda x: x.sum(), x)


@ash.jit(axes=[Axis("a", min=2)])
def shown(p: ash.bool[()], x: ash.f32["a"]):
    return ash.cond(p, lambda x: (x + ROW)[:, None] * x, lambda x: x[:, None] * x, x)


def test_facts_of_a_branch_settle_its_sizes() -> None:
    bodies = [line for line in branches.executable.as_text().splitlines() if "body(" in line]
    assert any("a0: f32[10], a1: f32[10]" in body for body in bodies), bodies
    x = array(10)
    assert branches(np.array(True), x) == pytest.approx((np.exp(x) + ROW).sum(), rel=1e-5)
    x = array(3)
    assert branches(np.array(False), x) == pytest.approx(x.sum(), rel=1e-5)


def test_what_holds_in_a_branch_is_checked_there() -> None:
    plain = compile_graph(branches.graph, without=["refine-regions"])
    arrays = np.array(True), array(3)
    messages = [_message(run, *arrays) for run in (branches.executable, plain)]
    assert messages[0] == messages[1]
    assert "'broadcastable(a, 10)' does not hold for a=3" in messages[0]


def test_sizes_of_results_stay() -> None:
    """What surrounds a branch does not know what holds in it."""
    assert run_passes(shown.graph, [RefineRegions()], verify=True).graph == shown.graph
    x = array(10)
    for holds in (True, False):
        given = np.array(holds), x
        (wanted,) = evaluate(shown.graph, *given)
        np.testing.assert_allclose(shown(*given), wanted, rtol=1e-5)


def test_explain_names_the_fact_of_a_branch() -> None:
    groups = [str(group) for group in branches.executable.explain().applied]
    assert any("a is 10: broadcastable(a, 10)" in group for group in groups)


# --- no pass loses a fact -------------------------------------------------------------------------


class Forgets:
    """A pass that drops what users have said."""

    name = "forgets"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return graph.with_body(replace(graph.body, facts=Facts()))


class Widens:
    """A pass that forgets the range of an axis."""

    name = "widens"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return graph.with_body(replace(graph.body, facts=Facts((Axis("n"),))))


def test_a_lost_fact_is_found() -> None:
    with pytest.raises(VerifyError, match=r"(?s)after pass 'forgets'.*a == b"):
        run_passes(parse(TEXT), [Forgets()], verify=True)


def test_a_lost_range_is_found() -> None:
    text = "axes { n: 0..8 } graph f(x: f32[n]) -> f32[n] { return x }"
    with pytest.raises(VerifyError, match=r"(?s)after pass 'widens'.*n: 0\.\.8"):
        run_passes(parse(text), [Widens()], verify=True)


def test_refinement_keeps_all_facts() -> None:
    for function in (same, not_one, thrice):
        passed = run_passes(function.graph, PASSES, verify=True)
        assert passed.graph.declared is not None
        assert Dim.of("b") not in passed.graph.body.params[0].shape  # type: ignore[union-attr]


NO_SIZES = """
axes { seq: 1..12   even: 0..512 multiple_of 2 }
facts {
  3*even*seq == 6*even*(seq//2)
  broadcastable(8, even)
  broadcastable(65, seq)
}
graph f(x: f32[3, even, seq]) -> f32[3, even, seq//2, 2] {
  %0 = reshape(x) {shape=[3, even, seq//2, 2]}
  return %0
}
"""


def test_facts_that_no_sizes_satisfy_settle_nothing() -> None:
    """`even` would be 8 and `seq` 1, which is no even number of elements: nothing else is proven
    under such facts, so the verifier would refuse what was made of the graph."""
    graph = parse(NO_SIZES)
    assert run_passes(graph, [Refine()], verify=True).graph.body.params == graph.body.params
    with pytest.raises(FactViolationError):
        compile_graph(graph)(array(3, 8, 2))
