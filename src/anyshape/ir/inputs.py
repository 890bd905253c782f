"""What callers pass to a graph: its tensors, and how their sizes give the binding."""

from __future__ import annotations

from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType
from anyshape.sym import BindingPlan


def tensor_inputs(graph: Graph) -> list[tuple[str, TensorType]]:
    """Name and type of each input that a caller passes: tokens are none."""
    named = zip(graph.inputs, graph.body.params, strict=True)
    return [(name, type_) for name, type_ in named if isinstance(type_, TensorType)]


def entry_plan(graph: Graph) -> BindingPlan:
    """How the sizes of the inputs give the binding."""
    inputs = [(f"input '{name}'", type_.shape) for name, type_ in tensor_inputs(graph)]
    return BindingPlan.make(inputs, graph.facts, graph.body.born)
