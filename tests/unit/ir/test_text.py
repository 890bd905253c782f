"""The text: written by hand or by the printer, it means one graph."""

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import (
    AnyshapeError,
    AttributeValueError,
    TextError,
    UnknownOpError,
)
from anyshape.ir import Builder, Graph, evaluate, parse, verify
from anyshape.ir.types import f32

ENCODER = """\
axes {
  batch: 1..64
  seq: 1..512 multiple_of 8 likely [128, 256]
}
facts {
  out_seq == seq - 2  # user: examples/conv.py:12
}
graph encoder(x: f32[batch, seq, 4], w: f32[4, 4]) -> f32[batch, seq, 4] {
  %0 = dot(x, w) {contract=([2], [0])} : f32[batch, seq, 4]
  %1 = gelu(%0) {approximate=tanh} : f32[batch, seq, 4]
  return %1
}
"""


def test_the_example_of_the_design_note() -> None:
    graph = parse(ENCODER)
    assert graph.name == "encoder"
    assert graph.inputs == ("x", "w")
    assert [axis.name for axis in graph.axes] == ["batch", "seq"]
    assert parse(graph.as_text()) == graph
    assert [str(fact.predicate) for fact in graph.facts.facts] == ["out_seq == seq - 2"]


def test_the_printer_writes_what_was_read() -> None:
    text = parse(ENCODER).as_text()
    assert parse(text).as_text() == text
    assert str(parse(text)) == text


def test_types_may_be_left_out() -> None:
    bare = ENCODER.replace(" : f32[batch, seq, 4]\n", "\n")
    assert bare != ENCODER
    assert parse(bare) == parse(ENCODER)


def test_layout_and_comments_do_not_matter() -> None:
    loose = "# a graph\n" + ENCODER.replace(", ", " ,\n   ").replace(" = ", "  =  ")
    assert parse(loose).body.results == parse(ENCODER).body.results


def test_numbers_of_values_do_not_matter() -> None:
    assert parse(ENCODER.replace("%0", "%70").replace("%1", "%8")) == parse(ENCODER)


def test_provenance_survives() -> None:
    graph = parse(ENCODER)
    again = parse(graph.as_text())
    assert [fact.source for fact in again.facts.facts] == [f.source for f in graph.facts.facts]
    assert "examples/conv.py:12" in graph.as_text()


def test_facts_of_requirements_survive() -> None:
    b = Builder.at_entry()
    x = b.param(f32["seq"])
    graph = b.graph("g", ["x"], [b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))])
    again = parse(graph.as_text())
    assert again == graph
    assert again.facts == graph.facts


def test_a_type_written_another_way_is_kept() -> None:
    text = """\
axes { n: 0..64 multiple_of 4 }
graph g(x: f32[n]) -> f32[4*(n//4)] {
  %0 = exp(x) : f32[4*(n//4)]
  return %0
}
"""
    graph = parse(text)
    assert graph.as_text() == text
    verify(graph)


def test_strange_names_are_quoted() -> None:
    b = Builder.at_entry()
    x = b.param(f32["batch"])
    graph = b.graph("my model", ["input.0"], [b.emit("exp", x)])
    assert "graph `my model`(`input.0`: f32[batch])" in graph.as_text()
    assert parse(graph.as_text()) == graph


def test_strange_axes_are_quoted() -> None:
    b = Builder.at_entry()
    x = b.param(f32["`DynamicDimension.0`", "`max`"])
    graph = b.graph("g", ["x"], [b.emit("exp", x)])
    assert parse(graph.as_text()) == graph


@pytest.mark.parametrize(
    "name", ["return", "graph", "axes", "f32", "late", "true", "token", "none"]
)
def test_words_of_the_language_are_names_too(name: str) -> None:
    b = Builder.at_entry()
    x = b.param(f32[name])
    graph = b.graph(name, [name], [b.emit("exp", x)])
    assert parse(graph.as_text()) == graph


def test_fresh_and_late_symbols() -> None:
    b = Builder.at_entry()
    x = b.param(f32[None, 4])
    graph = b.graph("g", ["x"], [b.emit("nonzero", x), x])
    again = parse(graph.as_text())
    assert again == graph
    found, _ = evaluate(again, np.eye(4, dtype=np.float32))
    assert len(found) == 4


def test_multiple_results() -> None:
    text = "graph g(t: token) -> (u32[2], token) {\n  %0, %1 = entropy(t)\n  return %0, %1\n}\n"
    graph = parse(text)
    assert len(graph.results) == 2
    assert parse(graph.as_text()) == graph


def test_no_inputs() -> None:
    graph = parse("graph g() -> f32[] {\n  %0 = constant() {value=f32 0.5}\n  return %0\n}\n")
    assert evaluate(graph)[0] == 0.5


def test_a_result_may_be_an_input_or_come_twice() -> None:
    graph = parse("graph g(x: f32[n]) -> (f32[n], f32[n]) {\n  return x, x\n}\n")
    assert parse(graph.as_text()) == graph


def text_of(body: str, params: str = "x: f32[n, 4]", result: str = "f32[n, 4]") -> str:
    return f"graph g({params}) -> {result} {{\n  {body}\n  return %0\n}}\n"


