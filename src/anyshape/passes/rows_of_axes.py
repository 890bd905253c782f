"""Rows along merged axes become rows along several axes.

Groups of channels are normalised by way of a shape that merges them with all positions:

    y = reshape(x[b, 32, h, w] -> [b, 8, 4*h*w])
    reshape((y - mean(y, 2)) * …) * scale[32, 1, 1]

Behind the second reshape a number for each channel broadcasts along some of what a row is made of:
no shape of the rows has an axis for it, so that what follows is another kernel. Here the rows are
of [b, 8, 4, h, w] instead, along three axes: both reshapes then split and merge plain axes, and
`reshapes_last.py` moves what follows in front of the second one. Loops are merged again where
memory allows, so that rows are walked as before.

It is done where reshapes lead from a shape to rows and back, through elementwise ops and
reductions, and where the rows' own shape has no such axes. Few positions make short rows, of which
tasks take several (`families/row/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from anyshape.families.row.layout import InRows, Layout
from anyshape.families.row.space import rows_of
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ir.rewrite import Decision
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.types import Shape
from anyshape.ops.known import RESHAPE
from anyshape.ops.reduce import ReduceAttrs
from anyshape.passes.axis_runs import ONE, Run, axis_runs, reshaped, shape_before
from anyshape.passes.infra import PassContext
from anyshape.passes.native_forms import has_code
from anyshape.sym import Dim
from anyshape.sym.division import exact_quotient


@dataclass(frozen=True)
class RowsOfAxes:
    """Gives rows of merged axes an axis for each of what these were merged from."""

    name: str = "rows-of-axes"

    def run(self, graph: Graph, ctx: PassContext) -> Graph:
        splits = _splits(graph)
        return rebuild_graph(_Splitter(splits, ctx, self.name), graph) if splits else graph


@dataclass(frozen=True, slots=True)
class Split:
    """A shape, and the axes that each of its axes is split into."""

    shape: Shape
    parts: tuple[Shape, ...]

    def of(self, shape: Shape) -> Shape | None:
        """A shape that broadcasts to the whole one, or is the same, with these axes."""
        if len(shape) != len(self.shape):
            return None
        found: Shape = ()
        for size, whole, parts in zip(shape, self.shape, self.parts, strict=True):
            if size not in (whole, ONE):
                return None
            found += parts if size == whole else (ONE,) * len(parts)
        return found

    @property
    def runs(self) -> list[Run]:
        """For each axis of the whole shape the axes it is split into, and itself."""
        stops = [*accumulate(len(parts) for parts in self.parts)]
        starts = [0, *stops[:-1]]
        bounds = enumerate(zip(starts, stops, strict=True))
        return [(range(*bound), range(axis, axis + 1)) for axis, bound in bounds]

    def without(self, axes: tuple[int, ...]) -> Split:
        kept = [axis for axis in range(len(self.shape)) if axis not in axes]
        return Split(
            tuple(self.shape[axis] for axis in kept), tuple(self.parts[axis] for axis in kept)
        )


def _splits(graph: Graph) -> dict[tuple[Shape, Shape], Split]:
    """For each reshape to rows from the shape that another one leads back to: the rows' axes."""
    reshapes = [node for node in graph.nodes() if node.op is RESHAPE]
    there = {(node.operands[0].tensor.shape, node.result().tensor.shape) for node in reshapes}
    back = {(before, after) for before, after in there if (after, before) in there}
    if not back:
        return {}
    rows = rows_of(graph.nodes())
    found: dict[tuple[Shape, Shape], Split] = {}
    for node in reshapes:
        place = rows.get(node.operands[0].node)
        whole, rows_shape = node.result().tensor.shape, node.operands[0].tensor.shape
        if place is not None and (whole, rows_shape) in back:
            split = _split(whole, place)
            if split is not None:
                found[whole, rows_shape] = split
    return found


def _split(whole: Shape, place: InRows) -> Split | None:
    """Axes of rows that have one for each of another shape, if rows themselves have fewer."""
    if place.layout is not Layout.FULL or place.is_viewed:
        return None
    parts: list[Shape] = [(size,) for size in place.space.shape]
    for before, after in axis_runs(whole, place.space.shape):
        pieces = _common([whole[a] for a in before], [place.space.shape[a] for a in after])
        if pieces is None:
            return None
        for axis, piece in zip(after, pieces, strict=True):
            parts[axis] = piece
    is_finer = any(len(parts[axis]) > 1 for axis in place.space.axes)
    several = {size for piece in parts for size in piece} - {ONE} != set(whole) - {ONE}
    return Split(place.space.shape, tuple(parts)) if is_finer and several else None


