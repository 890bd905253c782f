"""A value that several kernels need is computed by the first of them, which stores it, too.

    h = x + a;  y = layer_norm(h);  z = h + f(y)      kernel: h, y = x + a, layer_norm(x + a)

Fusion leaves such an h to a kernel of its own, and each reader fetches it from memory. The first of
them can compute it instead, from the operands of its kernel: one read of h less, and a step less.
All others come later, as nothing reads h before its first reader does, and read what it stored.

`joint_kernels.py` says which kernels can be one, and what that costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import PARAM, param_index
from anyshape.ir.rewrite import Decision
from anyshape.ops.known import KERNEL
from anyshape.passes.assembler import Assembler
from anyshape.passes.infra import PassContext
from anyshape.passes.joint_kernels import Pair, objection_to_joining


@dataclass(frozen=True)
class SeveralResults:
    """Joins kernels with the first readers of their results."""

    name: str = "several-results"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        assembler = _Assembler(graph)
        used = set[Node]()
        for pair in _pairs(graph):
            if not used.isdisjoint((pair.maker, pair.reader)):
                continue
            operands, region = assembler.joined(pair)
            objection = objection_to_joining(pair, operands, region)
            why = str(objection or f"{pair.reader_name} computes it, and stores both")
            place = pair.maker, graph.locations.of(pair.maker)
            ctx.decisions.record(Decision(self.name, objection is None, why, *place))
            if objection is None:
                used |= {pair.maker, pair.reader}
                assembler.pairs[pair.reader] = pair
        return assembler.graph() if assembler.pairs else graph


def _pairs(graph: Graph) -> Iterator[Pair]:
    """Kernels with a result that has several readers, and the first of these, if it is a kernel."""
    readers: defaultdict[Node, list[Node]] = defaultdict(list)
    for node in graph.nodes():
        for operand in dict.fromkeys(value.node for value in node.operands):
            readers[operand].append(node)
    results = {value.node for value in graph.results}
    for node in graph.nodes():
        found = readers[node]
        if node.op is not KERNEL or len(node.results) != 1 or not found:
            continue
        first = found[0]
        single = first.op is KERNEL and len(first.results) == 1
        if single and (len(found) > 1 or node in results):
            yield Pair(node, first)


class _Assembler(Assembler):
    """Builds the graph again with one node for each pair, in the place of the reader."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.pairs: dict[Node, Pair] = {}  # by reader

    def graph(self) -> Graph:
        self.begin()
        makers = {pair.maker for pair in self.pairs.values()}
        for node in self.old.nodes():
            if node in self.pairs:
                self._join(self.pairs[node])
            elif node not in makers:
                self.keep(node)
        return self.end()

    def _join(self, pair: Pair) -> None:
        operands, region = self.joined(pair)
        self.builder.location = self.old.locations.of(pair.reader)
        given = [self.values[value] for value in operands]
        new = self.builder.node(KERNEL, given, NO_ATTRS, [region])
        old = (pair.value, *pair.reader.results)
        self.values.update(zip(old, new.results, strict=True))

    def joined(self, pair: Pair) -> tuple[list[Value], Region]:
        """What the kernel of both reads, and computes: first what was read, then the rest."""
        outside = (*pair.maker.operands, *pair.reader.operands)
        operands = [value for value in dict.fromkeys(outside) if value != pair.value]
        inner = self.builder.nested()
        made = {value: inner.param(value.type) for value in operands}
        (made[pair.value],) = _inlined(pair.maker, made, inner)
        results = _inlined(pair.reader, made, inner)
        return operands, inner.region([made[pair.value], *results])


def _inlined(kernel: Node, given: dict[Value, Value], inner: Builder) -> list[Value]:
    """The results of a kernel whose operands are values inside of another."""
    region, made = kernel.regions[0], dict[Value, Value]()
    for node in region.nodes():
        if node.op is PARAM:
            made[node.result()] = given[kernel.operands[param_index(node)]]
        else:
            new = inner.moved(node, [made[value] for value in node.operands])
            made.update(zip(node.results, new.results, strict=True))
    return [made[value] for value in region.results]
