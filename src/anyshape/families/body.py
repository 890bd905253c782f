"""What a kernel computes, as fusion and lowering both see it.

Fusion asks about nodes of a graph before they are a kernel, lowering about the region of one. What
comes from *outside* is made by other nodes, or a parameter. Numbers are inside, because they are
part of a kernel's text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from anyshape.analysis.constants import is_constant, is_number
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, ParamAttrs, Trait

LOOPS = frozenset({Trait.REDUCTION, Trait.CONTRACTION, Trait.ROWWISE})
"""Ops that bring a loop of their own."""


@dataclass(frozen=True, slots=True)
class Body:
    """Nodes, operands first, the values that leave them, and which values from outside never
    change."""

    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    inside: frozenset[Node]
    is_constant: Callable[[Value], bool]

    @staticmethod
    def of_region(region: Region, constants: Set[int] = frozenset()) -> Body:
        """A kernel's region; `constants` are parameters."""
        nodes = tuple(node for node in region.nodes() if node.op is not PARAM)

        def is_given(value: Value) -> bool:
            attrs = value.node.attrs
            return isinstance(attrs, ParamAttrs) and attrs.index in constants

        return Body(nodes, region.results, frozenset(nodes), is_given)

    @staticmethod
    def of_nodes(nodes: Sequence[Node]) -> Body:
        """Nodes of a graph, operands first; the last one's results leave them."""
        numbers = {v.node for node in nodes for v in node.operands if is_number(v.node)}
        return Body(tuple(nodes), nodes[-1].results, frozenset(numbers.union(nodes)), is_constant)

    @property
    def loops(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.op.traits & LOOPS)

    def computes(self, value: Value) -> bool:
        """Whether a value is made by a node of this body."""
        return value.node in self.inside

    def uses(self, value: Value) -> int:
        """How many operands it is."""
        return sum(node.operands.count(value) for node in self.nodes)
