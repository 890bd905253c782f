"""Symbols are replaced everywhere: types, attributes, facts, late axes and nested regions."""

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.ir import parse, verify
from anyshape.ir.substitute import substitute_region
from anyshape.sym import Dim, Symbol

TEXT = """\
axes { n: 0..64 }
graph g(p: bool[], x: f32[n, 3]) -> (f32[3*n], i64[late, 2]) {
  %0 = reshape(x) {shape=[3*n]}
  %1 = cond(p, %0)
    then(a: f32[3*n]) -> f32[3*n] {
      %0 = exp(a)
      return %0
    }
    else(a: f32[3*n]) -> f32[3*n] {
      return a
    }
  %2 = nonzero(x) late [late <= 3*n]
  return %1, %2
}
"""


def test_everywhere() -> None:
    body = parse(TEXT).body
    changed = substitute_region(body, {Symbol("n"): Dim.of("2*m")})
    symbols = {symbol.name for node in changed.nodes() for symbol in node.symbols}
    inner = {
        symbol.name
        for node in changed.nodes()
        for region in node.regions
        for type_ in (*region.params, *region.result_types)
        for symbol in type_.symbols
    }
    assert symbols == {"m", "late"}
    assert inner == {"m"}
    assert [str(type_) for type_ in changed.params] == ["bool[]", "f32[2*m, 3]"]
    assert [str(type_) for type_ in changed.result_types] == ["f32[6*m]", "i64[late, 2]"]
    uppers = [str(late.upper) for node in changed.nodes() for late in node.late]
    assert uppers == ["6*m"]


def test_a_late_axis_is_renamed() -> None:
    body = parse(TEXT).body
    changed = substitute_region(body, {Symbol("late"): Dim.of("found")})
    assert [str(type_) for type_ in changed.result_types] == ["f32[3*n]", "i64[found, 2]"]
    assert changed.born == {Symbol("found")}


def test_nothing_to_replace_is_the_same_object() -> None:
    body = parse(TEXT).body
    assert substitute_region(body, {}) is body


def test_a_substituted_graph_verifies() -> None:
    graph = parse(TEXT)
    verify(graph.with_body(substitute_region(graph.body, {Symbol("n"): Dim.of("m")})))


def test_other_symbols_leave_everything_as_it_is() -> None:
    body = parse(TEXT).body
    assert substitute_region(body, {Symbol("other"): Dim.of(3)}) == body


def test_locations_follow() -> None:
    graph = parse(TEXT, file="g.ash")
    changed = substitute_region(graph.body, {Symbol("n"): Dim.of(4)}, graph.locations)
    reshape = next(node for node in changed.nodes() if node.op.name == "reshape")
    assert str(graph.locations.of(reshape)) == "g.ash:3"
