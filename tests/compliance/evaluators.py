"""Who can compute a graph. One suite runs on all of them; a compiled executor is one more entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from tests.compliance.inputs import LIMIT

from anyshape.base.options import Options, options_from_environment
from anyshape.execute import Executable, compile_graph
from anyshape.execute.native import NativeExecutor
from anyshape.execute.stepwise import StepwiseExecutor
from anyshape.execute.target import executable_isas
from anyshape.ir import Graph, evaluate


class Evaluator(Protocol):
    """Runs any graph of the suite on concrete arrays."""

    name: str
    most_elements: int  # of all inputs: more would take it too long

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The tensors among the results. Sizes that break a fact raise ShapeError."""
        ...


class Interpreter:
    """The definition of what a graph means."""

    name = "interpreter"
    most_elements = LIMIT

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return evaluate(graph, *arrays)


OF_PROCESS = options_from_environment()

INTERPRETED_ELEMENTS = 300
"""A loop that Python runs takes microseconds for each; the tiles of that target are as small."""


def most_elements(target: str) -> int:
    return INTERPRETED_ELEMENTS if target == "interpreter" else LIMIT


class Native:
    """Compiled code: one Executable per graph, as a user would keep it."""

    def __init__(self, isa: str = "", target: str = "") -> None:
        self.name = "-".join(filter(None, ("native", target, isa)))
        self.options = OF_PROCESS
        if isa or target:
            self.options = replace(OF_PROCESS, target=target or "native", isa=isa)
        self.most_elements = most_elements(self.options.target)

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return compiled(graph, self.options)(*arrays)


class Stepwise:
    """The same code, one step at a time."""

    name = "stepwise"
    most_elements = most_elements(OF_PROCESS.target)

    def run(self, graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return stepwise(graph)(*arrays)


KEPT = 4
"""Executables that are kept: a graph is run at several sizes, by one evaluator after the other."""


@lru_cache(KEPT)
def compiled(graph: Graph, options: Options = OF_PROCESS) -> Executable:
    return compile_graph(graph, options)


@lru_cache(KEPT)
def stepwise(graph: Graph) -> Executable:
    """As `compile_graph` makes it; where the whole graph is one program, of the same program."""
    native = compiled(graph)
    if not isinstance(native.executor, NativeExecutor):
        return compile_graph(graph, executor="stepwise")
    return Executable(native.notes, StepwiseExecutor(native.executor))


ON_THE_HOST = frozenset({"token", "entropy", "staged", "torch_call", "torch_effect"})
"""Ops in whose cases something has no native form: `strict` refuses it by name."""

EVALUATORS: tuple[Evaluator, ...] = (
    Interpreter(),
    Native(),
    Stepwise(),
)

LESSER: tuple[Evaluator, ...] = tuple(map(Native, executable_isas()[1:]))
"""Compiled for the other instruction sets that this machine executes."""

INTERPRETED: Evaluator = Native(target="interpreter")
"""The same plan and the same runtime, with loops that Python runs."""
