"""Convolutional regions in one order of axes: transposes move to their edges, where most cancel.

Frontends with channels first put a transpose before and after each convolution. What is between two
convolutions (activations, residual sums, norms, concatenations, padding, slices, pools, means over
places) works in either order, so it is done with channels last, and transposed behind:

    conv -> [n, h, w, c] -> transpose [n, c, h, w] -> relu -> + -> transpose [n, h, w, c] -> conv
    conv -> [n, h, w, c] -> relu -> + -> conv

A value that is the transpose of a convolution's result, or of what is made of such results, is
*outer*, and what it is the transpose of is its *inner* value. An op on outer values becomes the
same op on inner ones if all its operands have inner values; those that are alike along all spatial
axes only need another name. Nothing else is touched: graphs without convolutions stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ops.known import BROADCAST, CONCAT, CONV, SLICE, TRANSPOSE, WINDOWS
from anyshape.ops.movement import AxisAttrs, PadAttrs, SliceAttrs, TransposeAttrs
from anyshape.ops.reduce import ReduceAttrs
from anyshape.ops.windows import WindowsAttrs
from anyshape.passes.infra import PassContext
from anyshape.sym import Dim


@dataclass(frozen=True)
class ChannelsLast:
    """Ops between convolutions work in the order of axes that convolutions have."""

    name: str = "channels-last"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        if not any(node.op is CONV for node in graph.nodes()):
            return graph
        return rebuild_graph(_Mover(self.name, ctx), graph)


def channels_first(rank: int) -> tuple[int, ...]:
    """The permutation that makes the last axis the second."""
    return (0, rank - 1, *range(1, rank - 1))


def channels_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


class _Mover(Rebuilder):
    def __init__(self, name: str, ctx: PassContext) -> None:
        self.name = name
        self.ctx = ctx
        self.made: set[Value] = set()  # by convolutions, or of what they made, channels last
        self.inner: dict[Value, Value] = {}  # of outer values
        self.known: dict[Value, Value] = {}  # transposes that convolutions read anyway

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is CONV:
            self._note_input(node.operands[0])
            self.made.add(node.result())
            return node.results
        if node.op is TRANSPOSE:
            return (self._transposed(node),)
        if any(value in self.inner for value in node.operands) or self._is_pool(node):
            return self._moved(node, builder)
        if node.op.has(Trait.ELEMENTWISE) and any(value in self.made for value in node.operands):
            self.made.add(node.result())
        return node.results

    def _note_input(self, x: Value) -> None:
        if x.node.op is TRANSPOSE and _perm(x.node) == channels_last(x.tensor.rank):
            self.known.setdefault(x.node.operands[0], x)

    def _transposed(self, node: Node) -> Value:
        (x,), rank = node.operands, node.result().tensor.rank
        if _perm(node) == channels_first(rank) and rank > 2 and x in self.made:
            self.inner[node.result()] = x
        if _perm(node) == channels_last(rank) and x in self.inner:
            return self.inner[x]
        return node.result()

    def _moved(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        """The op on inner values, if it can be, and its transpose."""
        way = self._pooled if self._is_pool(node) else self._on_inner
        made = way(node, builder)
        if made is None:
            return node.results
        why = "with channels last, as convolutions have them"
        self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
        return (made,)

    def _on_inner(self, node: Node, builder: Builder) -> Value | None:
        rank = max(value.tensor.rank for value in node.operands if value in self.inner)
        attrs = inner_attrs(node, channels_first(rank))
        repeats = node.op.has(Trait.ELEMENTWISE)  # others need all axes, but of a fill
        own = (v.tensor.rank == 0 or v in self.inner or v in self.known for v in node.operands)
        if attrs is None or not (repeats or all(own)):
            return None
        if any(value.tensor.rank > rank for value in node.operands):
            return None  # the result has axes in front of those that are transposed
        operands = [self._inner_of(value, rank, builder) for value in node.operands]
        found = [value for value in operands if value is not None]
        if len(found) < len(operands):
            return None
        made = builder.node(node.op, found, attrs).result()
        wanted = node.result().tensor
        if made.tensor.rank == rank:
            return self._outer(made, wanted.shape, builder)
        return made if made.tensor.shape == wanted.shape else None

    def _is_pool(self, node: Node) -> bool:
        """Whether it combines what windows over all spatial axes see of an outer value."""
        windows = node.operands[0].node if node.operands else node
        if windows.op is not WINDOWS or windows.operands[0] not in self.inner:
            return False
        rank, count = windows.operands[0].tensor.rank, len(windows.attrs_as(WindowsAttrs).counts)
        inside = ReduceAttrs(tuple(range(rank, rank + count)))
        return node.op.has(Trait.REDUCTION) and node.attrs == inside and count == rank - 2

    def _pooled(self, node: Node, builder: Builder) -> Value | None:
        """Windows over the spatial axes and one channel: windows are over last axes."""
        windows = node.operands[0].node
        x, attrs = self.inner[windows.operands[0]], windows.attrs_as(WindowsAttrs)
        made = builder.emit(
            "windows", x,
            counts=(*attrs.counts, x.tensor.shape[-1]), sizes=(*attrs.sizes, 1),
            steps=(*attrs.steps, 1), gaps=(*attrs.gaps, 1),
        )  # fmt: skip
        axes = tuple(range(x.tensor.rank, made.tensor.rank))
        pooled = builder.node(node.op, [made], ReduceAttrs(axes)).result()
        return self._outer(pooled, node.result().tensor.shape, builder)

    def _outer(self, made: Value, shape: Sequence[Dim], builder: Builder) -> Value | None:
        batch, *spatial, channels = made.tensor.shape
        if all(size == 1 for size in spatial):  # the laws of transposes do not come again
            outer = builder.emit("reshape", made, shape=(batch, channels, *spatial))
        else:
            outer = builder.emit("transpose", made, perm=channels_first(made.tensor.rank))
        if outer.tensor.shape != tuple(shape):
            return None
        self.made.add(made)
        self.inner[outer] = made
        return outer

    def _inner_of(self, value: Value, rank: int, builder: Builder) -> Value | None:
        """None if only a transpose would do."""
        found = self.inner.get(value) or self.known.get(value)
        if found is not None:
            return found if found.tensor.rank == rank else None
        shape = value.tensor.shape
        if value.node.op is BROADCAST and len(shape) == rank:
            return self._inner_of(value.node.operands[0], rank, builder)
        batch, channels, *spatial = *(Dim.of(1),) * (rank - len(shape)), *shape
        if any(size != 1 for size in spatial):
            return None
        if batch == 1:
            named = (channels,) if channels != 1 else ()
        else:
            named = (batch, *spatial, channels)
        return value if named == shape else builder.emit("reshape", value, shape=named)


def _perm(node: Node) -> tuple[int, ...]:
    return node.attrs_as(TransposeAttrs).perm


def inner_attrs(node: Node, perm: Sequence[int]) -> Attrs | None:
    """The attributes of an op on values of which those that it has are transposes by `perm`; None
    if it depends on the order of axes in another way."""
    attrs = node.attrs
    if node.op.has(Trait.ELEMENTWISE):
        return attrs
    if isinstance(attrs, AxisAttrs) and node.op is CONCAT:
        return replace(attrs, axis=perm[attrs.axis])
    if isinstance(attrs, PadAttrs):
        return replace(attrs, low=_back(attrs.low, perm), high=_back(attrs.high, perm))
    if isinstance(attrs, SliceAttrs) and node.op is SLICE:
        starts, stops = _back(attrs.starts, perm), _back(attrs.stops, perm)
        steps = tuple(attrs.steps[perm.index(axis)] for axis in range(len(perm)))
        return SliceAttrs(starts, stops, steps)
    if isinstance(attrs, ReduceAttrs) and node.op.has(Trait.REDUCTION):
        return _reduced(attrs, perm)
    return None


def _back(dims: Sequence[Dim], perm: Sequence[int]) -> tuple[Dim, ...]:
    """What belongs to the axes of a transpose, in the order of what it is a transpose of."""
    return tuple(dims[perm.index(axis)] for axis in range(len(perm)))


def _reduced(attrs: ReduceAttrs, perm: Sequence[int]) -> ReduceAttrs | None:
    """Axes that are left have to keep their order."""
    left = [perm[axis] for axis in range(len(perm)) if axis not in attrs.axes]
    if not attrs.keepdims and left != sorted(left):
        return None
    return replace(attrs, axes=tuple(sorted(perm[axis] for axis in attrs.axes)))
