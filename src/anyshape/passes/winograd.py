"""Convolutions whose weights are also kept in Winograd's form.

    conv(x, w)          winograd(x, w, points)      points: w at the points of a tile, a constant

Kernels of such a convolution have both forms, and level 2 takes the cheaper one: with fewer
multiplications, or directly where images are so small that tiles would be mostly empty. The plain
weights also serve for tiles with numbers that are not finite.

Larger tiles multiply less, and their weights are larger: 16 or 36 numbers for 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from anyshape.analysis.constants import weight_of
from anyshape.analysis.strided_view import is_view
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.rewrite import Decision, Refusal
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Array, f32
from anyshape.lower.winograd import TAPS, scheme, weights_at_points
from anyshape.ops.conv import ConvAttrs
from anyshape.ops.known import CONSTANT, CONV
from anyshape.passes.constant_work import weights_of
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import is_alias
from anyshape.sym import Facts

LEAST_CHANNELS = 32
"""Of input and result. With fewer, transforms take as long as the products that they save."""

MOST_BYTES = {4: 4 << 20, 2: 8 << 20}
"""Of weights at the points, for each tile: they are read for each block of tiles, and held."""


@dataclass(frozen=True)
class Winograd:
    """Gives convolutions of 3 x 3 taps a form with fewer multiplications."""

    tiles: tuple[int, ...] = (4, 2)
    """Their places along an axis: of those whose weights are not too large, the first is taken."""
    name: str = "winograd"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is CONV for node in graph.nodes()):
            return graph
        return rebuild_graph(_Transformed(self.name, self.tiles, ctx), graph)


class _Transformed(Rebuilder):
    def __init__(self, name: str, tiles: tuple[int, ...], ctx: PassContext) -> None:
        self.name = name
        self.tiles = tiles
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not CONV or not _has_form(node):
            return node.results
        tile = _tile(node, self.tiles)
        if isinstance(tile, Refusal):
            self._decide(False, str(tile), node, builder)
            return node.results
        x, weights = node.operands
        points, attrs = _points(weights, tile, builder), node.attrs_as(ConvAttrs)
        made = builder.emit(
            "winograd", x, weights, points, low=attrs.low, high=attrs.high, tile=tile
        )
        count, held = scheme(tile).points, _bytes(node, tile)
        why = f"{count} products for tiles of {tile} x {tile}, {held} bytes of weights for them"
        self._decide(True, why, node, builder)
        return (made,)

    def _decide(self, taken: bool, why: str, node: Node, builder: Builder) -> None:
        self.ctx.decisions.record(Decision(self.name, taken, why, node, builder.location))


def _has_form(conv: Node) -> bool:
    """Whether it has 3 x 3 taps, at neighbouring places of two axes, for all channels."""
    attrs, weights = conv.attrs_as(ConvAttrs), conv.operands[1].tensor
    near = {*attrs.strides, *attrs.dilations} == {1}
    return near and weights.shape[:-2] == (1, TAPS, TAPS)


def _tile(conv: Node, tiles: Sequence[int]) -> int | Refusal:
    """The first of some that suits, or why there is none."""
    weights = conv.operands[1]
    if not _is_stored(weights):
        return Refusal("its weights are not constant")
    if weights.tensor.dtype is not f32:
        return Refusal(f"tiles of {weights.tensor.dtype} would be rounded too often")
    inside, outside = map(int, weights.tensor.shape[-2:])
    if min(inside, outside) < LEAST_CHANNELS:
        return Refusal(f"transforms do not pay for {inside} -> {outside} channels")
    found = next((tile for tile in tiles if _bytes(conv, tile) <= MOST_BYTES[tile]), None)
    if found is None:
        held, most = _bytes(conv, tiles[-1]), MOST_BYTES[tiles[-1]]
        return Refusal(f"its weights would take {held} bytes, and may take {most}")
    return found


def _bytes(conv: Node, tile: int) -> int:
    weights = conv.operands[1].tensor
    return int(weights.size) // TAPS**2 * scheme(tile).points * weights.dtype.itemsize


def _is_stored(value: Value) -> bool:
    """Whether it is a constant, or a view of one."""
    node = value.node
    while node.op is not CONSTANT and (is_view(node) or is_alias(node)):
        node = node.operands[0].node
    return node.op is CONSTANT


def _points(weights: Value, tile: int, builder: Builder) -> Value:
    """A constant that nobody holds: whoever packs it makes it from the plain weights."""
    body = Region((), (weights,), Facts())
    plain = Graph("weights", (), body, builder.weights.subset(weights_of(body)))
    read = partial(_at_points, plain, tile)
    points = builder.constant(read())
    found = weight_of(points.node)
    if found is not None:
        builder.weights.move(found, read)
    return points


def _at_points(plain: Graph, tile: int) -> Array:
    (weights,) = evaluate(plain)
    return weights_at_points(weights, tile)
