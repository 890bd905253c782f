"""Random graphs with donated inputs, against the interpreter.

Random graphs seldom continue an input or write over one, so each gets results that could: inputs
with something behind them, and inputs changed element by element. Whatever is not donated must stay
as it was, and so must arrays that the caller still holds when a result continues them.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
from tests.fuzz.generate import random_binding
from tests.fuzz.native import assert_near, jumps_in, random_graph
from tests.fuzz.run import random_inputs

from anyshape.base.errors import FactViolationError
from anyshape.execute import Executable, compile_graph
from anyshape.execute.native import NativeExecutor
from anyshape.ir import Graph, evaluate
from anyshape.ir.build import Builder
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.node import Region, Value
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Array, TensorType, bool_


class _MoreResults(Rebuilder):
    """Adds to the results of a graph, at its top level."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.inside = False

    def region(self, region: Region, builder: Builder) -> Region:
        if self.inside:
            return super().region(region, builder)
        self.inside = True
        own = super().region(region, builder)
        more = [value for param in builder.params for value in self.results(param, builder)]
        return builder.region([*own.results, *more])

    def results(self, param: Value, builder: Builder) -> list[Value]:
        if not isinstance(param.type, TensorType):
            return []
        op = "logical_not" if param.tensor.dtype == bool_ else "add"
        operands = [param] if op == "logical_not" else [param, param]
        found = [builder.emit(op, *operands)]
        if param.tensor.rank:
            axis = self.rng.randrange(param.tensor.rank)
            behind = self.rng.choice([param, found[0]])
            found.append(builder.emit("concat", param, behind, axis=axis))
        return self.rng.sample(found, self.rng.randint(0, len(found)))


def check_donated(seed: int, tally: Counter[str]) -> None:
    """One graph, some of its inputs donated, at several bindings; any exception is a failure."""
    rng, graph = random_graph(seed)
    if jumps_in(graph):
        return
    graph = rebuild_graph(_MoreResults(rng), graph)
    names = [name for name, _ in tensor_inputs(graph)]
    donate = rng.sample(names, rng.randint(1, len(names))) if names else []
    executable = compile_graph(graph, donate=tuple(donate))
    if isinstance(executable.executor, NativeExecutor):
        tally["native"] += 1
        tally["starts"] += len(executable.executor.plan.output_prefixes)
        tally["orders"] += len(executable.executor.plan.donation.input_orders)
    for _ in range(2):
        binding = random_binding(rng, graph)
        if binding is not None:
            tally["runs"] += 1
            check_calls(executable, random_inputs(seed, graph, binding), set(donate))


def check_calls(executable: Executable, inputs: list[Array], donated: set[str]) -> None:
    graph = executable.source
    try:
        wanted = evaluate(graph, *inputs)
    except FactViolationError:
        return
    given = [np.copy(array) for array in inputs]
    results = executable(*given)
    check_results(results, wanted, graph)
    for (name, _), array, before in zip(tensor_inputs(graph), given, inputs, strict=True):
        if name not in donated:
            np.testing.assert_array_equal(array, before)
    held = [np.copy(result) for result in results]
    check_results(executable(*map(np.copy, inputs)), wanted, graph)
    for result, before in zip(results, held, strict=True):
        np.testing.assert_array_equal(result, before)


def check_results(found: tuple[Any, ...], wanted: tuple[Array, ...], graph: Graph) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert_near(one, other)
