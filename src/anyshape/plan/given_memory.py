"""Values whose memory the plan does not choose: results of the graph, and what is appended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.passes.append_in_place import appends
from anyshape.passes.own_results import root_of


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """The number of each output, and the `append` that puts a value behind an input.

    What is appended is computed where it belongs, inside of the result that continues the input.
    """

    outputs: Mapping[Value, int]
    appended: Mapping[Value, Node]

    def has(self, value: Value) -> bool:
        return value in self.outputs or value in self.appended


def given_memory(graph: Graph) -> GivenMemory:
    return GivenMemory(
        {value: number for number, value in enumerate(outputs_of(graph))},
        {root_of(node.operands[1]): node for node in appends(graph)},
    )


def outputs_of(graph: Graph) -> list[Value]:
    """The results, each once."""
    return list(dict.fromkeys(graph.results))
