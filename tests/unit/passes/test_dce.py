"""Dead code: results stay the same, what nobody needs is gone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.passes.sampling import same_bits

from anyshape.ir.interpret import evaluate
from anyshape.ir.text.parser import parse
from anyshape.passes import EliminateDead, run_passes

GOLDEN = Path(__file__).parents[2] / "golden"

f32 = np.float32
INPUTS = {
    "dce_cond": [np.array(True), np.ones(3, f32), np.ones(2, f32)],
    "dce_while": [np.array(3), np.ones((2, 8), f32) / 8, np.ones((2, 8), f32)],
    "dce_while_size": [np.array(20), np.ones((2, 8), f32)],
    "dce_scan": [*(np.full(8, n, f32) for n in (1, 2)), *(np.full((5, 8), n, f32) for n in (3, 4)),
                 *(np.full(8, n, f32) for n in (5, 6))],
    "dce_nested": [np.array(True), np.ones(3, f32), np.zeros(3, f32)],
}  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_results_stay(name: str):
    """The programs of the golden tests, run before and after."""
    before = parse((GOLDEN / f"{name}.ash").read_text().partition("-" * 80)[0])
    after = run_passes(before, [EliminateDead()], verify=True).graph
    results = zip(evaluate(before, *INPUTS[name]), evaluate(after, *INPUTS[name]), strict=True)
    assert all(same_bits(*pair) for pair in results)


def test_decisions_say_what_went():
    before = parse((GOLDEN / "dce_while.ash").read_text().partition("-" * 80)[0], file="m.ash")
    (report,) = run_passes(before, [EliminateDead()], verify=True).reports
    (decision,) = report.taken
    assert decision.why == "2 operands and 1 results are not used"
    assert str(decision.location) == "m.ash:4"


def test_facts_about_sizes_that_are_gone_go():
    text = """
facts {
  user_fact == n + 1
  k % 8 == 0  # op: reshape: gone
  n % 2 == 0  # op: reshape: here
}
graph g(x: f32[n]) -> f32[n] { return x }"""
    after = run_passes(parse(text), [EliminateDead()], verify=True).graph
    assert [str(fact) for fact in after.facts.facts] == ["user_fact == n + 1", "n % 2 == 0"]


def test_a_result_that_bears_a_size_in_use_stays():
    text = """
graph g(p: bool[], x: f32[n], y: f32[m]) -> (f32[n], i64[]) {
  %0, %1 = cond(p, x, y) late [k <= max(m, n)]
    then(a0: f32[n], a1: f32[m]) -> (f32[n], f32[n]) { return a0, a0 }
    else(a0: f32[n], a1: f32[m]) -> (f32[n], f32[m]) { return a0, a1 }
  %2 = dim_value() {value=k}
  return %0, %2
}"""
    after = run_passes(parse(text), [EliminateDead()], verify=True).graph
    assert "late [k <= max(m, n)]" in after.as_text()


def test_what_bears_a_size_inside_keeps_its_operands():
    """The size of a loop's value is decided by another one, which no result of the body reads."""
    text = """
graph g(often: i64[], x: f32[n], sizes: i64[m]) -> f32[k] {
  %0 = constant() {value=i64 0}
  %1, %2 = while(%0, x, often, sizes) {carried=2} late [k]
    condition(a0: i64[], a1: f32[j], a2: i64[], a3: i64[m]) -> bool[] {
      %0 = lt(a0, a2)
      return %0
    }
    body(a0: i64[], a1: f32[j], a2: i64[], a3: i64[m]) -> (i64[], f32[min(j, size)]) {
      %0 = gather(a3, a0) {axis=0}
      %1 = late_size(%0) late [size]
      %2 = constant() {value=i64 1}
      %3 = add(a0, %2)
      %4 = slice(a1) {starts=[0], stops=[min(j, size)], steps=[1]}
      return %3, %4
    }
  return %2
}"""
    before = parse(text)
    after = run_passes(before, [EliminateDead()], verify=True).graph
    given = np.array(2), np.arange(9, dtype=f32), np.array([7, 4, 1])
    for graph in (before, after):
        np.testing.assert_array_equal(evaluate(graph, *given)[0], np.arange(4))


def test_effects_stay_as_long_as_their_token_is_used():
    text = """
graph g(x: f32[n]) -> (f32[n], token) {
  %0 = token()
  %1, %2 = entropy(%0)
  return x, %2
}"""
    after = run_passes(parse(text), [EliminateDead()], verify=True).graph
    assert "entropy" in after.as_text()
