"""A graph that checks what its model asserts, and no indices and divisors.

    first_outside(i, earlier)    -> earlier

An assertion is part of the model; that an index is in range is what its framework adds.
"""

from __future__ import annotations

from anyshape.ir.build import Builder
from anyshape.ir.checks import ValueCheck
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.checks import CheckAttrs


def assertions_only(graph: Graph) -> Graph:
    """The same graph without the other checks; those that stay keep their numbers."""
    if not any(check.kind == "assertion" for check in graph.checks):
        return graph.without_checks()
    return rebuild_graph(_AssertionsOnly(graph.checks), graph)


class _AssertionsOnly(Rebuilder):
    def __init__(self, checks: tuple[ValueCheck, ...]) -> None:
        self.checks = checks

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if isinstance(attrs := node.attrs, CheckAttrs):
            kept = self.checks[attrs.number].kind == "assertion"
            return node.results if kept else (node.operands[1],)
        return node.results
