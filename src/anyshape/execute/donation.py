"""Donated inputs at compile time: their names, and the binding of arrays that lie in other orders.

Donation never changes a result: where an array cannot be written, it is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors import OptionError
from anyshape.ir.graph import Graph
from anyshape.ir.inputs import declared_inputs, entry_facts, tensor_inputs
from anyshape.passes.channels_last import channels_last
from anyshape.passes.donation import Donation, Order
from anyshape.sym import BindingPlan


def donated_inputs(graph: Graph, names: Sequence[str]) -> frozenset[int]:
    """Positions of the inputs with these names."""
    known = [name for name, _ in tensor_inputs(graph)]
    for name in names:
        if name not in known:
            raise OptionError("donate", name, f"an input of '{graph.name}': {', '.join(known)}")
    return frozenset(graph.inputs.index(name) for name in names)


def inputs_lying(graph: Graph, names: Sequence[str]) -> dict[int, Order]:
    """The orders in memory of the inputs with these names, whose channels are last."""
    known = dict(tensor_inputs(graph))
    for name in names:
        if name not in known or known[name].rank < 3:
            expected = f"an input of '{graph.name}' with channels and places: {', '.join(known)}"
            raise OptionError("channels_last", name, expected)
    return {graph.inputs.index(name): channels_last(known[name].rank) for name in names}


def binding_plan(graph: Graph, donation: Donation) -> BindingPlan:
    """How the sizes of a caller's arrays give the binding of the compiled graph."""
    numbers = {name: number for number, name in enumerate(graph.inputs)}
    inputs = [
        (f"input '{name}'", donation.as_given(numbers[name], type_.shape))
        for name, type_ in declared_inputs(graph)
    ]
    return BindingPlan.make(inputs, entry_facts(graph), graph.body.born)
