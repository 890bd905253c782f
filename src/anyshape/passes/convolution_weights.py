"""What happens to the weights of convolutions before they are kernels.

    conv(x, w) * scale            conv(x, w * scale)           scale: a constant for each channel
    (conv(x, w) + b) * scale      conv(x, w * scale) + b * scale
    conv(x, w) of one tap         x @ w                        whose rows are all places at once

A batch norm is a scale and a shift, so its scale goes into the weights, and is multiplied when
compiling; the shift stays, as a bias. Results are rounded in another order, as they are wherever a
model is exported with its batch norms folded. 16-bit weights are left alone: they would be rounded
once more, and overflow at numbers that results never reach.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import CountingRebuilder, Rebuilder, rebuild_graph
from anyshape.ir.types import wide_of
from anyshape.ops.conv import ConvAttrs
from anyshape.ops.known import ADD, CAST, CONSTANT, CONV, MUL
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import has_kernel, is_alias
from anyshape.sym import product


@dataclass(frozen=True)
class ConvolutionWeights:
    """Scales go into weights, and convolutions of one tap become products."""

    name: str = "convolution-weights"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is CONV for node in graph.nodes()):
            return graph
        scaled = rebuild_graph(_Scales(self.name, ctx), graph)
        return rebuild_graph(_Products(self.name, ctx), scaled)


class _Scales(CountingRebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        super().__init__()
        self.name = name
        self.ctx = ctx
        self.constants: set[Node] = set()

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if self._is_constant(node):
            self.constants.add(node)
        if node.op is not MUL:
            return node.results
        for x, scale in (node.operands, node.operands[::-1]):
            made = self._scaled(x, scale, builder)
            if made is not None and made.type == node.result().type:
                why = "its weights are multiplied when compiling"
                self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
                return (made,)
        return node.results

    def _is_constant(self, node: Node) -> bool:
        if node.op is CONSTANT:
            return True
        made = bool(node.operands) and all(v.node in self.constants for v in node.operands)
        return made and (has_kernel(node) or is_alias(node)) and not node.all_symbols

    def _scaled(self, x: Value, scale: Value, builder: Builder) -> Value | None:
        if scale.node not in self.constants or self.uses[x.node] != 1:
            return None
        if x.node.op is CONV:
            return self._scaled_conv(x.node, scale, builder)
        if x.node.op is not ADD:
            return None
        for conv, bias in (x.node.operands, x.node.operands[::-1]):
            is_bias = bias.node in self.constants and bias.tensor.rank <= 1
            if conv.node.op is CONV and is_bias and self.uses[conv.node] == 1:
                made = self._scaled_conv(conv.node, scale, builder)
                return made and builder.emit("add", made, builder.emit("mul", bias, scale))
        return None

    def _scaled_conv(self, conv: Node, scale: Value, builder: Builder) -> Value | None:
        x, weights = conv.operands
        groups, *taps, _, outside = weights.tensor.shape
        shape = scale.tensor.shape
        if wide_of(weights.tensor.dtype) != weights.tensor.dtype:
            return None  # weights may overflow where results, summed in f32, do not
        if weights.node not in self.constants or shape not in ((), (groups * outside,)):
            return None
        if shape:
            ones = (1,) * (len(taps) + 1)
            scale = builder.emit("reshape", scale, shape=(groups, *ones, outside))
        scaled = builder.emit("mul", weights, scale)
        self.constants |= {scale.node, scaled.node}
        made = builder.node(CONV, [x, scaled], conv.attrs)
        self.uses[made] = 1
        return made.result()


class _Products(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not CONV or not _is_product(node):
            return node.results
        x, weights = node.operands
        matrix = _matrix(weights, builder)
        axis = x.tensor.rank - 1
        made = builder.emit("dot", x, matrix, contract=((axis,), (0,)))
        if made.type != node.result().type:
            return node.results
        why = "of one tap: a product of all places"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return (made,)


def _matrix(weights: Value, builder: Builder) -> Value:
    """Those of one tap, of which bytes stay bytes."""
    if weights.node.op is CAST:
        inner = _matrix(weights.node.operands[0], builder)
        return builder.emit("cast", inner, to=weights.tensor.dtype)
    return builder.emit("reshape", weights, shape=weights.tensor.shape[-2:])


def _is_product(conv: Node) -> bool:
    attrs, weights = conv.attrs_as(ConvAttrs), conv.operands[1].tensor.shape
    padded = any((*attrs.low, *attrs.high))
    return product(weights[:-2]) == 1 and set(attrs.strides) == {1} and not padded
