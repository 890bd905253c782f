"""Control flow: types of regions, late axes, sizes that grow, and what is refused."""

from typing import Any

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import OperandError, ShapeError
from anyshape.ir import evaluate, parse, verify


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def round_trips(text: str) -> Any:
    graph = parse(text)
    verify(graph)
    again = parse(graph.as_text())
    assert again == graph
    assert again.as_text() == graph.as_text()
    return graph


# --- cond -----------------------------------------------------------------------------------------

BRANCHES = """\
graph g(p: bool[], x: f32[n, 3]) -> f32[k, 3] {
  %0 = cond(p, x) late [k <= max(2*n, n)]
    then(a: f32[n, 3]) -> f32[2*n, 3] {
      %0 = concat(a, a) {axis=0}
      return %0
    }
    else(a: f32[n, 3]) -> f32[n, 3] {
      return a
    }
  return %0
}
"""


def test_sizes_that_differ_make_a_late_axis() -> None:
    graph = round_trips(BRANCHES)
    assert [str(late) for late in graph.results[0].node.late] == ["k <= max(2*n, n)"] or [
        str(late) for late in graph.results[0].node.late
    ] == ["k <= max(n, 2*n)"]
    for flag, rows in ((True, 6), (False, 3)):
        assert evaluate(graph, np.array(flag), ones(3, 3))[0].shape == (rows, 3)


def test_facts_of_a_branch_hold_only_there() -> None:
    text = """\
graph g(p: bool[], x: f32[n]) -> f32[k] {
  %0 = cond(p, x) late [k]
    then(a: f32[n]) -> f32[n - 2] {
      %0 = slice(a) {starts=[2], stops=[n], steps=[1]}
      return %0
    }
    else(a: f32[n]) -> f32[n] {
      return a
    }
  return %0
}
"""
    graph = round_trips(text)
    assert graph.facts.facts == ()
    assert evaluate(graph, np.array(False), ones(1))[0].shape == (1,)
    assert evaluate(graph, np.array(True), ones(5))[0].shape == (3,)
    with pytest.raises(ShapeError, match="2 <= n"):
        evaluate(graph, np.array(True), ones(1))


def test_only_one_branch_runs() -> None:
    text = """\
graph g(p: bool[], x: f32[n], i: i64[m]) -> f32[m] {
  %0 = cond(p, x, i)
    then(a: f32[n], b: i64[m]) -> f32[m] {
      %0 = gather(a, b) {axis=0}
      return %0
    }
    else(a: f32[n], b: i64[m]) -> f32[m] {
      %0 = cast(b) {to=f32}
      return %0
    }
  return %0
}
"""
    graph = round_trips(text)
    assert evaluate(graph, np.array(False), ones(2), np.array([7]))[0].tolist() == [7]


def test_nested() -> None:
    text = """\
graph g(p: bool[], q: bool[], x: f32[n]) -> f32[n] {
  %0 = cond(p, q, x)
    then(a0: bool[], a1: f32[n]) -> f32[n] {
      %0 = cond(a0, a1)
        then(a0: f32[n]) -> f32[n] {
          %0 = neg(a0)
          return %0
        }
        else(a0: f32[n]) -> f32[n] {
          %0 = add(a0, a0)
          return %0
        }
      return %0
    }
    else(a0: bool[], a1: f32[n]) -> f32[n] {
      return a1
    }
  return %0
}
"""
    graph = round_trips(text)
    found = {
        (p, q): float(evaluate(graph, np.array(p), np.array(q), ones(1))[0][0])
        for p in (True, False)
        for q in (True, False)
    }
    assert found == {(True, True): -1, (True, False): 2, (False, True): 1, (False, False): 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("p: bool[]", "p: i64[]"), r"the predicate must be bool\[\], got i64\[\]"),
        (("p: bool[]", "p: bool[1]"), r"the predicate must be bool\[\], got bool\[1\]"),
        (("else(a: f32[n, 3]) -> f32[n, 3]", "else(a: f32[n, 4]) -> f32[n, 4]"),
         "region 'else' takes"),
        (("-> f32[n, 3] {\n      return a", "-> i64[] {\n      %0 = dim_of(a) {axis=0}\n"
          "      return %0"), "the branches give f32"),
        (("-> f32[n, 3] {\n      return a", "-> (f32[n, 3], f32[n, 3]) {\n      return a, a"),
         "the branches give 1 and 2 results"),
    ],
)  # fmt: skip
def test_cond_refuses(change: tuple[str, str], problem: str) -> None:
    with pytest.raises(OperandError, match=problem):
        parse(BRANCHES.replace(*change))


# --- while ----------------------------------------------------------------------------------------

