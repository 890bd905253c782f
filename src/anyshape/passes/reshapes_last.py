"""Reshapes after rows move behind the elementwise ops that follow.

A norm of groups is computed between two reshapes, and what follows the second is elementwise in a
shape that the rows know nothing of:

    reshape(norm(reshape(x))) * w        two kernels
    reshape(norm(reshape(x)) * reshape(w))

The second form is one row kernel: a reshape of an operand is a name for its memory, and so is one
at the end. It is taken where nothing else uses the reshape, or all that does so meets again in one
op (`y * sigmoid(y)`), and where other operands have all axes that the reshape splits or merges, or
none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.families.row.layout import InRows, Layout
from anyshape.families.row.space import add_to_rows
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import CountingRebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.known import RESHAPE
from anyshape.passes.axis_runs import axis_runs, reshaped, shape_before
from anyshape.passes.infra import PassContext

FEW_STEPS = 8
"""Between a value and where all that is made of it meets."""


@dataclass(frozen=True)
class ReshapesLast:
    """Lets what follows reshaped rows join them."""

    name: str = "reshapes-last"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is RESHAPE for node in graph.nodes()):
            return graph
        return rebuild_graph(_Mover(graph, ctx, self.name), graph)


class _Mover(CountingRebuilder):
    def __init__(self, graph: Graph, ctx: PassContext, name: str) -> None:
        super().__init__()
        self.split = _split_and_met(graph)
        self.ctx = ctx
        self.name = name
        self.rows: dict[Node, InRows] = {}

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are: those of host nodes have passes of their own."""
        new = node
        if operands != node.operands or node.late:
            new = builder.node(node.op, operands, node.attrs, node.regions, node.late)
        self.uses[new] = 1 if node in self.split else self.uses[node]
        return new

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        moved = self._moved(node, builder) if node.op.has(Trait.ELEMENTWISE) else None
        add_to_rows(node if moved is None else moved.node.operands[0].node, self.rows)
        if moved is None:
            return node.results
        self.uses[moved.node] = self.uses[node]
        why = f"in the rows of {moved.node.operands[0].tensor}, before the reshape"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return (moved,)

    def _moved(self, node: Node, builder: Builder) -> Value | None:
        """The node on what is reshaped, and then the reshape."""
        shape = node.result().tensor.shape
        source = next((v.node for v in node.operands if self._is_reshaped(v, shape)), None)
        if source is None:
            return None
        before = source.operands[0].tensor.shape
        runs = axis_runs(before, shape)
        operands = list[Value]()
        for value in node.operands:
            wanted = shape_before(value.tensor.shape, shape, before, runs)
            if wanted is None:
                return None
            operands.append(reshaped(value, wanted, builder))
        inner = builder.node(node.op, operands, node.attrs).result()
        return builder.emit("reshape", inner, shape=shape)

    def _is_reshaped(self, value: Value, shape: Shape) -> bool:
        """Whether it is a reshape of rows that nothing else uses, and has the shape given."""
        node = value.node
        if node.op is not RESHAPE or self.uses[node] != 1 or value.tensor.shape != shape:
            return False
        rows = self.rows.get(node.operands[0].node)
        return rows is not None and rows.layout is Layout.FULL


def _split_and_met(graph: Graph) -> set[Node]:
    """Nodes with several readers, from which elementwise ops lead to one op and nowhere else."""
    readers: defaultdict[Node, set[Node]] = defaultdict(set)
    for node in graph.nodes():
        for value in node.operands:
            readers[value.node].add(node)
    results = {value.node for value in graph.results}
    ways = _Ways(readers, results)
    several = (node for node, users in readers.items() if len(users) > 1 and node not in results)
    return {node for node in several if len(node.results) == 1 and ways.meet(node)}


@dataclass(frozen=True)
class _Ways:
    """Where elementwise ops lead that have one reader each."""

    readers: Mapping[Node, set[Node]]
    results: set[Node]

    def meet(self, node: Node) -> bool:
        ways = [self._from(reader, node.result().tensor.shape) for reader in self.readers[node]]
        return bool(set[Node].intersection(*ways))

    def _from(self, reader: Node, shape: Shape) -> set[Node]:
        found, current = set[Node](), reader
        while len(found) < FEW_STEPS and _is_elementwise(current, shape):
            found.add(current)
            users = self.readers.get(current, set())
            if len(users) != 1 or current in self.results:
                break
            (current,) = users
        return found


def _is_elementwise(node: Node, shape: Shape) -> bool:
    return node.op.has(Trait.ELEMENTWISE) and node.result().tensor.shape == shape
