"""Who can compute a graph. One suite runs on all of them; a compiled executor is one more entry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from anyshape.execute import Executable, compile_graph
from anyshape.execute.native import NativeExecutor
from anyshape.execute.stepwise import StepwiseExecutor
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

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return compiled(graph)(*arrays)


class Stepwise:
    """The same code, one step at a time."""

    name = "stepwise"

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return stepwise(graph)(*arrays)


KEPT = 4
"""Executables that are kept: a graph is run at several sizes, by one evaluator after the other."""


@lru_cache(KEPT)
def compiled(graph: Graph) -> Executable:
    return compile_graph(graph)


@lru_cache(KEPT)
def stepwise(graph: Graph) -> Executable:
    """As `compile_graph` makes it; where the whole graph is one program, of the same program."""
    native = compiled(graph)
    if not isinstance(native.executor, NativeExecutor):
        return compile_graph(graph, executor="stepwise")
    return Executable(
        native.source, native.graph, native.reports, StepwiseExecutor(native.executor)
    )


ON_THE_HOST = frozenset({"nonzero", "cond", "while", "scan", "token", "entropy"})
"""Ops in whose cases something has no native form: `strict` refuses it by name."""

EVALUATORS: tuple[Evaluator, ...] = (
    Interpreter(),
    Native(),
    Stepwise(),
)
