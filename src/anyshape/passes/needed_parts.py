"""Which parts of values are needed, so that the rest need not be computed.

Walking from the results backwards, each node is asked for what its users read of it: all, or parts
along some axes. A part along an axis passes through a node to its operands if all users ask for the
same one, so that nothing is computed twice, and if the op goes along that axis element by element
(`independent_axes.py`). Parts begin at slices.

A part that passes through cheap ops only is left where it is: fusion computes no more than a slice
needs of those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import Trait
from anyshape.ops.known import SLICE
from anyshape.ops.movement import SliceAttrs
from anyshape.passes.independent_axes import Axes, operand_axes
from anyshape.passes.ranges import WHOLE, Cut, Part, Window
from anyshape.sym import FactScope

COSTLY = frozenset({Trait.REDUCTION, Trait.CONTRACTION, Trait.ROWWISE})
"""What is worth computing less of."""

Place = tuple[Node, int]
"""An axis of a node's result."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What is needed of the nodes of a region."""

    computed: Mapping[Node, Window]  # what the result of a node is reduced to
    read: Mapping[Node, tuple[Window, ...]]  # what it then needs of each operand
    objections: Mapping[Place, str]  # why an axis is computed whole of which a part is needed


def needs_of(region: Region, scope: FactScope) -> Needs:
    """What is needed of each node; `scope` has the facts of the region."""
    analysis = _Analysis(region, scope)
    worthwhile = analysis.worthwhile()
    computed: dict[Node, Window] = {}
    for node, window in analysis.windows.items():
        computed[node] = {a: part for a, part in window.items() if (node, a) in worthwhile}
    read = {node: analysis.read(node, window) for node, window in computed.items()}
    idle = dict.fromkeys(analysis.ways.keys() - worthwhile, "nothing costly comes before it")
    return Needs(computed, read, {**analysis.objections, **idle})


class _Analysis:
    def __init__(self, region: Region, scope: FactScope) -> None:
        self.scope = scope
        self.born = region.born
        self.asked: dict[Value, list[Window]] = defaultdict(list)
        self.windows: dict[Node, Window] = {}  # parts that pass
        self.ways: dict[Place, Axes] = {}  # where they go
        self.objections: dict[Place, str] = {}
        for value in region.results:
            self.asked[value].append(WHOLE)
        for node in reversed(region.nodes()):
            self._visit(node)

    def _visit(self, node: Node) -> None:
        passing: dict[int, Part] = {}
        for axis, part in self._agreed(node).items():
            axes = self._way(Cut(node, axis, part, self.scope))
            if isinstance(axes, str):
                self.objections[node, axis] = axes
            else:
                passing[axis], self.ways[node, axis] = part, axes
        self.windows[node] = passing
        for value, window in zip(node.operands, self.read(node, passing), strict=True):
            self.asked[value].append(window)

    def _agreed(self, node: Node) -> Window:
        """The parts that all users ask for."""
        asked = [window for value in node.results for window in self.asked[value]]
        agreed: dict[int, Part] = {}
        for axis in sorted({axis for window in asked for axis in window}):
            part, *others = {window.get(axis) for window in asked}
            if len(node.types) > 1:
                self.objections[node, axis] = "an op with several results computes them whole"
            elif others or part is None:
                self.objections[node, axis] = "something else needs more of its operand"
            elif part.symbols & self.born:
                self.objections[node, axis] = "data decide where it is"
            else:
                agreed[axis] = part
        return agreed

    def _way(self, cut: Cut) -> Axes | str:
        if cut.node.op is not SLICE:
            return operand_axes(cut)
        own = self._parts_of_slice(cut.node).get(cut.axis)
        return (cut.axis,) if own is None or cut.part.of(own) else "a slice leaves elements out"

    def read(self, node: Node, window: Window) -> tuple[Window, ...]:
        """What a node needs of each operand to compute these parts."""
        if node.op is SLICE:
            own = self._parts_of_slice(node)
            both = {axis: _composed(own.get(axis), part) for axis, part in window.items()}
            return ({**own, **both},)
        needed: list[dict[int, Part]] = [{} for _ in node.operands]
        for axis, part in window.items():
            for wanted, source in zip(needed, self.ways[node, axis], strict=True):
                if source is not None:
                    wanted[source] = part
        return tuple(needed)

    def _parts_of_slice(self, node: Node) -> Window:
        attrs = node.attrs_as(SliceAttrs)
        bounds = zip(attrs.starts, attrs.stops, attrs.steps, strict=True)
        parts = {axis: Part(*bound) for axis, bound in enumerate(bounds)}
        cuts = (Cut(node, axis, part, self.scope) for axis, part in parts.items())
        return {cut.axis: cut.part for cut in cuts if not _is_all(cut)}

    def worthwhile(self) -> set[Place]:
        """Axes along which a part passes, on whose way is something costly."""
        near: dict[Place, list[Place]] = defaultdict(list)
        for place, axes in self.ways.items():
            for value, axis in zip(place[0].operands, axes, strict=True):
                if axis is not None and (value.node, axis) in self.ways:
                    near[place].append((value.node, axis))
                    near[value.node, axis].append(place)
        found = {place for place in self.ways if place[0].op.traits & COSTLY}
        ahead = list(found)
        while ahead:
            new = [place for place in near[ahead.pop()] if place not in found]
            found.update(new)
            ahead += new
        return found


def _composed(own: Part | None, part: Part) -> Part:
    both = part if own is None else part.of(own)
    assert both is not None, "a part does not pass through a slice that leaves elements out"
    return both


def _is_all(cut: Cut) -> bool:
    """Whether the slice takes the whole axis of its operand."""
    size = cut.node.operands[0].tensor.shape[cut.axis]
    return cut.part.start == 0 and cut.part.step == 1 and cut.same(cut.part.stop, size)