def _common(coarse: Sequence[Dim], sizes: Sequence[Dim]) -> list[Shape] | None:
    """For each of `sizes` the axes it is made of, such that each of `coarse` is made of some, too.
    Both have one product. None where a size is no multiple of another one."""
    given = [size for size in coarse if size != ONE]
    found: list[Shape] = []
    for size in reversed(sizes):
        left, axes = size, list[Dim]()
        while left != ONE and given:
            last = given.pop()
            if (rest := exact_quotient(left, last)) is not None:
                axes.append(last)
                left = rest
            elif (rest := exact_quotient(last, left)) is not None:
                axes.append(left)
                given.append(rest)
                left = ONE
            else:
                return None
        if left != ONE:
            return None
        found.append(tuple(reversed(axes)) or (ONE,))
    return found[::-1] if not given else None


@dataclass(frozen=True, slots=True)
class _Fine:
    """What a reshape is of: the same elements, with an axis for each part of an axis."""

    value: Value
    split: Split


class _Splitter(Rebuilder):
    def __init__(
        self, splits: Mapping[tuple[Shape, Shape], Split], ctx: PassContext, name: str
    ) -> None:
        self.splits = splits
        self.ctx = ctx
        self.name = name
        self.fine: dict[Value, _Fine] = {}  # of values that are reshapes of these
        self.dropped: dict[Value, Split] = {}  # of what is one for each row, without their axes

    def rebuilt(self, node: Node, operands: tuple[Value, ...], builder: Builder) -> Node:
        """Regions stay as they are: those of host nodes have passes of their own."""
        if operands == node.operands and not node.late:
            return node
        return builder.node(node.op, operands, node.attrs, node.regions, node.late)

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if node.op is RESHAPE:
            return (self._reshaped(node, builder),)
        fine = next((self.fine[value] for value in node.operands if value in self.fine), None)
        made = None
        if fine is not None and node.op.has(Trait.ELEMENTWISE) and has_code(node):
            made = self._elementwise(node, fine.split, builder)
        elif fine is not None and node.op.has(Trait.REDUCTION):
            made = self._reduced(node, fine, builder)
        elif node.op.has(Trait.ELEMENTWISE):
            self._continue_dropped(node)
        return node.results if made is None else (self._named(node, made, builder),)

    def _continue_dropped(self, node: Node) -> None:
        """What is computed from numbers for each row alone is one for each of them, too."""
        result = node.result()
        for value in node.operands:
            if value in self.dropped and value.tensor.shape == result.tensor.shape:
                self.dropped[result] = self.dropped[value]

    def _reshaped(self, node: Node, builder: Builder) -> Value:
        """A reshape of what has finer axes is one of these; one to rows begins them."""
        (x,) = node.operands
        if x in self.fine:
            return reshaped(self.fine[x].value, node.result().tensor.shape, builder)
        if x in self.dropped:
            return self._kept(node, self.dropped[x], builder)
        split = self.splits.get((x.tensor.shape, node.result().tensor.shape))
        if split is not None:
            whole = split.of(split.shape)
            assert whole is not None
            why = f"as rows of {tuple(map(str, whole))}".replace("'", "")
            self.ctx.decisions.record(Decision(self.name, True, why, node, builder.location))
            self.fine[node.result()] = _Fine(reshaped(x, whole, builder), split)
        return node.result()

    def _kept(self, node: Node, split: Split, builder: Builder) -> Value:
        """Numbers of rows with axes of 1 for these, if that is what the reshape is for."""
        whole = split.of(node.result().tensor.shape)
        if whole is None:
            return node.result()
        made = reshaped(node.operands[0], whole, builder)
        return self._named(node, _Fine(made, split), builder)

    def _elementwise(self, node: Node, split: Split, builder: Builder) -> _Fine | None:
        shape = node.result().tensor.shape
        whole = split.of(shape)
        if whole is None:
            return None
        operands = list[Value]()
        for value in node.operands:
            fine = self.fine.get(value)
            wanted = shape_before(value.tensor.shape, shape, whole, split.runs)
            if wanted is None or (fine is not None and fine.split != split):
                return None
            operands.append(reshaped(value if fine is None else fine.value, wanted, builder))
        return _Fine(builder.node(node.op, operands, node.attrs).result(), split)

    def _named(self, node: Node, made: _Fine, builder: Builder) -> Value:
        """What was made as a value of the node's own shape."""
        shape = node.result().tensor.shape
        if made.value.tensor.shape == shape:
            return made.value
        named = builder.emit("reshape", made.value, shape=shape)
        self.fine[named] = made
        return named

    def _reduced(self, node: Node, fine: _Fine, builder: Builder) -> _Fine | None:
        attrs, split = node.attrs, fine.split
        if not isinstance(attrs, ReduceAttrs):
            return None
        axes = tuple(part for axis in sorted(attrs.axes) for part in split.runs[axis][0])
        made = builder.node(node.op, [fine.value], replace(attrs, axes=axes)).result()
        if attrs.keepdims:
            return _Fine(made, split)
        if made.tensor.shape == node.result().tensor.shape:
            self.dropped[made] = split
        return _Fine(made, split.without(attrs.axes))
