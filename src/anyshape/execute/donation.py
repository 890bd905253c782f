"""Donated inputs at compile time: their names, and the passes that make use of them.

Only a graph that is one native call uses what is donated. One with host nodes copies, as any graph
may where an array cannot be written; so donation never changes a result.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors import OptionError
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import tensor_inputs
from anyshape.ir.types import TensorType
from anyshape.passes import Canonicalize, Pass, Passed, run_passes
from anyshape.passes.growing import Append, GrowingAxesFirst, growths_of
from anyshape.passes.segments import runs_whole
from anyshape.plan.donation import Donation
from anyshape.sym import BindingPlan


def donated_inputs(graph: Graph, names: Sequence[str]) -> frozenset[int]:
    """Positions of the inputs with these names."""
    known = [name for name, _ in tensor_inputs(graph)]
    for name in names:
        if name not in known:
            raise OptionError("donate", name, f"an input of '{graph.name}': {', '.join(known)}")
    return frozenset(graph.inputs.index(name) for name in names)


def passed_with_donation(
    graph: Graph, donated: frozenset[int], first: Sequence[Pass], kernels: Sequence[Pass]
) -> tuple[Passed, Donation] | None:
    """The graph with results in donated inputs; nothing if it has host nodes.

    `first` are the passes before, and `kernels` those from fusion on.
    """
    prepared = run_passes(graph, first)
    growths = growths_of(prepared.graph, donated)
    passes = (
        GrowingAxesFirst(growths),  # first: what it transposes is what kernels read
        Canonicalize(),  # then: transposes meet and cancel
        Append(donated),  # before fusion: what is appended becomes a kernel's own result
        *kernels,
    )
    passed = run_passes(prepared.graph, passes)
    if not runs_whole(passed.graph):
        return None
    donation = Donation.of(donated, growths, prepared.graph.results)
    return Passed(passed.graph, (*prepared.reports, *passed.reports)), donation


def binding_plan(graph: Graph, donation: Donation) -> BindingPlan:
    """How the sizes of a caller's arrays give the binding of the compiled graph."""
    named = zip(graph.inputs, graph.body.params, strict=True)
    inputs = [
        (f"input '{name}'", donation.as_given(number, type_.shape))
        for number, (name, type_) in enumerate(named)
        if isinstance(type_, TensorType)
    ]
    return BindingPlan.make(inputs, graph.facts, graph.body.born)
