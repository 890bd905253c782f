"""Where masks are inserted, where not, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from anyshape.base.errors import UnmaskedOpError
from anyshape.dynamic.masks_forms import InsertMasks
from anyshape.ir import Graph, evaluate, parse, verify
from anyshape.passes.infra import PassContext
from anyshape.sym import Symbol


def masked(body: str, *, strict: bool = False) -> tuple[Graph, list[str]]:
    """The graph of some lines on `x: f32[b, seq, 8]`, and the decisions."""
    graph = parse(f"axes {{ seq: 1..512 }}\n{body}")
    ctx = PassContext()
    made = InsertMasks((Symbol("seq"),), strict).run(graph, ctx)
    verify(made)
    decisions = ctx.decisions.take()
    return made, [f"{d.node.op.name} {d.taken}: {d.why}" for d in decisions]


def count(graph: Graph, op: str) -> int:
    return sum(node.op.name == op for node in graph.nodes())


ROWS = """graph f(x: f32[b, seq, 8], w: f32[8, 8]) -> f32[b, seq, 8] {
  %0 = dot(x, w) {contract=([2], [0])} : f32[b, seq, 8]
  %1 = softmax(%0) {axis=2} : f32[b, seq, 8]
  %2 = add(%1, x) : f32[b, seq, 8]
  return %2
}"""


def test_rows_need_no_mask() -> None:
    made, why = masked(ROWS)
    assert count(made, "select") == 0
    assert count(made, "slice") == 0
    assert all(line.endswith("each element for itself, no mask is needed") for line in why)
    assert [line.split()[0] for line in why] == ["dot", "softmax", "add"]


def test_what_is_filled_is_not_filled_again() -> None:
    """The sum of what a sum was masked for: a transposed relu of zeros is zero."""
    made, why = masked("""graph f(x: f32[b, seq, 8]) -> (f32[b, 8], f32[8, b]) {
      %0 = reverse(x) {axes=[1]} : f32[b, seq, 8]
      %1 = add(x, %0) : f32[b, seq, 8]
      %2 = dot(%0, %0) {contract=([1], [1]), batch=([0], [0])} : f32[b, 8, 8]
      %3 = sum(%0) {axes=[1]} : f32[b, 8]
      %4 = sum(%1) {axes=[1]} : f32[b, 8]
      %5 = transpose(%4) {perm=[1, 0]} : f32[8, b]
      return %3, %5
    }""")
    assert count(made, "select") == 1
    assert "sum True: axis 'seq': x is 0.0 in the padding" in why
    assert "reverse True: axis 'seq': seen whole, so cut" in why


def test_a_mask_selects_and_never_multiplies() -> None:
    made, _ = masked("""graph f(x: f32[seq], y: f32[seq]) -> f32[] {
      %0 = dot(x, y) {contract=([0], [0])} : f32[]
      return %0
    }""")
    x = np.array([1, 2, np.nan, np.inf], np.float32)
    y = np.array([3, 4, np.inf, np.nan], np.float32)
    assert evaluate(made, x, y, np.zeros((2, 0), np.bool_))[0] == 11


def test_the_end_is_that_of_the_call() -> None:
    """The last element, and how many there are."""
    made, _ = masked("""graph f(x: f32[seq]) -> (f32[1], i64[]) {
      %0 = slice(x) {starts=[seq - 1], stops=[seq], steps=[1]} : f32[1]
      %1 = dim_of(x) {axis=0} : i64[]
      return %0, %1
    }""")
    last, size = evaluate(made, np.arange(9, dtype=np.float32), np.zeros((4, 0), np.bool_))
    assert last == [3]
    assert size == 4


def test_causal_attention_needs_no_mask_of_keys() -> None:
    text = """graph f(x: f32[seq, 4]) -> f32[seq, 4] {
      %0 = attention(x, x, x) {causal=CAUSAL} : f32[seq, 4]
      return %0
    }"""
    causal, why = masked(text.replace("CAUSAL", "top_left"))
    (node,) = (node for node in causal.nodes() if node.op.name == "attention")
    assert len(node.operands) == 3
    assert any("causality hides keys in the padding, no mask is needed" in line for line in why)
    plain, why = masked(text.replace("CAUSAL", "none"))
    (node,) = (node for node in plain.nodes() if node.op.name == "attention")
    assert len(node.operands) == 4
    assert "attention True: axis 'seq': keys in the padding are hidden by a mask" in why


def test_strict_refuses_by_name() -> None:
    with pytest.raises(UnmaskedOpError, match="op 'reverse' along axis 'seq'") as caught:
        masked(
            """graph f(x: f32[seq]) -> f32[seq] {
          %0 = reverse(x) {axes=[0]} : f32[seq]
          return %0
        }""",
            strict=True,
        )
    assert caught.value.ops == (("reverse", "seq"),)
    assert "fix: compile it without strict" in str(caught.value)


def test_strict_accepts_what_is_masked() -> None:
    made, _ = masked(ROWS, strict=True)
    assert count(made, "dot") == 1
