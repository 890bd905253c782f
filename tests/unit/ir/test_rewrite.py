"""Patterns, matching, rules and the engine."""

from __future__ import annotations

import numpy as np
import pytest

from anyshape.base.errors import VerifyError
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.rewrite import (
    Const,
    DecisionLog,
    Match,
    Pattern,
    Refusal,
    Rule,
    RuleSet,
    Var,
    attr,
    const,
    is_splat,
    match,
    op,
    rewrite,
)
from anyshape.ir.text.parser import parse
from anyshape.ir.types import FLOATS, INTEGERS, f32
from anyshape.passes.rules.common import is_constant, keeps_type

x, y = Var("x"), Var("y")


@pytest.fixture
def b() -> Builder:
    return Builder.at_entry()


def attempt(pattern: Pattern, value: Value, b: Builder) -> Match | Refusal:
    return match(pattern, value, b.scope, b.weights)


def found(pattern: Pattern, value: Value, b: Builder) -> Match:
    answer = attempt(pattern, value, b)
    assert isinstance(answer, Match), answer
    return answer


def reason(pattern: Pattern, value: Value, b: Builder) -> str:
    answer = attempt(pattern, value, b)
    assert isinstance(answer, Refusal)
    return answer.reason


# --- patterns -------------------------------------------------------------------------------------


def test_operators_make_op_patterns():
    assert str(-(x * 1) + 0) == "add(neg(mul(x, 1)), 0)"
    assert str(1 - x / y) == "sub(1, div(x, y))"
    assert str(2 + x) == "add(2, x)"
    assert str(op("concat", ..., axis=attr("a"))) == "concat(…) {axis=a}"
    assert str(op("while", x).result(1)) == "while(x)#1"


def test_patterns_are_data():
    assert x * 1 == Var("x") * const(1)
    assert x * 1 != x * 2


def test_dots_stand_alone():
    with pytest.raises(ValueError, match="only operand"):
        op("concat", x, ...)


# --- matching -------------------------------------------------------------------------------------


def test_captures_values_and_attributes(b: Builder):
    p = b.param(f32["n", 4])
    value = b.emit("transpose", b.emit("transpose", p, perm=(1, 0)), perm=(1, 0))
    pattern = op("transpose", op("transpose", x, perm=attr("p")).bind("inner"), perm=attr("q"))
    answer = found(pattern, value, b)
    assert answer["x"] == p
    assert answer["inner"] == value.node.operands[0]
    assert answer.ints("p") == answer.ints("q") == (1, 0)


def test_an_attribute_met_twice_must_be_the_same(b: Builder):
    p = b.param(f32[2, 3, 4])
    pattern = op("transpose", op("transpose", x, perm=attr("p")), perm=attr("p"))
    one = b.emit("transpose", p, perm=(1, 0, 2))
    assert found(pattern, b.emit("transpose", one, perm=(1, 0, 2)), b)
    text = reason(pattern, b.emit("transpose", one, perm=(0, 2, 1)), b)
    assert "perm of transpose is (1, 0, 2), not (0, 2, 1)" in text


def test_a_var_met_twice_is_the_identical_value(b: Builder):
    p, q = b.param(f32["n"]), b.param(f32["n"])
    assert found(op("maximum", x, x), b.emit("maximum", p, p), b)
    assert "two different values" in reason(op("maximum", x, x), b.emit("maximum", p, q), b)


def test_a_shared_capture_reaches_across_the_dag(b: Builder):
    p, q = b.param(f32["n"]), b.param(f32["n"])
    exp = op("exp", x).bind("e")
    same = b.emit("div", b.emit("exp", p), b.emit("sqrt", b.emit("exp", p)))
    other = b.emit("div", b.emit("exp", p), b.emit("sqrt", b.emit("exp", q)))
    assert found(exp / op("sqrt", exp), same, b)["e"] == same.node.operands[0]
    assert "'e' would be two different values" in reason(exp / op("sqrt", exp), other, b)


def test_commutative_ops_match_in_both_orders(b: Builder):
    p = b.param(f32["n"])
    one = b.constant(np.float32(1))
    for value in (b.emit("mul", p, one), b.emit("mul", one, p)):
        assert found(x * 1, value, b)["x"] == p
    assert reason(op("mul", x, 1).in_order(), b.emit("mul", one, p), b)


def test_other_ops_match_in_one_order(b: Builder):
    p = b.param(f32["n"])
    zero = b.constant(np.float32(0))
    assert found(x - 0, b.emit("sub", p, zero), b)
    assert "not a constant 0" in reason(x - 0, b.emit("sub", zero, p), b)


