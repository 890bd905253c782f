"""Each invariant has a graph that breaks it."""

import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import VerifyError
from anyshape.ir import Builder, Graph, Node, Region, Value, lookup, parse, verify
from anyshape.ir.attrs import NO_ATTRS, Attrs
from anyshape.ir.node import LateAxis
from anyshape.ir.opdef import PARAM, ParamAttrs
from anyshape.ir.types import TensorType, bool_, f32, i64
from anyshape.ops.movement import ShapeAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.sym import HOLE, Dim, Facts, Symbol


def param(index: int, type_: TensorType) -> Value:
    return Node.make(PARAM, (), ParamAttrs(index), (type_,)).result()


def node(op: str, operands: list[Value], *types: TensorType, attrs: Attrs = NO_ATTRS) -> Node:
    return Node.make(lookup(op), operands, attrs, types)


def graph(params: list[TensorType], *results: Value, names: tuple[str, ...] | None = None) -> Graph:
    inputs = tuple(f"x{i}" for i in range(len(params))) if names is None else names
    return Graph("g", inputs, Region(tuple(params), results, Facts()))


X = param(0, f32["n"])


def test_a_good_graph_is_returned() -> None:
    good = graph([f32["n"]], node("exp", [X], f32["n"]).result())
    assert verify(good) is good


def test_a_type_that_is_only_provably_the_same_is_fine() -> None:
    text = """\
axes { n: 0..64 multiple_of 4 }
graph g(x: f32[n]) -> f32[4*(n//4)] {
  %0 = exp(x) : f32[4*(n//4)]
  return %0
}
"""
    assert verify(parse(text))


def test_a_broadcast_that_later_facts_settle_is_fine() -> None:
    """Of (n + 2)//3 beside 3 and beside n nothing but 1 is left."""
    text = """\
axes { n: 0.. }
facts {
  broadcastable(n, (n + 2)//3)
  broadcastable(3, (n + 2)//3)
}
graph g(x: f32[n], y: f32[(n + 2)//3], z: f32[3]) -> (f32[bcast(n, (n + 2)//3)], f32[3]) {
  %0 = sub(x, y) : f32[bcast(n, (n + 2)//3)]
  %1 = sub(y, z) : f32[3]
  return %0, %1
}
"""
    assert verify(parse(text))


def broken(problem: str) -> "pytest.RaisesExc[VerifyError]":
    return pytest.raises(VerifyError, match=problem)


def test_a_wrong_shape() -> None:
    with broken(r"invalid graph: exp: is recorded as \(f32\[m\],\), inferred as \(f32\[n\],\)"):
        verify(graph([f32["n"], f32["m"]], node("exp", [X], f32["m"]).result()))


def test_a_wrong_dtype() -> None:
    with broken("exp: is recorded as"):
        verify(graph([f32["n"]], node("exp", [X], i64["n"]).result()))


def test_a_wrong_number_of_results() -> None:
    with broken("exp: is recorded as"):
        verify(graph([f32["n"]], node("exp", [X], f32["n"], f32["n"]).result()))


def test_a_type_that_is_not_provably_the_same() -> None:
    with broken("exp: is recorded as"):
        verify(graph([f32["n"]], node("exp", [X], f32["2*(n//2)"]).result()))


def test_operands_that_the_op_refuses() -> None:
    with broken("add: cannot be inferred again: add: expected operands of one dtype"):
        other = param(1, i64["n"])
        verify(graph([f32["n"], i64["n"]], node("add", [X, other], f32["n"]).result()))


def test_attributes_that_the_op_refuses() -> None:
    bad = node("sum", [X], f32[()], attrs=ReduceAttrs((3,)))
    with broken("sum: cannot be inferred again: sum: attribute 'axes' has axis 3, the rank is 1"):
        verify(graph([f32["n"]], bad.result()))


def test_attributes_of_a_wrong_type() -> None:
    bad = node("reshape", [X], f32["n"], attrs=ShapeAttrs(("n",)))  # type: ignore[arg-type]
    with broken("reshape: cannot be inferred again: reshape: attribute 'shape' must be"):
        verify(graph([f32["n"]], bad.result()))


def test_a_symbol_that_nothing_gives_a_size() -> None:
    bad = node("dim_value", [], i64[()], attrs=lookup("dim_value").attrs(Dim.of("unknown")))
    with broken("dim_value: uses symbol 'unknown', which nothing gives a size"):
        verify(graph([f32["n"]], bad.result()))


def test_a_declared_axis_is_bound() -> None:
    text = """\
axes { n: 0..64 }
graph g(x: f32[2*n]) -> i64[] {
  %0 = dim_value() {value=n}
  return %0
}
"""
    assert verify(parse(text))


def test_a_hole() -> None:
    with broken("exp: has a dim without a symbol"):
        verify(graph([f32["n"]], node("exp", [X], TensorType(f32, (HOLE,))).result()))


def test_a_token_used_twice() -> None:
    b = Builder.at_entry()
    token = b.emit("token")
    one = b.node(lookup("entropy"), [token], NO_ATTRS)
    with broken("token: gives a token that is used 2 times"):
        verify(b.graph("g", [], [one.result(0), one.result(1), token]))


