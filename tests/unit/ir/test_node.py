"""Nodes are interned, ordered without recursion, and forgotten when nobody uses them."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.location import Location
from anyshape.ir import Builder, Graph, Node, Value, evaluate, lookup, parse, verify
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.node import LateAxis, Locations, topological
from anyshape.ir.types import f32
from anyshape.sym import Dim, Symbol

DEPTH = 10_000


def test_equal_parts_are_one_node() -> None:
    b = Builder.at_entry()
    x = b.param(f32["batch"])
    one, two = b.emit("exp", x), b.emit("exp", x)
    assert one.node is two.node
    assert one == two
    assert b.emit("log", x).node is not one.node


def test_two_builders_share_nodes() -> None:
    made = []
    for _ in range(2):
        b = Builder.at_entry()
        made.append(b.emit("exp", b.param(f32["batch"])))
    assert made[0].node is made[1].node


def test_what_distinguishes_nodes() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32["batch"]), b.param(f32["batch"])
    assert b.emit("sub", x, y) != b.emit("sub", y, x)
    assert b.emit("softmax", x, axis=0) is not None
    assert b.constant(np.float32(0.0).reshape(())) != b.constant(np.float32(-0.0).reshape(()))
    assert b.constant(np.zeros(2, np.float32)) != b.constant(np.zeros(2, np.int32))
    typed = [Node.make(x.node.op, (), x.node.attrs, (type_,)) for type_ in (f32["a"], f32["b"])]
    assert typed[0] is not typed[1]
    late = [
        Node.make(lookup("nonzero"), [x], NO_ATTRS, [f32["n", 1]], late=[LateAxis(Symbol("n"), u)])
        for u in (None, Dim.of("batch"))
    ]
    assert late[0] is not late[1]


def test_threads_make_one_node() -> None:
    def build(_: int) -> Node:
        b = Builder.at_entry()
        value = b.param(f32["batch_of_threads"])
        for _ in range(50):
            value = b.emit("neg", value)
        return value.node

    with ThreadPoolExecutor(8) as pool:
        assert len({id(node) for node in list(pool.map(build, range(16)))}) == 1


def test_unused_nodes_are_forgotten() -> None:
    gc.collect()
    before = len(Node._interned)
    b = Builder.at_entry()
    value = b.emit("exp", b.param(f32["an_axis_of_this_test"]))
    watch = weakref.ref(value.node)
    assert len(Node._interned) == before + 2
    del b, value
    gc.collect()
    assert watch() is None
    assert len(Node._interned) == before


def test_a_long_chain_is_forgotten_too() -> None:
    gc.collect()
    before = len(Node._interned)
    graph = chain()
    assert len(Node._interned) >= before + DEPTH
    del graph
    gc.collect()
    assert len(Node._interned) == before


# --- depth ----------------------------------------------------------------------------------------


def chain() -> Graph:
    b = Builder.at_entry()
    value = b.param(f32["axis_of_the_chain"])
    for _ in range(DEPTH):
        value = b.emit("neg", value)
    return b.graph("chain", ["x"], [value])


@pytest.fixture(scope="module")
def deep() -> Graph:
    return chain()


def test_a_deep_graph_is_ordered(deep: Graph) -> None:
    nodes = deep.nodes()
    assert len(nodes) == DEPTH + 1
    places = {node: place for place, node in enumerate(nodes)}
    assert all(places[v.node] < places[node] for node in nodes for v in node.operands)


def test_a_deep_graph_prints_and_parses(deep: Graph) -> None:
    text = deep.as_text()
    assert text.count("\n") == DEPTH + 3
    assert parse(text) == deep


def test_a_deep_graph_verifies(deep: Graph) -> None:
    assert verify(deep) is deep


def test_a_deep_graph_evaluates(deep: Graph) -> None:
    (result,) = evaluate(deep, np.arange(3, dtype=np.float32))
    assert result.tolist() == [0, 1, 2]


def test_a_deep_graph_hashes_and_compares(deep: Graph) -> None:
    assert hash(deep.body) == hash(chain().body)
    assert deep == chain()


# --- order, values, regions -----------------------------------------------------------------------


def test_order_follows_the_results() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32["n"]), b.param(f32["n"])
    first, second = b.emit("exp", y), b.emit("log", x)
    both = b.emit("add", second, first)
    order = [node.op.name for node in topological([both.node, first.node])]
    assert order == ["param", "log", "param", "exp", "add"]


def test_shared_nodes_appear_once() -> None:
    b = Builder.at_entry()
    value = b.param(f32["n"])
    for _ in range(200):  # 2**200 paths
        value = b.emit("add", value, value)
    assert len(topological([value.node])) == 201


def test_values() -> None:
    b = Builder.at_entry()
    x = b.param(f32["n", 4])
    assert x == Value(x.node, 0) == x.node.result()
    assert x.type == x.tensor == f32["n", 4]
    token = b.emit("token")
    assert str(token.type) == "token"
    with pytest.raises(AssertionError, match="is not a tensor"):
        _ = token.tensor
    assert repr(b.emit("exp", x).node) == "exp : f32[n, 4]"


def test_symbols_of_a_node() -> None:
    b = Builder.at_entry()
    x = b.param(f32["n", "m"])
    reshaped = b.emit("reshape", x, shape=("m*n",))
    assert reshaped.node.symbols == {Symbol("n"), Symbol("m")}
    assert b.emit("dim_value", value="n + 1").node.symbols == {Symbol("n")}


def test_regions_are_equal_by_content() -> None:
    def make() -> object:
        b = Builder.at_entry()
        return b.region([b.emit("exp", b.param(f32["n"]))])

    assert make() == make()
    assert hash(make()) == hash(make())


def test_a_region_knows_what_is_born_inside() -> None:
    b = Builder.at_entry()
    found = b.emit("nonzero", b.param(f32["n"]))
    region = b.region([found])
    assert region.born == {found.tensor.shape[0].symbol}
    assert region.result_types == (found.type,)


# --- locations ------------------------------------------------------------------------------------


def test_locations_are_outside_identity() -> None:
    b = Builder.at_entry()
    x = b.param(f32["n"])
    b.location = Location("model.py", 3)
    first = b.emit("exp", x)
    b.location = Location("model.py", 8)
    again = b.emit("exp", x)
    other = b.emit("log", x)
    assert first is not again
    assert first.node is again.node
    assert b.locations.of(first.node) == Location("model.py", 3)
    assert b.locations.of(other.node) == Location("model.py", 8)
    assert b.locations.of(x.node) is None


def test_locations_do_not_keep_nodes_alive() -> None:
    table = Locations()
    b = Builder.at_entry()
    node = b.emit("exp", b.param(f32["another_axis_of_this_test"])).node
    table.record(node, Location("model.py", 1))
    watch = weakref.ref(node)
    del node, b
    gc.collect()
    assert watch() is None


def test_the_parser_records_lines() -> None:
    graph = parse("graph g(x: f32[n]) -> f32[n] {\n  %0 = exp(x)\n  return %0\n}\n", file="g.ash")
    assert str(graph.locations.of(graph.results[0].node)) == "g.ash:2"