def test_backtracking_forgets_captures(b: Builder):
    """The first order of the outer op binds x to p, which the inner op then contradicts."""
    p, q = b.param(f32["n"]), b.param(f32["n"])
    value = b.emit("add", b.emit("mul", p, q), b.emit("mul", q, p))
    pattern = op("add", op("mul", x, y), op("mul", y, x).in_order())
    assert found(pattern, value, b).values == {"x": p, "y": q}
    nested = b.emit("add", b.emit("neg", p), b.emit("mul", q, b.emit("neg", p)))
    assert found(op("add", op("mul", x, y), x), nested, b).values == {"x": b.emit("neg", p), "y": q}


def test_guards(b: Builder):
    p = b.param(f32["n"])
    value = b.emit("add", p, b.constant(np.float32(2)))
    assert found(op("add", x, Var("c", is_constant)), value, b)["x"] == p
    assert "is_constant" in reason(op("neg", Var("c", is_constant)), b.emit("neg", p), b)
    assert found(op("neg", Var("x", dtypes=FLOATS)), b.emit("neg", p), b)
    assert "f32" in reason(op("neg", Var("x", dtypes=INTEGERS)), b.emit("neg", p), b)


def test_reasons_name_what_differs(b: Builder):
    p = b.param(f32["n"])
    assert reason(-x, p, b) == "param is not neg"
    assert reason(op("concat", x), b.emit("concat", p, p, axis=0), b) == (
        "concat has 2 operands, not 1"
    )
    assert reason(op("concat", ..., axis=1), b.emit("concat", p, p, axis=0), b) == (
        "axis of concat is 0, not 1"
    )


def test_results_are_matched_by_index():
    graph = parse(TWO_RESULTS)
    b, (first, second) = Builder.at_entry(), graph.results
    assert found(op("scan", ...), first, b)
    assert reason(op("scan", ...), second, b) == "it is result 1 of scan, not 0"
    assert found(op("scan", ...).result(1), second, b)
    assert found(op("scan", ...).result(None), second, b)


TWO_RESULTS = """
graph g(s: f32[4], xs: f32[n, 4]) -> (f32[4], f32[n, 4]) {
  %0, %1 = scan(s, xs) {carried=1, scanned=1, length=n}
    body(a0: f32[4], a1: f32[4]) -> (f32[4], f32[4]) {
      %0 = add(a0, a1)
      return %0, %0
    }
  return %0, %1
}
"""


# --- constants ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "number", "expected"),
    [
        (np.float32(0.0), 0, True),
        (np.float32(-0.0), 0, False),
        (np.float32(-0.0), -0.0, True),
        (np.float32(0.0), -0.0, False),
        (np.zeros((2, 3), np.float32), 0, True),
        (np.array([0.0, -0.0], np.float32), 0, False),
        (np.array([1, 2], np.int64), 1, False),
        (np.array(1, np.int8), 1, True),
        (np.array(True), 1, True),
        (np.array([], np.float32), 0, False),
        (np.float32(0.1), 0.1, True),
        (np.full(1000, 3, np.int32), 3, True),
    ],
)
def test_splats(b: Builder, array: np.ndarray, number: float, expected: bool):
    value = b.constant(np.asarray(array))
    assert is_splat(value, number, b.weights) is expected
    spread = b.emit("broadcast", value, shape=(7, *value.tensor.shape))
    assert is_splat(spread, number, b.weights) is expected


# --- rules and the engine -------------------------------------------------------------------------

MUL_ONE = Rule("mul-one", "x * 1 -> x", x * 1, x, (keeps_type,))


def settle(text: str, *rules: Rule, log: DecisionLog | None = None) -> str:
    return rewrite(parse(text), RuleSet.of(rules), log).as_text()


def test_a_rule_knows_where_it_is_written():
    assert MUL_ONE.location.file == __file__
    assert MUL_ONE.location.line > 0
    assert str(MUL_ONE).startswith("mul-one: x * 1 -> x (")


def test_rewriting_goes_to_a_fixpoint():
    text = """
graph g(x: f32[n]) -> f32[n] {
  %0 = constant() {value=f32 1}
  %1 = mul(x, %0)
  %2 = mul(%0, %1)
  %3 = neg(%2)
  return %3
}"""
    assert settle(text, MUL_ONE) == (
        "graph g(x: f32[n]) -> f32[n] {\n  %0 = neg(x) : f32[n]\n  return %0\n}\n"
    )


