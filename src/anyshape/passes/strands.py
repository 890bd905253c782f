"""Values that are computed from a part of another one, index by index along one axis.

words:
    strand      a value, the part of another one that it is computed from, and the axis along which
                it has an index for each index of the part
    template    what a strand computes, whichever part it is of: strands with one template differ in
                the start and the size of their part only

A strand begins at a slice, along an axis that this shortens. It goes on
through elementwise ops and movement that leave the axis alone (`independent_axes.py`), whose
other operands are repeated along it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.opdef import Trait
from anyshape.ops.known import BROADCAST, CONCAT, RESHAPE, SLICE, TRANSPOSE
from anyshape.ops.movement import ShapeAttrs, SliceAttrs
from anyshape.passes.independent_axes import operand_axes
from anyshape.passes.native_forms import has_code
from anyshape.passes.ranges import Cut, Part
from anyshape.sym import Dim, FactScope

MOVES = frozenset({TRANSPOSE, SLICE, CONCAT, BROADCAST, RESHAPE})
"""Movement that strands go through, beside elementwise ops."""

LONGEST = 64
"""Ops of a strand: no kernel has more."""

ZERO = Dim.of(0)


Bounds = tuple[Value, int, Dim, Dim]
"""A value, one of its axes, and the first index and the number of indices of a part."""


@dataclass(frozen=True, slots=True, eq=False)
class Strand:
    """A value whose `axis` has the indices of a part of `base`."""

    value: Value
    axis: int
    part: Bounds
    template: Hashable
    operands: tuple[Strand | None, ...]
    """For each operand the strand that goes through it; none for what is read whole."""
    length: int = 0  # in ops, those that are used twice counted twice

    @property
    def base(self) -> Value:
        return self.part[0]

    @property
    def start(self) -> Dim:
        return self.part[2]

    @property
    def size(self) -> Dim:
        return self.part[3]

    @property
    def stop(self) -> Dim:
        return self.start + self.size

    @property
    def is_start(self) -> bool:
        """Whether it is a slice that the strand begins with."""
        return self.length == 0

    def in_order(self) -> list[Strand]:
        """All strands on the way from slices to its value, operands first."""
        found: dict[Strand, None] = {}
        ahead: list[tuple[Strand, Iterator[Strand | None]]] = [(self, iter(self.operands))]
        while ahead:
            current, operands = ahead[-1]
            inner = next((s for s in operands if s is not None and s not in found), None)
            if inner is None:
                found[current] = None
                ahead.pop()
            else:
                ahead.append((inner, iter(inner.operands)))
        return list(found)


class Strands:
    """The strands of a graph, by value and part."""

    def __init__(self, graph: Graph) -> None:
        self.scope = FactScope.of(graph.facts, distinct_names=False)
        self._of: dict[Value, dict[Bounds, Strand]] = {}
        self._numbers: dict[Hashable, int] = {}  # a number for each template: they stay short
        for node in graph.nodes():
            strands = [*self._continued(node), *self._begun(node)]
            if strands:
                self._of[node.result()] = {strand.part: strand for strand in reversed(strands)}

    def __iter__(self) -> Iterator[Strand]:
        for strands in self._of.values():
            yield from strands.values()

    def _begun(self, node: Node) -> Iterator[Strand]:
        """Along each axis that a slice shortens."""
        if node.op is not SLICE:
            return
        (base,), attrs = node.operands, node.attrs_as(SliceAttrs)
        for axis, size in enumerate(node.result().tensor.shape):
            start, step = attrs.starts[axis], attrs.steps[axis]
            if step == 1 and (start, size) != (0, base.tensor.shape[axis]):
                part = base, axis, start, size
                template = self._number((base, _sized(attrs, axis, ZERO)))
                yield Strand(node.result(), axis, part, template, (None,))

    def _continued(self, node: Node) -> Iterator[Strand]:
        elementwise = node.op.has(Trait.ELEMENTWISE) and has_code(node)
        if not elementwise and node.op not in MOVES:
            return
        inner = [self._of.get(value, {}) for value in node.operands]
        for part in dict.fromkeys(part for strands in inner for part in strands):
            strand = self._through(node, part, tuple(strands.get(part) for strands in inner))
            if strand is not None:
                yield strand

    def _through(
        self, node: Node, part: Bounds, operands: tuple[Strand | None, ...]
    ) -> Strand | None:
        """The node's result as a strand of a part that some of its operands are strands of."""
        length = 1 + sum(s.length for s in operands if s is not None)
        axis = self._axis(node, operands, part[-1]) if length <= LONGEST else None
        if axis is None:
            return None
        pairs = zip(operands, node.operands, strict=True)
        inner = tuple(value if s is None else s.template for s, value in pairs)
        template = self._number((node.op, _sized(node.attrs, axis, ZERO), axis, inner))
        return Strand(node.result(), axis, part, template, operands, length)

    def _axis(self, node: Node, own: Sequence[Strand | None], size: Dim) -> int | None:
        """The axis of the result that walks along the part."""
        for axis, extent in enumerate(node.result().tensor.shape):
            cut = Cut(node, axis, Part(ZERO, extent), self.scope)
            if cut.same(extent, size) and self._goes_along(cut, own):
                return axis
        return None

    def _goes_along(self, cut: Cut, own: Sequence[Strand | None]) -> bool:
        axes = _slice_axes(cut) if cut.node.op is SLICE else operand_axes(cut)
        if isinstance(axes, str):
            return False
        for strand, value, axis in zip(own, cut.node.operands, axes, strict=True):
            repeats = axis is None or value.tensor.shape[axis] == 1
            if not (repeats if strand is None else axis == strand.axis):
                return False
        return True

    def _number(self, template: Hashable) -> int:
        return self._numbers.setdefault(template, len(self._numbers))


def _slice_axes(cut: Cut) -> tuple[int | None, ...] | str:
    attrs, axis = cut.node.attrs_as(SliceAttrs), cut.axis
    size = cut.node.operands[0].tensor.shape[axis]
    whole = (attrs.starts[axis], attrs.stops[axis], attrs.steps[axis]) == (0, size, 1)
    return (axis,) if whole else "a slice leaves elements out"


def _sized(attrs: Attrs, axis: int, size: Dim, start: Dim = ZERO) -> Attrs:
    """Attributes for another size of one axis of the result, which the op leaves alone, or which is
    cut out of its operand from `start`."""
    match attrs:
        case ShapeAttrs(shape):
            return ShapeAttrs((*shape[:axis], size, *shape[axis + 1 :]))
        case SliceAttrs(starts, stops, steps):
            starts = (*starts[:axis], start, *starts[axis + 1 :])
            return SliceAttrs(starts, (*stops[:axis], start + size, *stops[axis + 1 :]), steps)
        case _:
            return attrs


def resized(
    strand: Strand, start: Dim, size: Dim, operands: Sequence[Value], builder: Builder
) -> Value:
    """The last op of a strand, for another part; `operands` are of that part already."""
    node, first = strand.value.node, start if strand.is_start else ZERO
    return builder.node(node.op, operands, _sized(node.attrs, strand.axis, size, first)).result()


def cut_of(value: Value, axis: int, start: Dim, size: Dim, builder: Builder) -> Value:
    """Some indices of one axis."""
    shape = value.tensor.shape
    attrs = SliceAttrs((ZERO,) * len(shape), shape, (1,) * len(shape))
    return builder.node(SLICE, [value], _sized(attrs, axis, size, start)).result()