@pytest.mark.parametrize(
    ("body", "line", "column", "problem"),
    [
        ("%0 = exp(y)", 2, 12, "'y' is not defined"),
        ("%0 = exp(%3)", 2, 12, "'%3' is not defined"),
        ("%0 = exp(x", 3, 3, "expected ',', found 'return'"),
        ("%0 = exp x", 2, 12, "expected '(', found 'x'"),
        ("%0 exp(x)", 2, 6, "expected '=', found 'exp'"),
        ("% = exp(x)", 2, 5, "expected the number of a value, found '='"),
        ("y = exp(x)", 2, 3, "expected '%', found 'y'"),
        ("%0, %1 = exp(x)", 2, 3, "exp gives 1 results, 2 are named"),
        ("%0 = exp(x)\n  %0 = exp(x)", 3, 3, "'%0' is defined twice"),
        ("%0 = exp(x) : f32[n, 5]", 2, 3, "the type is f32[n, 4], not f32[n, 5]"),
        ("%0 = exp(x) : f33[n, 4]", 2, 17, "expected a dtype, found 'f33'"),
        ("%0 = exp(x) : f32[n, ]", 2, 24, "expected a dim, found ']'"),
        ("%0 = sum(x) {axes=0}", 2, 21, "expected '[', found '0'"),
        ("%0 = sum(x) {axes=[0.5]}", 2, 22, "expected an integer, found '0.5'"),
        ("%0 = sum(x) {axes=[0], keepdims=1}", 2, 35, "expected true or false"),
        ("%0 = exp(x) §", 2, 15, "unexpected character '§'"),
        ("%0 = nonzero(x) late [3]", 2, 25, "expected the name of a late axis"),
    ],
)
def test_errors_have_a_place(body: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text_of(body))
    error = caught.value
    assert problem in error.problem
    assert (error.line, error.column) == (line, column)
    assert error.source == text_of(body).split("\n")[line - 1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected 'graph', found end of text"),
        ("grap g() -> f32[] {}", "expected 'graph', found 'grap'"),
        ("graph g(x: f32[n], x: f32[n]) -> f32[n] { return x }", "same name"),
        ("graph g(x: f32[n]) -> f32[m] { return x }", "the type is f32[n], not f32[m]"),
        ("graph g(x: f32[n]) -> (f32[n], f32[n]) { return x }", "the type is f32[n], not (f32[n]"),
        ("graph g(x: f32[n]) -> f32[n] { return x } graph", "unexpected 'graph'"),
        ("graph g(x: f32[n]) -> f32[n] { }", "expected '%', found '}'"),
        ("graph g(x: f32[n]) f32[n] { return x }", "expected '->', found 'f32'"),
        (
            "graph g(3: f32[n]) -> f32[n] { return x }",
            "expected the name of a parameter, found '3'",
        ),
    ],
)
def test_errors_of_the_whole(text: str, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert problem in caught.value.problem


def test_errors_of_ops_and_attributes() -> None:
    with pytest.raises(UnknownOpError, match="unknown op 'expo'"):
        parse(text_of("%0 = expo(x)"))
    with pytest.raises(AttributeValueError, match="sum: attribute 'axis' is unknown"):
        parse(text_of("%0 = sum(x) {axis=[0]}"))
    with pytest.raises(AttributeValueError, match="sum: attribute 'axes' is missing"):
        parse(text_of("%0 = sum(x)"))
    with pytest.raises(AttributeValueError, match="gelu: attribute 'approximate' must be none or"):
        parse(text_of("%0 = gelu(x) {approximate=maybe}"))


def test_an_attribute_given_twice() -> None:
    with pytest.raises(AnyshapeError, match="twice"):
        parse(text_of("%0 = sum(x) {axes=[0], axes=[1]}"))


def test_a_region_that_is_missing() -> None:
    with pytest.raises(TextError, match="expected 'then'"):
        parse(text_of("%0 = cond(x)"))


def nested(depth: int) -> str:
    """Conditionals inside conditionals."""
    params = "(a0: bool[], a1: f32[n]) -> f32[n]"
    body = "{ return a1 }"
    for _ in range(depth):
        inner = f"then{params} {body} else{params} {{ return a1 }}"
        body = f"{{ %0 = cond(a0, a0, a1) {inner} return %0 }}"
    return f"graph g{params} {body}"


def test_regions_nest_deeply() -> None:
    graph = parse(nested(60))
    assert parse(graph.as_text()) == graph
    verify(graph)
    (result,) = evaluate(graph, np.array(True), np.ones(2, np.float32))
    assert result.tolist() == [1, 1]


@pytest.mark.parametrize(
    "text", [nested(2000), f"graph g(x: f32[{'(' * 5000}n{')' * 5000}]) -> f32[n] {{ return x }}"]
)
def test_text_nested_too_deeply(text: str) -> None:
    with pytest.raises(TextError, match="nested too deeply"):
        parse(text)


def test_a_new_symbol_differs_from_all_of_the_text() -> None:
    text = """\
graph g(x: f32[n], y: f32[?0]) -> (i64[?, 1], f32[?0]) {
  %0 = nonzero(x)
  return %0, y
}
"""
    graph = parse(text)
    found, y = graph.results
    assert found.tensor.shape[0] != y.tensor.shape[0]


def test_print_parse_of_every_attribute_kind() -> None:
    b = Builder.at_entry()
    q = b.param(f32["b", 2, "s", 4])
    values = [
        b.emit("attention", q, q, q, causal="bottom_right", scale=0.3),
        b.emit("cast", q, to=f32),
        b.emit(
            "pad", q, b.constant(np.float32(1).reshape(())), low=(0, 0, "s//2", 1), high=(0,) * 4
        ),
        b.emit("iota", shape=("b", "s"), axis=1, dtype=f32),
        b.emit("max", q, axes=(1, 3), keepdims=True),
        b.emit("constant", value=b.constant(np.arange(5)).node.attrs.value),  # type: ignore[attr-defined]
    ]
    graph: Graph = b.graph("g", ["q"], values)
    assert parse(graph.as_text()) == graph
