"""Which outputs begin in the memory of inputs that callers give up: over them, or behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyshape.ir.graph import Graph
from anyshape.ir.node import Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.passes.donation import Donation
from anyshape.passes.growing import appends
from anyshape.plan.in_place import Touched, results_in_inputs
from anyshape.plan.lifetimes import Lifetimes


def starts_of(
    graph: Graph,
    donation: Donation,
    steps: Sequence[Touched],
    lives: Lifetimes,
    number: Callable[[Value], int],
) -> dict[Value, Value]:
    """Inputs by the results that begin there. `number` tells the buffer of a value."""
    starts = {node.result(): node.operands[0] for node in appends(graph)}
    given = [node.result() for node in graph.nodes() if node.op is PARAM]
    inputs = [v for v in given if input_of(v) in donation.inputs and v not in starts.values()]
    results = [value for value in dict.fromkeys(graph.results) if value not in starts]
    of_buffers = {number(value): value for value in (*inputs, *results)}
    homes = results_in_inputs(
        steps,
        lives,
        {number(value): value.tensor for value in inputs},
        {number(value): value.tensor for value in results},
    )
    return starts | {of_buffers[result]: of_buffers[start] for result, start in homes.items()}


def input_of(value: Value) -> int:
    """The position of a parameter among the inputs."""
    return param_index(value.node)
