"""What callers pass to a graph: its tensors, and how their sizes give the binding."""

from __future__ import annotations

from dataclasses import replace

from anyshape.ir.graph import Graph
from anyshape.ir.types import TensorType
from anyshape.sym import BindingPlan, Facts


def tensor_inputs(graph: Graph) -> list[tuple[str, TensorType]]:
    """Name and type of each input that a caller passes: tokens are none."""
    named = zip(graph.inputs, graph.body.params, strict=True)
    return [(name, type_) for name, type_ in named if isinstance(type_, TensorType)]


def declared_inputs(graph: Graph) -> list[tuple[str, TensorType]]:
    """The same with the sizes that callers know them by."""
    return tensor_inputs(graph) if graph.declared is None else list(graph.declared.inputs)


def entry_facts(graph: Graph) -> Facts:
    """What is checked of the sizes of each call: what was declared, and what passes require."""
    declared = graph.declared
    if declared is None:
        return graph.facts
    more = (fact for fact in graph.facts.facts if fact.predicate not in declared.implied)
    return replace(declared.facts, facts=(*declared.facts.facts, *more))


def entry_plan(graph: Graph) -> BindingPlan:
    """How the sizes of the inputs give the binding."""
    inputs = [(f"input '{name}'", type_.shape) for name, type_ in declared_inputs(graph)]
    return BindingPlan.make(inputs, entry_facts(graph), graph.body.born)