GROWING = """\
graph g(x: f32[n, 2], limit: i64[]) -> f32[k, 2] {
  %0 = while(x, limit) {carried=1} late [k]
    condition(a: f32[m, 2], b: i64[]) -> bool[] {
      %0 = dim_of(a) {axis=0}
      %1 = lt(%0, b)
      return %1
    }
    body(a: f32[m, 2], b: i64[]) -> f32[2*m + 1, 2] {
      %0 = constant() {value=f32[1, 2] [0.5, 0.5]}
      %1 = concat(a, a, %0) {axis=0}
      return %1
    }
  return %0
}
"""


@pytest.mark.parametrize(("start", "limit", "end"), [(0, 1, 1), (0, 10, 15), (3, 4, 7), (5, 2, 5)])
def test_a_loop_whose_size_grows(start: int, limit: int, end: int) -> None:
    graph = round_trips(GROWING)
    assert evaluate(graph, ones(start, 2), np.array(limit))[0].shape == (end, 2)


def test_a_size_that_stays_is_no_late_axis() -> None:
    text = """\
graph g(x: f32[n], steps: i64[]) -> (f32[n], i64[]) {
  %0, %1 = while(x, steps) {carried=2}
    condition(a: f32[n], b: i64[]) -> bool[] {
      %0 = constant() {value=i64 0}
      %1 = gt(b, %0)
      return %1
    }
    body(a: f32[n], b: i64[]) -> (f32[n], i64[]) {
      %0 = add(a, a)
      %1 = constant() {value=i64 1}
      %2 = sub(b, %1)
      return %0, %2
    }
  return %0, %1
}
"""
    graph = round_trips(text)
    x, steps = evaluate(graph, ones(2), np.array(5))
    assert x.tolist() == [32, 32]
    assert steps == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("{carried=1}", "{carried=3}"), "carried"),
        (("-> bool[] {", "-> i64[] {"), "i64"),
        (
            (
                "body(a: f32[m, 2], b: i64[]) -> f32[2*m + 1, 2]",
                "body(a: f32[j, 2], b: i64[]) -> f32[2*j + 1, 2]",
            ),
            "condition and body must take",
        ),
        (("[m, 2]", "[n, 2]"), "a carried size is n but continues as 2\\*n \\+ 1"),
    ],
)
def test_while_refuses(change: tuple[str, str], problem: str) -> None:
    from anyshape.base.errors import AnyshapeError

    text = GROWING.replace(*change)
    if change[0] == "[m, 2]":
        text = text.replace("2*m + 1", "2*n + 1")
    with pytest.raises(AnyshapeError, match=problem):
        parse(text)


# --- scan -----------------------------------------------------------------------------------------

SCAN = """\
graph g(s: f32[b], xs: f32[t, b]) -> (f32[b], f32[t, b]) {
  %0, %1 = scan(s, xs) {carried=1, scanned=1, length=t}
    body(a: f32[b], x: f32[b]) -> (f32[b], f32[b]) {
      %0 = add(a, x)
      return %0, a
    }
  return %0, %1
}
"""


def test_scan() -> None:
    graph = round_trips(SCAN)
    final, before = evaluate(graph, ones(2), ones(3, 2))
    assert final.tolist() == [4, 4]
    assert before[:, 0].tolist() == [1, 2, 3]


def test_scan_over_nothing() -> None:
    final, before = evaluate(parse(SCAN), ones(2), ones(0, 2))
    assert final.tolist() == [1, 1]
    assert before.shape == (0, 2)


def test_scan_backwards() -> None:
    graph = round_trips(SCAN.replace("length=t}", "length=t, reverse=true}"))
    assert evaluate(graph, ones(1), ones(3, 1))[1][:, 0].tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("scanned=1", "scanned=4"), "carried"),
        (
            ("x: f32[b]) -> (f32[b], f32[b])", "x: f32[1, b]) -> (f32[1, b], f32[b])"),
            "region 'body' takes",
        ),
        (("return %0, a", "%1 = concat(%0, a) {axis=0}\n      return %1, a"), "f32"),
        (("s: f32[b], xs: f32[t, b]", "s: f32[b], xs: f32[]"), "cannot scan over f32"),
    ],
)
def test_scan_refuses(change: tuple[str, str], problem: str) -> None:
    from anyshape.base.errors import AnyshapeError

    with pytest.raises(AnyshapeError, match=problem):
        parse(SCAN.replace(*change))


def test_results_of_a_late_size_cannot_be_stacked() -> None:
    text = """\
graph g(xs: f32[t, b]) -> i64[t, k, 1] {
  %0 = scan(xs) {carried=0, scanned=1, length=t}
    body(x: f32[b]) -> i64[k, 1] {
      %0 = nonzero(x) late [k <= b]
      return %0
    }
  return %0
}
"""
    with pytest.raises(OperandError, match="cannot stack results of"):
        parse(text)
