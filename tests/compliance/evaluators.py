"""Who can compute a graph. One suite runs on all of them; a compiled executor is one more entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

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


EVALUATORS: tuple[Evaluator, ...] = (Interpreter(),)