def test_decisions_are_recorded_once_with_reasons():
    text = """
graph g(x: f32[n]) -> f32[4, n] {
  %0 = constant() {value=f32[4, 1] [1, 1, 1, 1]}
  %1 = mul(x, %0)
  %2 = constant() {value=f32 1}
  %3 = mul(%1, %2)
  return %3
}"""
    log = DecisionLog()
    rewrite(parse(text, file="model.ash"), RuleSet.of([MUL_ONE]), log)
    refused, taken = log.take()
    assert not refused.taken
    assert refused.why == "x is f32[n], the result is f32[4, n]"
    assert taken.taken
    assert taken.why == "x * 1 -> x"
    assert str(taken.location) == "model.ash:6"
    assert str(refused) == (
        "mul-one refused at mul : f32[4, n] (model.ash:4): x is f32[n], the result is f32[4, n]"
    )


def test_a_rule_that_changes_the_type_is_a_defect():
    wrong = Rule("wrong", "x * 1 -> x", x * 1, x)
    text = """
graph g(x: f32[n]) -> f32[4, n] {
  %0 = constant() {value=f32[4, 1] [1, 1, 1, 1]}
  %1 = mul(x, %0)
  return %1
}"""
    with pytest.raises(VerifyError, match=r"rule wrong: x \* 1 -> x .*into f32\[n\]"):
        settle(text, wrong)


def test_rules_that_undo_each_other_are_reported():
    swap = Rule("swap", "x - y -> y - x", x - y, y - x)
    text = "graph g(x: f32[n], y: f32[n]) -> f32[n] { %0 = sub(x, y) return %0 }"
    with pytest.raises(VerifyError, match="did not settle in 64 rounds; the last rules were swap"):
        settle(text, swap)


def test_growing_rules_are_reported():
    grow = Rule("grow", "-x -> -exp(-x)", -x, op("exp", op("neg", op("exp", x))))
    text = "graph g(x: f32[n]) -> f32[n] { %0 = neg(x) return %0 }"
    with pytest.raises(VerifyError, match="did not settle"):
        settle(text, grow)


def test_templates_build_constants_and_attributes():
    double = Rule("double", "x + x -> x * 2", x + x, x * 2)
    text = "graph g(x: i64[n]) -> i64[n] { %0 = add(x, x) return %0 }"
    assert "constant() {value=i64 2}" in settle(text, double)
    assert isinstance((x * 2).operands[1], Const)


def test_new_nodes_carry_the_location_of_the_old():
    double = Rule("double", "x + x -> x * 2", x + x, x * 2)
    text = "graph g(x: i64[n]) -> i64[n] {\n%0 = add(x, x)\nreturn %0 }"
    graph = rewrite(parse(text, file="m.ash"), RuleSet.of([double]))
    assert str(graph.locations.of(graph.results[0].node)) == "m.ash:2"


def test_nested_regions_are_rewritten():
    text = """
graph g(p: bool[], x: f32[n]) -> f32[n] {
  %0 = cond(p, x)
    then(a0: f32[n]) -> f32[n] {
      %0 = constant() {value=f32 1}
      %1 = mul(a0, %0)
      return %1
    }
    else(a0: f32[n]) -> f32[n] {
      %0 = neg(a0)
      return %0
    }
  return %0
}"""
    assert "mul" not in settle(text, MUL_ONE)


def test_late_symbols_survive():
    text = """
graph g(x: f32[n]) -> i64[m, 1] {
  %0 = constant() {value=f32 1}
  %1 = mul(x, %0)
  %2 = nonzero(%1) late [m <= n]
  return %2
}"""
    assert "nonzero(x) late [m <= n] : i64[m, 1]" in settle(text, MUL_ONE)


def test_facts_are_neither_lost_nor_doubled():
    text = """
graph g(x: f32[n], y: f32[2*m]) -> f32[n] {
  %0 = constant() {value=f32 1}
  %1 = mul(x, %0)
  %2 = dot(%1, y) {contract=([0], [0])}
  %3 = mul(%1, %2)
  return %3
}"""
    before = parse(text)
    assert [str(fact) for fact in before.facts.facts] == ["n == 2*m"]
    after = rewrite(before, RuleSet.of([MUL_ONE]))
    assert after.facts == before.facts


def test_an_untouched_graph_stays_the_same_object_inside():
    graph = parse("graph g(x: f32[n]) -> f32[n] { %0 = neg(x) return %0 }")
    after = rewrite(graph, RuleSet.of([MUL_ONE]))
    assert after.results[0].node is graph.results[0].node


def test_fresh_symbols_stay_apart_when_a_graph_is_parsed_or_rebuilt():
    text = "graph g(x: bool[?], y: bool[?0]) -> i64[?, 1] {\n%0 = nonzero(x)\nreturn %0 }"
    assert parse(text).as_text() == (
        "graph g(x: bool[?1], y: bool[?0]) -> i64[?2, 1] {\n"
        "  %0 = nonzero(x) late [?2 <= ?1] : i64[?2, 1]\n"
        "  return %0\n"
        "}\n"
    )
