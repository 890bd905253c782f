"""Recognising convolutions: one `conv` in a region, and elementwise ops on its result.

`x` is dense, channels last. It may be widened, and before that padded along spatial axes with any
number, such as the zero point of bytes. Weights are a constant, stored in panels whatever their
order is, or dense with the output channels last.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.analysis.strided_view import StridedView, is_view, view_of
from anyshape.families.body import Body
from anyshape.families.followers import only_loop
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import param_index
from anyshape.ir.rewrite import Refusal
from anyshape.ir.types import i8, i16, i32, u8
from anyshape.ops.conv import ConvAttrs, WinogradAttrs
from anyshape.ops.known import CAST, CONV, PAD, TRANSPOSE, WINOGRAD
from anyshape.ops.movement import PadAttrs
from anyshape.sym import Dim, product

MOST_NAMED_TAPS = 64
"""Of a depthwise convolution: the code of a place is as long as there are taps."""


@dataclass(frozen=True, slots=True)
class ConvMatch:
    """A convolution whose sums a kernel of register tiles can make."""

    conv: Node
    x: Value  # what is in memory of its input
    pad: Node | None  # what pads it, if that is no attribute
    weights: StridedView
    stored: bool  # weights are a constant, in panels
    points: Value | None = None  # the weights in Winograd's form, a constant too

    @property
    def attrs(self) -> ConvAttrs:
        return _attrs_of(self.conv)

    @property
    def has_points(self) -> bool:
        """Whether its weights are there in Winograd's form, too."""
        return self.points is not None

    @property
    def tile(self) -> int:
        """Places of a tile of that form along an axis."""
        return self.conv.attrs_as(WinogradAttrs).tile

    @property
    def points_param(self) -> int:
        assert self.points is not None, "it has one form only"
        return param_index(self.points.node)

    @property
    def padding(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Before and behind each spatial axis."""
        if self.pad is None:
            return self.attrs.low, self.attrs.high
        attrs = self.pad.attrs_as(PadAttrs)
        low, high = (tuple(map(int, dims[1:-1])) for dims in (attrs.low, attrs.high))
        return low, high

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group, and the taps are so few that code names each of them."""
        taps = product(self.weights.shape[1:-2]).constant
        few = taps is not None and 0 < taps <= MOST_NAMED_TAPS
        return few and self.stored and self.inside == 1 and self.outside == 1

    @property
    def is_in_pairs(self) -> bool:
        """Whether a depthwise one multiplies bytes by numbers that 16 bits hold."""
        given, total = self.x.tensor.dtype, self.conv.result().tensor.dtype
        narrow = given in (i8, u8) and self.weights.base.tensor.dtype is i16
        return self.is_depthwise and narrow and total is i32

    @property
    def x_param(self) -> int:
        return param_index(self.x.node)

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
    found = only_loop(body, {CONV, WINOGRAD}, "convolution")
    if isinstance(found, Refusal):
        return found
    conv, orders = found
    if any(order != tuple(range(len(order))) for order in orders):
        return Refusal("a result is transposed")
    given = conv.operands[1]
    weights = view_of(given, lambda node: node in body.inside and _keeps_weights(node))
    x, pad = _input(conv, body)
    if body.computes(x) or body.computes(weights.base):
        return Refusal("an operand is computed inside the kernel")
    if body.uses(x) > 1:
        return Refusal("what follows it reads its input too")
    stored = body.is_constant(weights.base) and body.uses(weights.base) == 1
    if not stored and weights.base != given:
        return Refusal("weights that are not constant are transposed, or of another dtype")
    points = _points(conv, body) if stored and pad is None and x == conv.operands[0] else None
    found = ConvMatch(conv, x, pad, weights, stored, points)
    if pad is not None and found.is_depthwise and not found.is_in_pairs:
        return Refusal("a depthwise convolution leaves out what is outside of its input")
    return found


def _attrs_of(conv: Node) -> ConvAttrs:
    return conv.attrs_as(ConvAttrs) if conv.op is CONV else conv.attrs_as(WinogradAttrs).conv


def _points(conv: Node, body: Body) -> Value | None:
    """Weights in Winograd's form, if they are a constant that nothing else reads."""
    if conv.op is not WINOGRAD:
        return None
    points = conv.operands[2]
    return points if body.is_constant(points) and body.uses(points) == 1 else None


def _keeps_weights(node: Node) -> bool:
    return node.op is TRANSPOSE or (node.op is CAST and is_view(node))


def _input(conv: Node, body: Body) -> tuple[Value, Node | None]:
    """What widening casts and a padding begin with, and the padding."""
    x, attrs = conv.operands[0], _attrs_of(conv)
    while x.node in body.inside and x.node.op is CAST and is_view(x.node):
        x = x.node.operands[0]
    padded = x.node in body.inside and is_spatial_pad(x.node)
    if not padded or any((*attrs.low, *attrs.high)):
        return x, None
    return x.node.operands[0], x.node


def is_spatial_pad(node: Node) -> bool:
    """Whether it adds known numbers of elements around all axes but the first and the last."""
    if node.op is not PAD:
        return False
    attrs = node.attrs_as(PadAttrs)
    known = all(dim.constant is not None for dim in (*attrs.low, *attrs.high))
    return known and all(dims[0] == dims[-1] == 0 for dims in (attrs.low, attrs.high))
