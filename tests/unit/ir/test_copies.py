"""Graphs never change, so a copy of one is the graph itself, however deep it is."""

import copy
import pickle

import numpy as np

import anyshape as ash
from anyshape.ir import Graph
from anyshape.sym import Dim


def chain(length: int) -> Graph:
    weight = np.arange(64, dtype=np.float32)

    @ash.jit
    def added(x: ash.f32["n", 64]):
        for _ in range(length):
            x = ash.tanh(x) + weight
        return x

    return added.graph


def test_copies_of_deep_graphs():
    graph = chain(3000)
    assert copy.deepcopy(graph) is graph
    assert copy.deepcopy([graph, graph]) == [graph, graph]
    assert copy.copy(graph) == graph


def test_nodes_stay_the_ones_that_they_are():
    graph = chain(2000)
    for node in graph.nodes()[:5] + graph.nodes()[-5:]:
        assert copy.copy(node) is node
        assert copy.deepcopy(node) is node
        assert copy.deepcopy(node.result()).node is node
    body = copy.deepcopy(graph.body)
    assert body == graph.body
    assert body.results[0].node is graph.results[0].node


def test_a_copy_runs_as_the_graph_does():
    graph = chain(2)
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
    np.testing.assert_array_equal(ash.compile(copy.deepcopy(graph))(x)[0], ash.compile(graph)(x)[0])


def test_dims_stay_the_ones_that_they_are():
    dim = Dim.of("min(n, m//2 + 1)")
    assert copy.copy(dim) is dim
    assert copy.deepcopy(dim) is dim
    assert pickle.loads(pickle.dumps(dim)) is dim