def test_a_token_taken_twice() -> None:
    b = Builder.at_entry()
    first = b.node(lookup("entropy"), [b.emit("token")], NO_ATTRS)
    keys = b.emit("random_bits", first.result(0), shape=(2,))
    second = b.node(lookup("entropy"), [first.result(1)], NO_ATTRS)
    with broken("entropy: gives a token that is used 2 times"):
        verify(b.graph("g", [], [keys, second.result(0), first.result(1)]))


def test_a_parameter_of_another_region() -> None:
    with broken("parameter 1: belongs to another region"):
        verify(graph([f32["n"]], param(1, f32["n"])))
    with broken("parameter 0: belongs to another region"):
        verify(graph([f32["n"]], param(0, f32["m"])))


def test_an_open_region() -> None:
    """The body of a branch reaches a value of the graph around it."""
    outside = param(3, f32["n"])
    then = Region((f32["n"],), (outside,), Facts())
    other = Region((f32["n"],), (X,), Facts())
    predicate = param(1, bool_[()])
    bad = Node.make(lookup("cond"), [predicate, X], NO_ATTRS, [f32["n"]], [then, other])
    with broken("parameter 3: belongs to another region"):
        verify(graph([f32["n"], bool_[()]], bad.result()))


def test_a_symbol_of_a_region_does_not_leave_it() -> None:
    inside = Node.make(
        lookup("nonzero"), [X], NO_ATTRS, [i64["k", 1]], late=[LateAxis(Symbol("k"), Dim.of("n"))]
    )
    branch = Region((f32["n"],), (inside.result(),), Facts())
    predicate = param(1, bool_[()])
    bad = Node.make(lookup("cond"), [predicate, X], NO_ATTRS, [i64["k", 1]], [branch, branch])
    with broken("cond: uses symbol 'k', which nothing gives a size"):
        verify(graph([f32["n"], bool_[()]], bad.result()))


def test_regions_are_verified_inside() -> None:
    wrong = node("exp", [X], f32["2*n"])
    branch = Region((f32["n"],), (wrong.result(),), Facts())
    predicate = param(1, bool_[()])
    bad = Node.make(lookup("cond"), [predicate, X], NO_ATTRS, [f32["2*n"]], [branch, branch])
    with broken("exp: is recorded as"):
        verify(graph([f32["n"], bool_[()]], bad.result()))


def test_names_and_parameters() -> None:
    with broken("graph 'g': has another number of names than parameters"):
        verify(graph([f32["n"]], X, names=()))
    with broken("graph 'g': has two inputs of one name"):
        verify(graph([f32["n"], f32["n"]], X, names=("x", "x")))


def test_a_requirement_that_is_no_fact() -> None:
    text = (
        "graph g(x: f32[n]) -> f32[n - 2] {\n  %0 = slice(x) {starts=[2], stops=[n], steps=[1]}\n"
    )
    good = parse(text + "  return %0\n}\n")
    assert [str(fact.predicate) for fact in good.facts.facts] == ["2 <= n"]
    verify(good)
    forgotten = Region(good.body.params, good.body.results, Facts())
    problem = r"slice: needs 2 <= n, which is no fact: start 2 must not be after stop n at axis 0"
    with broken(problem):
        verify(good.with_body(forgotten))


def test_an_equality_that_is_no_fact() -> None:
    """A fresh symbol may become another while a graph is built, but not afterwards."""
    y = param(1, f32["n"])
    x = param(0, f32["?0"])
    attrs = lookup("dot").attrs(((0,), (0,)))
    bad = Node.make(lookup("dot"), [x, y], attrs, [f32[()]])
    with broken(r"dot: needs \?0 == n, which is no fact"):
        verify(graph([f32["?0"], f32["n"]], bad.result()))


def test_a_symbol_born_twice() -> None:
    late = [LateAxis(Symbol("k"), Dim.of("n"))]
    one, two = (
        Node.make(lookup("nonzero"), [value], NO_ATTRS, [i64["k", 1]], late=late).result()
        for value in (X, node("exp", [X], f32["n"]).result())
    )
    with broken("nonzero: bears 'k', which has a size already"):
        verify(graph([f32["n"]], one, two))


def test_a_late_axis_that_an_input_has() -> None:
    late = [LateAxis(Symbol("n"), Dim.of("n"))]
    bad = Node.make(lookup("nonzero"), [X], NO_ATTRS, [i64["n", 1]], late=late)
    with broken("nonzero: bears 'n', which has a size already"):
        verify(graph([f32["n"]], bad.result()))


def test_branches_may_bear_the_same_symbol() -> None:
    text = """\
graph g(p: bool[], x: f32[n]) -> i64[j, 1] {
  %0 = cond(p, x) late [j]
    then(a: f32[n]) -> i64[k, 1] {
      %0 = nonzero(a) late [k <= n]
      return %0
    }
    else(a: f32[n]) -> i64[k, 1] {
      %0 = exp(a)
      %1 = nonzero(%0) late [k <= n]
      return %1
    }
  return %0
}
"""
    assert verify(parse(text))
