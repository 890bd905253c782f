"""Slices behind reshapes: kernels read their operands through slices, but not through names.

Models take queries, keys and values out of one product, and then its heads apart:

    [b, n, 3*h*e] -> slice [b, n, h*e] -> reshape [b, n, h, e]
    [b, n, 3, h, e] -> transpose [3, b, h, n, e] -> slice [1, b, h, n, e] -> reshape [b, h, n, e]

A reshape of a slice needs the slice in memory. The other way round, the reshape is a name for the
whole product, and whoever reads the slice reads a part of it:

    [b, n, 3*h*e] -> reshape [b, n, 3*h, e] -> slice [b, n, h, e]       and then the transpose

A slice along the first axis is one stretch of memory, for which there is a name as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.analysis.cuts import Cut, only_cut
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.known import RESHAPE, SLICE, TRANSPOSE
from anyshape.ops.movement import TransposeAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim, product


@dataclass(frozen=True)
class SlicesLast:
    """Moves reshapes in front of a slice that split its axis, drop it, add axes of 1, or do both of
    these."""

    name: str = "slices-last"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        return rebuild_graph(_Mover(self.name, ctx), graph)


class _Mover(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is not RESHAPE or node.operands[0].node.op is not SLICE:
            return node.results
        cut = only_cut(node.operands[0].node)
        shape = node.result().tensor.shape
        ways = (_split, _dropped, _widened, _turned)
        made = cut and next(filter(None, (way(node, cut, shape, builder) for way in ways)), None)
        if not made:
            return node.results
        why = "the slice is read where it is"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return (made,)


def _split(node: Node, cut: Cut, shape: Shape, builder: Builder) -> Value | None:
    """For a reshape that splits the axis into parts that the slice does not cut."""
    x, axis = node.operands[0].node.operands[0], cut.axis
    before, after = x.tensor.shape[:axis], x.tensor.shape[axis + 1 :]
    parts = shape[axis : len(shape) - len(after)]
    if len(parts) < 2 or shape != (*before, *parts, *after) or _is_stretch(before):
        return None
    inner, size, start = product(parts[1:]).constant, x.tensor.shape[axis].constant, cut.start
    if not inner or not size or start.constant is None or start.constant % inner or size % inner:
        return None
    whole = (*before, Dim.of(size // inner), *parts[1:], *after)
    named = builder.emit("reshape", x, shape=whole)
    return _cut(named, axis, Dim.of(start.constant // inner), parts[0], builder)


def _dropped(node: Node, cut: Cut, shape: Shape, builder: Builder) -> Value | None:
    """For a reshape that drops the axis, of which there is one index left: it is joined with the
    axis that lies inside of it."""
    sliced = node.operands[0]
    if shape != (*sliced.tensor.shape[: cut.axis], *sliced.tensor.shape[cut.axis + 1 :]):
        return None
    x, order = _in_memory(sliced.node.operands[0])
    axis, sizes = order[cut.axis], x.tensor.shape
    one = sliced.tensor.shape[cut.axis] == 1
    if not one or axis + 1 == len(sizes) or _is_stretch(sizes[:axis]):
        return None
    inner = sizes[axis + 1]
    whole = (*sizes[:axis], sizes[axis] * inner, *sizes[axis + 2 :])
    named = builder.emit("reshape", x, shape=whole)
    made = _cut(named, axis, cut.start * inner, inner, builder)
    left = [each - (each > axis) for each in order if each != axis]
    if left == sorted(left):
        return made
    return builder.emit("transpose", made, perm=left)


def _widened(node: Node, cut: Cut, shape: Shape, builder: Builder) -> Value | None:
    """For a reshape that adds axes of 1, as one head has."""
    sliced, x = node.operands[0], node.operands[0].node.operands[0]
    positions = _positions(sliced.tensor.shape, shape)
    if positions is None or _is_stretch(x.tensor.shape[: cut.axis]):
        return None
    whole = [Dim.of(1)] * len(shape)
    for position, size in zip(positions, x.tensor.shape, strict=True):
        whole[position] = size
    named = builder.emit("reshape", x, shape=tuple(whole))
    count = sliced.tensor.shape[cut.axis]
    return _cut(named, positions[cut.axis], cut.start, count, builder)


def _turned(node: Node, cut: Cut, shape: Shape, builder: Builder) -> Value | None:
    """For a reshape that puts the axis, of which there is one index left, in another place: the one
    head of the keys, in front of their positions."""
    sliced = node.operands[0]
    sizes = sliced.tensor.shape
    left = (*sizes[: cut.axis], *sizes[cut.axis + 1 :])
    if sizes[cut.axis] != 1 or _positions(left, shape) is None:
        return None
    made = _dropped(builder.emit("reshape", sliced, shape=left).node, cut, left, builder)
    again = only_cut(made.node) if made and made.node.op is SLICE else None
    if made is None or again is None:
        return None
    return _widened(builder.emit("reshape", made, shape=shape).node, again, shape, builder)


def _positions(sizes: Shape, wider: Shape) -> list[int] | None:
    """Where each size stands among others that are all 1; None if that is not so."""
    positions: list[int] = []
    for position, size in enumerate(wider):
        if len(positions) < len(sizes) and size == sizes[len(positions)]:
            positions.append(position)
        elif size != 1:
            return None
    return positions if len(sizes) == len(positions) < len(wider) else None


def _in_memory(value: Value) -> tuple[Value, Sequence[int]]:
    """What a value is a transpose of, and which axes of that its own are."""
    if value.node.op is TRANSPOSE:
        return value.node.operands[0], value.node.attrs_as(TransposeAttrs).perm
    return value, range(value.tensor.rank)


def _is_stretch(before: Shape) -> bool:
    """Whether a slice behind these axes is one stretch of memory."""
    return all(size == 1 for size in before)


def _cut(value: Value, axis: int, start: Dim, count: Dim, builder: Builder) -> Value:
    shape = value.tensor.shape
    starts, stops = [Dim.of(0)] * len(shape), list(shape)
    starts[axis], stops[axis] = start, start + count
    return builder.emit("slice", value, starts=starts, stops=stops, steps=[1] * len(shape))
