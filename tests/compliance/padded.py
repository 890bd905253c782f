"""A graph with padded axes, called with padding that holds the worst there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.compliance.inputs import LIMIT

from anyshape.dynamic.buckets import PaddedGraph, padded_graph
from anyshape.execute import compile_graph
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.execute.reference import ReferenceExecutor
from anyshape.ir import Graph
from anyshape.ir.inputs import tensor_inputs
from anyshape.passes.infra import PassContext
from anyshape.sym import Axis, Facts, Symbol

BUCKETS = (2, 4, 6, 9, 12, 16, 20, 40, 72)
WORST = (np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0)


def with_buckets(graph: Graph, symbols: Sequence[Symbol]) -> Graph:
    """The graph with buckets for these axes, as far as they allow them."""
    own = {symbol: graph.facts.axis(symbol) for symbol in symbols}
    buckets = {s: [n for n in BUCKETS if axis.contains(n)] for s, axis in own.items()}
    padded = (replace(axis, buckets=buckets[s]) for s, axis in own.items())
    others = (axis for axis in graph.axes if axis.symbol not in own)
    facts = Facts((*others, *padded), graph.facts.facts)
    return graph.with_body(graph.body.with_facts(facts))


def padded_symbols(graph: Graph) -> list[Symbol]:
    """Axes that some input has as a size of its own, and that have a bucket."""
    symbols = {dim.symbol for _, type_ in tensor_inputs(graph) for dim in type_.shape}
    axes = [graph.facts.axis(symbol) for symbol in symbols if symbol is not None]
    return [a.symbol for a in sorted(axes, key=_name) if any(map(a.contains, BUCKETS))]


def _name(axis: Axis) -> str:
    return axis.name


def worst(seed: int) -> Callable[..., Any]:
    """Arrays full of what must not get into any result."""
    rng = np.random.default_rng(seed)

    def allocate(sizes: tuple[int, ...], dtype: Any) -> Any:
        if dtype.kind == "b":
            return rng.integers(0, 2, sizes).astype(dtype)
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            return rng.choice(np.array([ends.min, ends.max, 0, 7], dtype), sizes)
        with np.errstate(over="ignore"):
            return rng.choice(np.array(WORST), sizes).astype(dtype)

    return allocate


class Padded:
    """Pads some axes of a graph, which the interpreter then runs."""

    name = "padded"
    most_elements = LIMIT

    def __init__(self, graph: Graph, symbols: Sequence[Symbol], seed: int) -> None:
        made = padded_graph(with_buckets(graph, symbols), PassContext())
        assert made is not None
        self.padded: PaddedGraph = made
        self.executor = PaddingExecutor(ReferenceExecutor(made.graph), made)
        self.executor.allocate = worst(seed)

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return self.executor.run(arrays)


class PaddedNative:
    """The same by compiled code, as an axis with buckets has it."""

    name = "padded-native"
    most_elements = LIMIT

    def __init__(self, graph: Graph, symbols: Sequence[Symbol], seed: int) -> None:
        self.executable = compile_graph(with_buckets(graph, symbols))
        executor = self.executable.executor
        assert isinstance(executor, PaddingExecutor)
        executor.allocate = worst(seed)

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return self.executable(*arrays)
