"""Products of flattened rows, on the rows as they were.

Many models flatten all rows in front of a product with weights, and take them apart behind it:

    [batch, seq, k] -> [batch*seq, k] -> dot, bias -> [batch*seq, n] -> [batch, seq, n]

The product means the same on [batch, seq, k]. Without the reshapes in between, what follows the
product (an activation, a residual) has its shape, and can be computed together with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import CountingRebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.dot import DotAttrs
from anyshape.ops.known import DOT, RESHAPE
from anyshape.passes.infra import PassContext
from anyshape.sym import product


@dataclass(frozen=True)
class RowProducts:
    """Removes reshapes that only flatten the rows of products."""

    name: str = "row-products"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Unflattener(self.name, ctx), graph)


class _Unflattener(CountingRebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        super().__init__()
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not RESHAPE or not self._is_computed_once(node.operands[0]):
            return node.results
        shape = node.result().tensor.shape
        if not shape or node.operands[0].tensor.shape != (product(shape[:-1]), shape[-1]):
            return node.results  # more than rows is taken apart
        found = self._on_rows(node.operands[0], shape[:-1], builder)
        if found is None:
            return node.results
        decision = Decision(self.name, True, "its rows need not be flat", node, builder.location)
        self.ctx.decisions.record(decision)
        return (found,)

    def _is_computed_once(self, value: Value) -> bool:
        """Whether nobody else needs the flat form, so that nothing is computed twice."""
        return self.uses[value.node] == 1 and value.tensor.rank == 2

    def _on_rows(self, value: Value, rows: Shape, builder: Builder) -> Value | None:
        """The flat value with these axes for its rows, if it is a product and what follows it."""
        node = value.node
        if node.op is DOT:
            return _product_on_rows(node, rows, builder)
        if not node.op.has(Trait.ELEMENTWISE):
            return None
        operands: list[Value] = []
        for operand in node.operands:
            found = self._operand_on_rows(operand, rows, builder)
            if found is None:
                return None
            operands.append(found)
        return builder.node(node.op, operands, node.attrs).result()

    def _operand_on_rows(self, value: Value, rows: Shape, builder: Builder) -> Value | None:
        if value.tensor.rank < 2:  # one for each column, or one for all
            return value
        return self._on_rows(value, rows, builder) if self._is_computed_once(value) else None


def _product_on_rows(dot: Node, rows: Shape, builder: Builder) -> Value | None:
    flat, weights = dot.operands
    attrs = dot.attrs_as(DotAttrs)
    plain = attrs == DotAttrs(((1,), (0,))) and weights.tensor.rank == 2
    if not plain or flat.node.op is not RESHAPE:
        return None
    x, shape = flat.node.operands[0], (*rows, flat.tensor.shape[1])
    if x.tensor.shape != shape:  # it came in yet another form
        x = builder.emit("reshape", x, shape=shape)
    return builder.emit("dot", x, weights, contract=[[len(rows)], [0]])
