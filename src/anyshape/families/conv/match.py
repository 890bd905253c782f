"""Recognising convolutions: one `conv` in a region, and elementwise ops on its result.

`x` is dense, channels last. Weights are a constant, stored in panels whatever their order is, or
dense with the output channels last.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.analysis.strided_view import StridedView, view_of
from anyshape.families.body import Body
from anyshape.families.followers import only_loop
from anyshape.ir.node import Node
from anyshape.ir.opdef import param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ops.conv import ConvAttrs
from anyshape.ops.known import CONV, TRANSPOSE
from anyshape.sym import Dim, product

MOST_NAMED_TAPS = 64
"""Of a depthwise convolution: the code of a place is as long as there are taps."""


@dataclass(frozen=True, slots=True)
class ConvMatch:
    """A convolution whose sums a kernel of register tiles can make."""

    conv: Node
    weights: StridedView
    stored: bool  # weights are a constant, in panels

    @property
    def attrs(self) -> ConvAttrs:
        return self.conv.attrs_as(ConvAttrs)

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group, and the taps are so few that code names each of them."""
        taps = product(self.weights.shape[1:-2]).constant
        few = taps is not None and 0 < taps <= MOST_NAMED_TAPS
        return few and self.stored and self.inside == 1 and self.outside == 1

    @property
    def x_param(self) -> int:
        return param_index(self.conv.operands[0].node)

    @property
    def weights_param(self) -> int:
        return param_index(self.weights.base.node)

    @property
    def groups(self) -> Dim:
        return self.weights.shape[0]

    @property
    def inside(self) -> Dim:
        """Input channels of a group."""
        return self.weights.shape[-2]

    @property
    def outside(self) -> Dim:
        """Output channels of a group."""
        return self.weights.shape[-1]


def conv_match(body: Body) -> ConvMatch | Refusal:
    """The convolution of a body, or why it has no kernel of tiles."""
    found = only_loop(body, {CONV}, "convolution")
    if isinstance(found, Refusal):
        return found
    conv, orders = found
    if any(order != tuple(range(len(order))) for order in orders):
        return Refusal("a result is transposed")
    x, given = conv.operands
    weights = view_of(given, lambda node: node.op is TRANSPOSE and node in body.inside)
    if body.computes(x) or body.computes(weights.base):
        return Refusal("an operand is computed inside the kernel")
    if body.uses(x) > 1:
        return Refusal("what follows it reads its input too")
    stored = body.is_constant(weights.base) and body.uses(weights.base) == 1
    if not stored and weights.base != given:
        return Refusal("weights that are not constant are transposed")
    return ConvMatch(conv, weights, stored)
