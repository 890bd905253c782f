"""Values that are only names: for another value, or for a stretch of its memory.

A reshape is a name by its op. So is the result of a kernel that does nothing but copy a stretch of
memory, if the facts prove that this lies inside of its source: nothing is copied then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.families.lower_graph import LoweredGraph, LoweredKernel
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.plan.buffers import NOTHING
from anyshape.plan.given_memory import GivenMemory
from anyshape.sym import Answer, Dim, FactScope, LessEqual


@dataclass(frozen=True, slots=True)
class Alias:
    """A value with memory, the *root*, and how many bytes after its start the name begins."""

    root: Value
    offset: Dim = NOTHING


def aliases_of(lowered: LoweredGraph, given: GivenMemory) -> dict[Value, Alias]:
    """All names of a graph. No root is a name itself."""
    scope = FactScope.of(lowered.graph.facts)
    aliases: dict[Value, Alias] = {}
    for node in lowered.graph.nodes():  # a name comes after what it names
        stretch = _named(node, lowered.kernels, given, scope)
        if stretch is not None:
            inner = aliases.get(stretch.root, Alias(stretch.root))
            aliases[node.result()] = Alias(inner.root, inner.offset + stretch.offset)
    return aliases


def _named(
    node: Node, kernels: Mapping[Node, LoweredKernel], given: GivenMemory, scope: FactScope
) -> Alias | None:
    """What a node's result is a name of; None if it is computed."""
    if node.op.has(Trait.ALIAS):
        return Alias(node.operands[0])
    kernel = kernels.get(node)
    if kernel is None or kernel.sharing.copied_from is None or given.has(node.result()):
        return None
    operand, start = kernel.sharing.copied_from
    return _stretch(node.operands[operand], kernel.lowered.of_graph(start), node.result(), scope)


def _stretch(source: Value, start: Dim, result: Value, scope: FactScope) -> Alias | None:
    """The result's elements in the source, from element `start` on, if they certainly are there."""
    end = start + result.tensor.size
    inside = LessEqual(NOTHING, start), LessEqual(end, source.tensor.size)
    if any(scope.proves(test) is not Answer.TRUE for test in inside):
        return None
    return Alias(source, start * source.tensor.dtype.itemsize)
