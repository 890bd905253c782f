"""Who can compute a graph. One suite runs on all of them; a compiled executor is one more entry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from anyshape.execute import Executable, compile_graph
from anyshape.ir import Graph, evaluate


class Evaluator(Protocol):
    """Runs any graph of the suite on concrete arrays."""

    name: str

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The tensors among the results. Sizes that break a fact raise ShapeError."""
        ...


class Interpreter:
    """The definition of what a graph means."""

    name = "interpreter"

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return evaluate(graph, *arrays)


class Native:
    """Compiled code: one Executable per graph, as a user would keep it."""

    name = "native"

    def __init__(self) -> None:
        self._compiled: OrderedDict[Graph, Executable] = OrderedDict()

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        if graph not in self._compiled:
            self._compiled[graph] = compile_graph(graph)
            if len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
        return self._compiled[graph](*arrays)


KEPT = 4
"""Executables that are kept: a test runs one graph at several sizes."""

NOT_NATIVE_YET = frozenset(
    {"nonzero", "cond", "while", "scan", "random_bits", "random_uniform", "random_normal"}
    | {"token", "entropy"}
)
"""Ops that the native executor refuses by name; a test holds this list to the truth."""

EVALUATORS: tuple[Evaluator, ...] = (Interpreter(), Native())
