"""Fusion: ops that are computed without memory between them become one `kernel` node.

`fuse_groups.py` says which ops those are. Reshapes are names for the same memory and stay outside.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.analysis.constants import is_number
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import lookup
from anyshape.passes.assembler import Assembler
from anyshape.passes.fuse_groups import Group, Grouping
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import has_kernel, is_alone


@dataclass(frozen=True)
class Fuse:
    """Makes `kernel` nodes at the top level of a graph."""

    name: str = "fuse"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        grouping = Grouping(graph, ctx.decisions, self.name)
        return _Assembler(graph, grouping.groups).graph()


@dataclass(frozen=True)
class SingleKernels:
    """Makes a kernel of each op that is in none: of all of them, where `fuse` is left out."""

    name: str = "single-kernels"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        groups = {node: Group([node]) for node in graph.nodes() if has_kernel(node)}
        return _Assembler(graph, groups).graph() if groups else graph


class _Assembler(Assembler):
    """Builds the graph again with one node for each group."""

    def __init__(self, graph: Graph, groups: dict[Node, Group]) -> None:
        super().__init__(graph)
        self.groups = groups

    def graph(self) -> Graph:
        self.begin()
        for node in self.old.nodes():
            group = self.groups.get(node)
            if group is None:
                self.keep(node)
            elif group.root is node:
                self._fuse(group)
        return self.end()

    def _fuse(self, group: Group) -> None:
        inside = set(group.nodes)
        used = dict.fromkeys(v for node in reversed(group.nodes) for v in node.operands)
        # An op alone reads all its operands from memory, numbers too.
        inside |= set() if is_alone(group.root) else {v.node for v in used if is_number(v.node)}
        outside = [v for v in used if v.node not in inside]
        body = self._body(group, outside)
        operands = [self.values[value] for value in outside]
        self.builder.location = self.old.locations.of(group.root)
        node = self.builder.node(lookup("kernel"), operands, NO_ATTRS, [body])
        self.values.update(zip(group.root.results, node.results, strict=True))

    def _body(self, group: Group, outside: list[Value]) -> Region:
        inner = self.builder.nested()
        made = {value: inner.param(self.values[value].type) for value in outside}
        for node in reversed(group.nodes):  # they joined users first
            for value in node.operands:
                if value not in made:  # a number
                    made[value] = inner.node(value.node.op, (), value.node.attrs).result()
            new = inner.moved(node, [made[value] for value in node.operands])
            made.update(zip(node.results, new.results, strict=True))
        return inner.region([made[value] for value in group.root.results])
