"""Reshapes behind elementwise ops move in front of them.

A reshape is a name for memory, so what comes before it is written there, and what comes after it is
another kernel:

    softmax(reshape(x * 2))            two kernels
    softmax(reshape(x) * 2)            one

The second form names memory that is there anyway. It is taken where kernels of maps or rows read
the reshape, and where all that moves would have been a kernel of its own: the epilogue of a product
stays with it, and so does what is made of other rows. Operands that broadcast have all axes that
the reshape splits or merges, or none of them. A costly op does not move into rows: along short ones
vectors are not full, and that costs it more than the memory that it saves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.known import RESHAPE
from anyshape.passes.axis_runs import axis_runs, reshaped, shape_before
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import has_code, has_kernel, is_map

ROWS = frozenset({Trait.REDUCTION, Trait.ROWWISE})
READERS = ROWS | {Trait.ELEMENTWISE}
"""Ops that compute their operands themselves."""

MOST_OPS = 64
"""That one reshape moves in front of: no kernel has more."""


@dataclass(frozen=True)
class ReshapesFirst:
    """Lets elementwise ops join what reads a reshape of their result."""

    name: str = "reshapes-first"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is RESHAPE for node in graph.nodes()):
            return graph
        return rebuild_graph(_Mover(graph, ctx, self.name), graph)


class _Mover(Rebuilder):
    def __init__(self, graph: Graph, ctx: PassContext, name: str) -> None:
        self.ctx = ctx
        self.name = name
        self.readers: dict[Node, set[Node]] = defaultdict(set)
        for node in graph.nodes():
            for value in node.operands:
                self.readers[value.node].add(node)
        self.results = {value.node for value in graph.results}
        self.before_rows = self._before_rows(graph.nodes())
        self.old: dict[Node, Node] = {}  # of which a new node was made

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are: those of host nodes have passes of their own."""
        new = node
        if operands != node.operands or node.late:
            new = builder.node(node.op, operands, node.attrs, node.regions, node.late)
        if node.op is RESHAPE and self._is_computed_by_readers(node):
            move = _Move(self, builder, cheap_only=node in self.before_rows)
            moved = move.of(operands[0], node.result().tensor.shape)
            if moved is not None:
                why = f"in the shape of {moved.tensor}, behind the reshape"
                decision = Decision(self.name, True, why, operands[0].node, builder.location)
                self.ctx.decisions.record(decision)
                new = moved.node
        self.old[new] = node
        return new

    def _before_rows(self, nodes: Sequence[Node]) -> set[Node]:
        """What kernels of rows may compute for themselves."""
        found: set[Node] = set()
        for node in reversed(nodes):
            readers = self.readers[node]
            is_read = any(reader.op.traits & ROWS or reader in found for reader in readers)
            if is_read and (node.op.has(Trait.ELEMENTWISE) or node.op is RESHAPE):
                found.add(node)
        return found

    def _is_computed_by_readers(self, node: Node) -> bool:
        readers = self.readers[node]
        return node not in self.results and bool(readers) and all(map(_computes, readers))

    def is_read_once(self, node: Node) -> bool:
        old = self.old.get(node, node)
        return old not in self.results and len(self.readers[old]) == 1

    def is_in_memory(self, value: Value) -> bool:
        """Whether a value, or what it names, is written by itself, whoever reads it. One that
        several maps read may be computed by one kernel with all of them."""
        node = value.node
        while node.op is RESHAPE and self.is_read_once(node):
            node = node.operands[0].node
        return not has_kernel(node) or not (is_map(node) or self.is_read_once(node))


def _computes(reader: Node) -> bool:
    return bool(reader.op.traits & READERS) and has_code(reader)


@dataclass
class _Move:
    """One reshape on its way up."""

    mover: _Mover
    builder: Builder
    cheap_only: bool
    ops: int = 0

    def of(self, value: Value, shape: Shape) -> Value | None:
        """The value in another shape, by its own op on reshaped operands."""
        node, old = value.node, value.tensor.shape
        self.ops += 1
        elementwise = node.op.has(Trait.ELEMENTWISE) and has_code(node)
        elementwise &= node.op.is_cheap or not self.cheap_only
        if not elementwise or not self.mover.is_read_once(node) or self.ops > MOST_OPS:
            return None
        runs = [(after, before) for before, after in axis_runs(old, shape)]
        operands: list[Value] = []
        for operand in node.operands:
            wanted = shape_before(operand.tensor.shape, old, shape, runs)
            moved = None if wanted is None else self._operand(operand, wanted)
            if moved is None:
                return None
            operands.append(moved)
        made = self.builder.node(node.op, operands, node.attrs).result()
        return made if made.tensor.shape == shape else None  # numbers alone have no shape to take

    def _operand(self, value: Value, shape: Shape) -> Value | None:
        if value.tensor.shape == shape:
            return value
        moved = self.of(value, shape)
        if moved is not None or not self.mover.is_in_memory(value):
            return moved
        return reshaped(value, shape, self.builder)
